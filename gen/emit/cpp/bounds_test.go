package cpp

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// TestBounds: where a vector is bounded by a number but 0 the text is that of one instruction.
func TestBounds(t *testing.T) {
	six, zero, nan := te.Float(ir.F32, 6), te.Float(ir.F32, 0), te.Float(ir.F32, math.NaN())
	for _, c := range []struct {
		fn    string
		y     te.Expr
		lanes int64
		want  string
	}{
		{"min", six, 8, "dnn_math::min_number(x, y)"},
		{"max", six, 8, "dnn_math::max_number(x, y)"},
		{"min", six, 0, "dnn_math::min(x, y)"},
		{"min", zero, 8, "dnn_math::min(x, y)"},
		{"max", nan, 8, "dnn_math::max(x, y)"},
		{"max", te.Acc{Type: ir.F32}, 8, "dnn_math::max(x, y)"},
	} {
		got, err := dialect{}.Call(te.Fn(ir.F32, c.fn, te.Acc{Type: ir.F32}, c.y).(te.Call), []string{"x", "y"}, c.lanes)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

// compares prints the numbers whose bounds have other bits by one function than by the other.
const compares = `#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/dnn_kernel.h"
#include "runtime/dnn_math.h"

typedef float V __attribute__((vector_size(16)));

int main() {
  const float inf = __builtin_inff(), bounds[] = {6.0f, -6.0f, 1e-45f, 3e38f, inf, -inf};
  const float xs[] = {0.0f, -0.0f, 6.0f, -6.0f, 5.5f, 7.0f, -7.0f, inf, -inf, __builtin_nanf(""), 1e-45f, 3e38f};
  for (float y : bounds) {
    for (float x : xs) {
      const V a = {x, x, x, x}, b = {y, y, y, y};
      const V lo = dnn_math::min(a, b), hi = dnn_math::max(a, b), lo1 = dnn_math::min_number(a, b), hi1 = dnn_math::max_number(a, b);
      if (memcmp(&lo, &lo1, sizeof(V)) != 0) printf("min of %g and %g: %g and %g\n", x, y, lo[0], lo1[0]);
      if (memcmp(&hi, &hi1, sizeof(V)) != 0) printf("max of %g and %g: %g and %g\n", x, y, hi[0], hi1[0]);
    }
  }
}
`

// TestBoundsByNumbers: bounded by a number but 0, all numbers become what they become otherwise, NaN and infinities too.
func TestBoundsByNumbers(t *testing.T) {
	tried := 0
	for _, compiler := range []string{"clang++", "g++"} {
		if _, err := exec.LookPath(compiler); err != nil {
			continue
		}
		tried++
		dir := t.TempDir()
		source, program := filepath.Join(dir, "main.cc"), filepath.Join(dir, "main")
		require.NoError(t, os.WriteFile(source, []byte(compares), 0o644))
		out, err := exec.Command(compiler, "-std=c++17", "-O3", "-ffp-contract=fast", "-I../../..", "-o", program, source).CombinedOutput()
		require.NoError(t, err, string(out))
		out, err = exec.Command(program).CombinedOutput()
		require.NoError(t, err)
		assert.Empty(t, string(out), compiler)
	}
	if tried == 0 {
		t.Skip("no C++ compiler on this machine")
	}
}
