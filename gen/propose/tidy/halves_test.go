package tidy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// TestHalves: statements compute in f16 if all that they read and store is f16.
func TestHalves(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a sum", "y[0] = f16 narrow(f32 add(f32 cast(x[0]), f32 cast(x[1])))", "y[0] = f16 add(x[0], x[1])"},
		{"bounds", "y[0] = f16 cast(f32 min(f32 max(f32 cast(x[0]), f32:0), f32:6))", "y[0] = f16 min(f16 max(x[0], f16:0), f16:6)"},
		{"a bound beyond the range", "y[0] = f16 cast(f32 max(f32 cast(x[0]), f32:-3e+38))", "y[0] = f16 max(x[0], f16:-Inf)"},
		{"a mask", "y[0] = f16 narrow((f32 cast(x[0]) if 0 <= t < 2 else f32:-3e+38))", ""},
		{"a constant is rounded", "y[0] = f16 cast(f32 mul(f32 cast(x[0]), f32:0.16666667))", "y[0] = f16 mul(x[0], f16:0.1666259765625)"},
		{"SiLU", "y[0] = f16 cast(f32 mul(f32 cast(x[0]), f32 logistic(f32 cast(x[0]))))", "y[0] = f16 mul(x[0], f16 logistic(x[0]))"},
		{"a bounded factor", "y[0] = f16 cast(f32 add(f32 mul(f32 cast(x[0]), f32 logistic(f32 cast(x[1]))), f32:1))", "y[0] = f16 add(f16 mul(x[0], f16 logistic(x[1])), f16:1)"},
		{"a choice", "y[0] = f16 cast((f32 cast(x[0]) if 0 <= t < 2 else f32:0))", "y[0] = (x[0] if 0 <= t < 2 else f16:0)"},
		{"a square that may leave the range", "y[0] = f16 cast(f32 sqrt(f32 mul(f32 cast(x[0]), f32 cast(x[0]))))", ""},
		{"a constant beyond the range", "y[0] = f16 cast(f32 mul(f32 cast(x[0]), f32:1e+06))", ""},
		{"a constant of few digits", "y[0] = f16 cast(f32 add(f32 cast(x[0]), f32:1e-06))", ""},
		{"a function without instructions", "y[0] = f16 cast(f32 exp(f32 cast(x[0])))", ""},
		{"an operand of f32", "y[0] = f16 cast(f32 add(f32 cast(x[0]), z[0]))", ""},
		{"a result of f32", "v[0] = f32 add(f32 cast(x[0]), f32 cast(x[1]))", ""},
		{"a variable", "var a = f32 cast(x[0]); y[0] = f16 cast(f32 add(a, a:f32))", "var a = x[0]; y[0] = f16 add(a, a)"},
		{"a variable that f32 reads, too", "var a = f32 cast(x[0]); y[0] = f16 cast(f32 add(a, a:f32)); v[0] = a", ""},
		{"a maximum", "var a = f32:-Inf; for i < 4 {; a = f32 max(a, f32 cast(x[i])); }; y[0] = f16 cast(a)", "var a = f16:-Inf; for i < 4 {; a = f16 max(a, x[i]); }; y[0] = a"},
		{"a sum of many", "var a = f32:0; for i < 4 {; a = f32 add(a, f32 cast(x[i])); }; y[0] = f16 cast(a)", ""},
		{"an array", "array a f32[4]; a[0] = f32 cast(x[0]); y[0] = f16 cast(a[0])", "array a f16[4] packed; a[0] = x[0]; y[0] = a[0]"},
		{"sums in an array", "array a f32[4]; a[0] = f32 cast(x[0]); for i < 4 {; a[0] = f32 add(a[0], f32 cast(x[i])); }; y[0] = f16 cast(a[0])", ""},
		{"sums in an array by a variable", "array a f32[4]; a[0] = f32 cast(x[0]); for i < 4 {; var n = f32 add(a[0], f32 cast(x[i])); a[0] = n; }; y[0] = f16 cast(a[0])", ""},
		{"sums in two arrays", "array a f32[4]; array b f32[4]; a[0] = f32:0; for i < 4 {; b[0] = f32 add(a[0], f32 cast(x[i])); a[0] = b[0]; }; y[0] = f16 cast(a[0])", ""},
		{"a maximum in an array by a variable", "array a f32[4]; a[0] = f32 cast(x[0]); for i < 4 {; var n = f32 max(a[0], f32 cast(x[i])); a[0] = n; }; y[0] = f16 cast(a[0])",
			"array a f16[4] packed; a[0] = x[0]; for i < 4 {; var n = f16 max(a[0], x[i]); a[0] = n; }; y[0] = a[0]"},
		{"an array that f32 reads, too", "array a f32[4]; a[0] = f32 cast(x[0]); v[0] = a[0]; y[0] = f16 cast(a[0])", ""},
	} {
		lines := func(s string) string { return strings.ReplaceAll(s, "; ", "\n") + "\n" }
		parsed := func(body string) *loop.Kernel {
			k, err := loop.Parse("kernel \"k\" {\n  operand x f16[8]\n  operand z f32[8]\n  result y f16[8]\n  result v f32[8]\n  grid t < 4\n" + lines(body) + "}\n")
			require.NoError(t, err, c.name)
			return k
		}
		want := c.want
		if want == "" {
			want = c.body
		}
		k := parsed(c.body)
		k.Body = Halves(k.Body)
		assert.Equal(t, parsed(want).String(), k.String(), c.name)
	}
}
