package cexpr

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

func plain(n string) string { return n }

func TestText(t *testing.T) {
	n, h := sym.Var("N"), sym.Var("H")
	wide := sym.Facts{"N": {Lo: -100, Hi: 100}}
	for _, c := range []struct {
		e                    sym.Expr
		expr, under, checked string
	}{
		{sym.Const(7), "7", "7", "7"},
		{sym.Const(-7), "(-7)", "(-7)", "(-7)"},
		{sym.Const(math.MinInt64), "(-INT64_C(9223372036854775807) - 1)", "(-INT64_C(9223372036854775807) - 1)", "(-INT64_C(9223372036854775807) - 1)"},
		{sym.Const(1 << 40), "INT64_C(1099511627776)", "INT64_C(1099511627776)", "INT64_C(1099511627776)"},
		{n, "N", "N", "N"},
		{sym.Scale(n, -1), "(-N)", "(-N)", "dnn_mul_checked((-1), N, &bad)"},
		{sym.Add(sym.Scale(n, 3), sym.Const(-2)), "(3 * N - 2)", "(3 * N - 2)", "dnn_add_checked(dnn_mul_checked(3, N, &bad), (-2), &bad)"},
		{sym.Mul(n, h), "(H * N)", "(H * N)", "dnn_mul_checked(H, N, &bad)"},
		{sym.FloorDiv(n, sym.Const(2), wide), "dnn_floordiv(N, 2)", "(N / 2)", "dnn_floordiv_checked(N, 2, &bad)"},
		{sym.Mod(sym.Sub(n, h), sym.Const(3), nil), "dnn_floormod((-H + N), 3)", "dnn_floormod((-H + N), 3)", "dnn_floormod_checked(dnn_add_checked(dnn_mul_checked((-1), H, &bad), N, &bad), 3, &bad)"},
		{sym.Max(n, h, nil), "dnn_max(H, N)", "dnn_max(H, N)", "dnn_max(H, N)"},
	} {
		assert.Equal(t, c.expr, Expr(c.e, plain), "%s", c.e)
		assert.Equal(t, c.under, Under(c.e, plain, nil), "%s", c.e)
		assert.Equal(t, c.checked, Checked(c.e, plain, "bad"), "%s", c.e)
	}
	over := sym.Mul(sym.Const(1<<62), sym.Const(4))
	require.True(t, over.Overflow())
	assert.Panics(t, func() { Expr(over, plain) })
	assert.Panics(t, func() { Checked(sym.Max(over, n, nil), plain, "bad") })
}

// TestUnderKeepsFloor: a numerator that may be negative still rounds down.
func TestUnderKeepsFloor(t *testing.T) {
	f := sym.Facts{"N": {Lo: -5, Hi: 5}}
	e := sym.FloorDiv(sym.Var("N"), sym.Const(2), f)
	assert.Equal(t, "dnn_floordiv(N, 2)", Under(e, plain, f))
}

// TestValues compiles the text of many expressions and compares with sym's evaluation.
func TestValues(t *testing.T) {
	cc := compiler(t)
	points := [][2]int64{{0, 1}, {1, 1}, {7, 3}, {-7, 3}, {-8, 4}, {5, 9}, {-1, 2}, {100, 7}, {math.MaxInt32, math.MaxInt32}}
	var src, want strings.Builder
	src.WriteString("#include <stdio.h>\n#include \"dnn_index.h\"\n")
	src.WriteString("static void show(int64_t a, int64_t b, int bad) { printf(\"%lld %lld %d\\n\", (long long)a, bad ? 0LL : (long long)b, bad); }\n")
	src.WriteString("static void at(int64_t A, int64_t B) {\n  (void)A; (void)B; int bad;\n")
	exprs := samples()
	for _, e := range exprs {
		fmt.Fprintf(&src, "  bad = 0; { int64_t b = %s; show(%s, b, bad); }\n", Checked(e, plain, "bad"), Expr(e, plain))
	}
	src.WriteString("}\nint main(void) {\n")
	for _, p := range points {
		fmt.Fprintf(&src, "  at(%d, %d);\n", p[0], p[1])
		for _, e := range exprs {
			v, err := e.Eval(map[string]int64{"A": p[0], "B": p[1]})
			require.NoError(t, err)
			fmt.Fprintf(&want, "%d %d 0\n", v, v)
		}
	}
	src.WriteString("}\n")
	assert.Equal(t, want.String(), build(t, cc, src.String()))
}

// TestBounded: whatever integer is checked, what comes of it is within its bounds, and one that is not within them is told; none is within bounds of an axis
// without elements.
func TestBounded(t *testing.T) {
	cc := compiler(t)
	var src, want strings.Builder
	src.WriteString("#include <stdio.h>\n#include \"dnn_index.h\"\nint main(void) {\n  int bad;\n")
	for _, c := range []struct{ v, lo, hi, got, bad int64 }{
		{0, 0, 9, 0, 0}, {9, 0, 9, 9, 0}, {10, 0, 9, 9, 1}, {-1, 0, 9, 0, 1}, {math.MaxInt64, 0, 9, 9, 1}, {math.MinInt64, 0, 9, 0, 1}, {-3, -3, 2, -3, 0},
		{math.MinInt64, -3, 2, -3, 1}, {math.MaxInt64, -3, 2, 2, 1}, {5, 5, 5, 5, 0}, {1 << 40, 0, 1 << 33, 1 << 33, 1}, {1 << 33, 0, 1 << 33, 1 << 33, 0},
		{0, 0, -1, -1, 1}, {7, 0, -1, -1, 1}, {-7, 0, -1, -1, 1}, {1 << 50, 0, -1, -1, 1}, {5, 1, 0, 0, 1},
	} {
		fmt.Fprintf(&src, "  bad = 0; printf(\"%%lld\", (long long)dnn_bounded(%s, %d, %d, &bad)); printf(\" %%d\\n\", bad);\n", Expr(sym.Const(c.v), plain), c.lo, c.hi)
		fmt.Fprintf(&want, "%d %d\n", c.got, c.bad)
	}
	src.WriteString("}\n")
	assert.Equal(t, want.String(), build(t, cc, src.String()))
}

func samples() []sym.Expr {
	f := sym.Facts{"A": {Lo: -1 << 40, Hi: 1 << 40}, "B": {Lo: 1, Hi: 1 << 40}}
	a, b, two := sym.Var("A"), sym.Var("B"), sym.Const(2)
	div := sym.FloorDiv(sym.Add(a, sym.Const(-3)), sym.Const(4), f)
	return []sym.Expr{
		sym.Const(-5), sym.Const(math.MinInt64), a, sym.Scale(a, -1), sym.Sub(sym.Const(3), a), sym.Mul(a, b),
		sym.Add(sym.Scale(a, 6), sym.Scale(b, -4), sym.Const(-9)), div, sym.Mod(a, sym.Const(5), f),
		sym.FloorDiv(a, b, f), sym.Mod(sym.Sub(a, b), b, f), sym.Min(a, b, f), sym.Max(div, sym.Scale(b, 2), f),
		sym.Mul(sym.FloorDiv(a, two, f), sym.Mod(b, two, f)), sym.FloorDiv(sym.Mul(div, two), sym.Const(3), f),
	}
}

// TestCheckedOverflow: a product that leaves 64 bits and a divisor of zero are both told.
func TestCheckedOverflow(t *testing.T) {
	cc := compiler(t)
	a, b := sym.Var("A"), sym.Var("B")
	product := Checked(sym.Mul(sym.Mul(a, a), sym.Mul(a, b)), plain, "bad")
	sum := Checked(sym.Add(sym.Scale(a, math.MaxInt64/2), b), plain, "bad")
	quotient := Checked(sym.FloorDiv(a, b, nil), plain, "bad")
	var src strings.Builder
	src.WriteString("#include <stdio.h>\n#include \"dnn_index.h\"\nstatic void at(int64_t A, int64_t B) {\n  int bad;\n")
	for _, e := range []string{product, sum, quotient} {
		fmt.Fprintf(&src, "  bad = 0; (void)%s; printf(\"%%d\", bad);\n", e)
	}
	src.WriteString("}\nint main(void) { at(2147483647, 2147483647); at(2, INT64_MAX); at(3, 0); at(2, 1); }\n")
	assert.Equal(t, "110"+"110"+"011"+"000", build(t, cc, src.String()))
}

func build(t *testing.T, cc, src string) string {
	t.Helper()
	dir := t.TempDir()
	c, bin := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(c, []byte(src), 0o644))
	out, err := exec.Command(cc, "-std=c99", "-Wall", "-Wextra", "-Werror", "-I../../../runtime", c, "-o", bin).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, src)
	got, err := exec.Command(bin).CombinedOutput()
	require.NoError(t, err)
	return string(got)
}

// compiler is a C compiler of the machine; without one the test is skipped.
func compiler(t *testing.T) string {
	for _, name := range []string{"gcc", "clang", "cc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no C compiler on this machine: the printed text is not compiled")
	return ""
}
