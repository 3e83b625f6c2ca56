package cpp_test

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/target/chips/chipstest"
)

// conversionStep is the distance between the bits of floats that TestPairConversions converts.
const conversionStep = 4099

// TestPairConversions converts floats and vectors of them from and to bf16 on ARM, with and without
// instructions for bf16, and compares every bit with the interpreter: numbers, denormal numbers,
// infinities and NaN.
func TestPairConversions(t *testing.T) {
	program := `#include <stdio.h>
#include "runtime/dnn_kernel.h"
int main() {
  for (uint64_t i = 0; i < 1ull << 32; i += 4 * 4099) {
    uint32_t from[4];
    uint16_t to[4];
    for (unsigned l = 0; l < 4; l++) from[l] = (uint32_t)(i + 4099 * l);
    dnn_store_bf16(to, dnn_load<dnn_f32x4>((const float*)from));
    fwrite(to, 2, 4, stdout);
    for (unsigned l = 0; l < 4; l++) to[l] = dnn_math::f32_to_bf16(dnn_math::from_bits<float>(from[l]));
    fwrite(to, 2, 4, stdout);
  }
  for (unsigned i = 0; i < 65536; i += 4) {
    const uint16_t from[] = {(uint16_t)i, (uint16_t)(i + 1), (uint16_t)(i + 2), (uint16_t)(i + 3)};
    float to[4];
    dnn_store(to, dnn_load_bf16<dnn_f32x4>(from));
    fwrite(to, 4, 4, stdout);
  }
}
`
	src := filepath.Join(t.TempDir(), "run.cc")
	require.NoError(t, os.WriteFile(src, []byte(program), 0o644))
	for _, chip := range []string{"arm64", "arm64_i8mm"} {
		for _, cxx := range [][]string{{"aarch64-linux-gnu-g++", "-static"}, {"clang++", "--target=aarch64-linux-gnu", "-static", "-fuse-ld=lld"}} {
			t.Run(chip+"/"+cxx[0], func(t *testing.T) {
				c := chipstest.Target(t, chip)
				emulator, ok := runs(c)
				if !ok {
					t.Skip("no qemu-aarch64")
				}
				out, err := exec.Command(emulator[0], append(emulator[1:], compile(t, cxx, c, src))...).Output()
				require.NoError(t, err)
				wrong := 0
				for i := int64(0); i < 1<<32; i += 4 * conversionStep {
					for l := range int64(8) { // of a vector, and by themselves
						x := uint32(i + conversionStep*(l%4))
						want := scalar.F32ToBF16(math.Float32frombits(x))
						if got := binary.LittleEndian.Uint16(out); got != want && wrong < 3 {
							wrong++
							assert.Fail(t, "wrong", "%#08x is %#04x, want %#04x", x, got, want)
						}
						out = out[2:]
					}
				}
				require.Len(t, out, 4*65536)
				for i := range uint32(65536) {
					require.Equal(t, i<<16, binary.LittleEndian.Uint32(out[4*i:]))
				}
			})
		}
	}
}
