package cpp

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exponentials prints the numbers of which long vectors have another exponential than numbers have.
const exponentials = `#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/dnn_kernel.h"

int main() {
  for (uint64_t i = 0; i < (1ull << 32); i += 16 * 4099) {
    dnn_math::bits_of<dnn_f32x16> u;
    for (int l = 0; l < 16; ++l) u[l] = (uint32_t)(i + 4099 * l);
    const dnn_f32x16 x = dnn_math::from_bits<dnn_f32x16>(u), y = dnn_math::exp(x), z = dnn_math::tanh(x);
    for (int l = 0; l < 16; ++l) {
      const float one[] = {dnn_math::exp((float)x[l]), dnn_math::tanh((float)x[l])}, all[] = {y[l], z[l]};
      if (x[l] == x[l] && memcmp(one, all, sizeof one) != 0) printf("%a: %a and %a, %a and %a\n", x[l], one[0], all[0], one[1], all[1]);
    }
  }
}
`

// TestScaled: the exponential of vectors, which one instruction may scale, is that of numbers, of denormal results and infinite ones too.
func TestScaled(t *testing.T) {
	tried := 0
	for _, compiler := range []string{"clang++", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			continue
		}
		tried++
		dir := t.TempDir()
		source, program := filepath.Join(dir, "main.cc"), filepath.Join(dir, "main")
		require.NoError(t, os.WriteFile(source, []byte(exponentials), 0o644))
		out, err := exec.Command(compiler, "-std=c++17", "-O2", "-march=native", "-ffp-contract=off", "-Wno-psabi", "-I../../..", "-o", program, source).CombinedOutput()
		require.NoError(t, err, string(out))
		out, err = exec.Command(program).CombinedOutput()
		require.NoError(t, err)
		assert.Empty(t, string(out), compiler)
	}
	if tried == 0 {
		t.Skip("no C++ compiler on this machine")
	}
}
