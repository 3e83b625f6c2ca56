package cpp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target/chips/chipstest"
)

// quantizeProgram compares vectors of quantize_lanes with quantize, lane by lane: any bits, halves, and numbers at and beyond the types' ends.
const quantizeProgram = `
#include <stdio.h>
#include <string.h>
#include "runtime/dnn_kernel.h"

static const float ends[] = {0, -0.f, 0.5f, 1.5f, 2.5f, -0.5f, 127.5f, -128.5f, 254.5f, 255.5f, 255.49f, 32767.5f, 65534.5f, 65535.5f, 1e9f, -1e9f, 3e38f, -3e38f,
  2147483648.f, -2147483648.f, 1e-40f, __builtin_inff(), -__builtin_inff(), __builtin_nanf(""), -__builtin_nanf("")};

template <class T, int kLanes>
int Wrong() {
  typedef dnn_vec<float, kLanes> F;
  typedef dnn_vec<T, kLanes> V;
  const int zeros[] = {0, 1, 7, 100, 127, 128, 255, 32768, 65535};
  int wrong = 0;
  uint32_t bits = 1;
  for (int z : zeros) {
    const T zero = static_cast<T>(z);
    for (int n = 0; n < 30000; ++n) {
      F x;
      for (int i = 0; i < kLanes; ++i) {
        bits = bits * 1664525 + 1013904223;
        float f = (float)(int)(bits >> 8) / (1 << 15) - 100;
        if (n % 3 == 0) memcpy(&f, &bits, 4);
        if (n % 3 == 1) f = ends[(bits >> 10) % (sizeof(ends) / sizeof(ends[0]))];
        x[i] = f;
      }
      const V y = dnn_math::quantize_lanes<V>(x, dnn_math::broadcast<V>(zero));
      for (int i = 0; i < kLanes; ++i) {
        const T want = dnn_math::quantize<T>(x[i], zero);
        if (y[i] != want && wrong++ == 0) printf("%g, zero point %d: %d, want %d\n", x[i], zero, y[i], want);
      }
    }
  }
  return wrong;
}

template <int kLanes>
int All() { return Wrong<uint8_t, kLanes>() + Wrong<int8_t, kLanes>() + Wrong<uint16_t, kLanes>() + Wrong<int16_t, kLanes>(); }

int main() { return All<4>() + All<8>() + All<16>() != 0; }
`

// TestQuantizeLanes: vectors are quantized as numbers are, also where instructions bound and narrow them.
func TestQuantizeLanes(t *testing.T) {
	src := filepath.Join(t.TempDir(), "quantize.cc")
	require.NoError(t, os.WriteFile(src, []byte(quantizeProgram), 0o644))
	for _, name := range []string{"x86_64", "x86_64_v3", "x86_64_v4"} {
		c := chipstest.Target(t, name)
		for _, cxx := range []string{"g++", "clang++"} {
			t.Run(name+"/"+cxx, func(t *testing.T) {
				narrow := *c
				narrow.Copts = append([]string{"-Wno-psabi"}, c.Copts...)
				bin := compile(t, []string{cxx}, &narrow, src)
				if _, ok := runs(c); !ok {
					t.Skipf("this machine does not run code for %s", name)
				}
				out, err := exec.Command(bin).CombinedOutput()
				assert.NoError(t, err, "%s", out)
			})
		}
	}
}
