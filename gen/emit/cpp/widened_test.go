package cpp

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// greatest is the reduction of a MaxPool of halves.
const greatest = `#include "runtime/dnn_kernel.h"
void greatest(const uint16_t* __restrict a, uint16_t* __restrict y, int64_t n) {
  for (int64_t p = 0; p < n; ++p) {
    dnn_f32x16 all = dnn_math::broadcast<dnn_f32x16>(-__builtin_inff());
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t i = 0; i < 3; ++i) all = dnn_math::max(all, dnn_load_f16<dnn_f32x16>(a + 1792 * r + 32 * p + 16 * i));
    }
    dnn_store_f16(y + 16 * p, all);
  }
}
`

// TestWidened: vectors of halves are widened whole, also where they are only compared.
func TestWidened(t *testing.T) {
	tried := 0
	for _, compiler := range []string{"clang++", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			continue
		}
		tried++
		source := filepath.Join(t.TempDir(), "main.cc")
		require.NoError(t, os.WriteFile(source, []byte(greatest), 0o644))
		text, err := exec.Command(compiler, "-std=c++17", "-O3", "-march=x86-64-v4", "-ffp-contract=off", "-Wno-psabi", "-I../../..", "-S", "-o", "-", source).Output()
		require.NoError(t, err)
		assert.Regexp(t, `vcvtph2ps.*%zmm`, string(text), compiler)
		assert.NotRegexp(t, `vcvtph2ps.*%xmm\d+\n`, string(text), "%s widens element by element", compiler)
	}
	if tried == 0 {
		t.Skip("no C++ compiler on this machine")
	}
}
