package sym

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/base/limit"
)

var (
	n = Var("N")
	h = Var("H")
)

func TestNormalForm(t *testing.T) {
	huge := Const(math.MaxInt64)
	for _, c := range []struct {
		got  Expr
		want string
	}{
		{Const(0), "0"},
		{Add(n, h, n), "H + 2*N"},
		{Sub(n, n), "0"},
		{Sub(Const(3), n), "-N + 3"},
		{Mul(Add(n, Const(1)), Sub(n, Const(1))), "N*N - 1"},
		{Scale(Mul(h, n), -2), "-2*H*N"},
		{FloorDiv(Add(Scale(n, 4), Const(3)), Const(4), nil), "N"},
		{Mod(Add(Scale(n, 4), Const(3)), Const(4), nil), "3"},
		{FloorDiv(Add(Scale(n, 6), Const(3)), Const(4), nil), "((3*N + 1) // (2))"},
		{FloorDiv(FloorDiv(n, Const(3), nil), Const(5), nil), "((N) // (15))"},
		{FloorDiv(Add(Scale(n, 24), Scale(h, 8), Var("W")), Const(16), Facts{"W": {0, 7}}), "((H + 3*N) // (2))"},
		{Mod(Add(Scale(n, 24), Scale(h, 8), Var("W")), Const(16), Facts{"W": {0, 7}}), "8*((H + 3*N) % (2)) + W"},
		{FloorDiv(Add(Scale(n, 4), Scale(h, 6)), Const(12), nil), "((3*H + 2*N) // (6))"},
		{Mod(Scale(n, 4), Const(8), nil), "4*((N) % (2))"},
		{FloorDiv(Mul(n, h), n, nil), "H"},
		{Mod(n, Const(8), Facts{"N": {0, 7}}), "N"},
		{FloorDiv(n, Const(8), Facts{"N": {8, 15}}), "1"},
		{Mod(n, Const(8), Facts{"N": {-8, -1}}), "N + 8"},
		{CeilDiv(n, Const(2), nil), "((N + 1) // (2))"},
		{Min(n, Const(4), Facts{"N": {0, 4}}), "N"},
		{Max(n, Const(4), Facts{"N": {0, 4}}), "4"},
		{Min(n, h, nil), "min(H, N)"},
		{Const(math.MinInt64), "-9223372036854775808"},
		{Sub(n, Const(math.MaxInt64)), "N - 9223372036854775807"},
		{Add(n, Const(math.MinInt64)), "N - 9223372036854775808"},
		{Add(huge, Const(1)), "overflow"},
		{Mul(huge, Const(2)), "overflow"},
		{Add(Scale(n, math.MinInt64+1), Sub(Const(0), n)), "overflow"},
		{FloorDiv(n, Const(0), nil), "overflow"},
		{Mod(n, Const(-2), nil), "overflow"},
	} {
		require.Equal(t, c.want, c.got.String())
		back, err := Parse(c.want)
		require.NoError(t, err)
		require.Equal(t, c.want, back.String())
		require.Equal(t, c.got.Overflow(), back.Overflow())
	}
}

func TestConst(t *testing.T) {
	for _, c := range []struct {
		e    Expr
		want int64
		ok   bool
	}{
		{Const(-3), -3, true},
		{Sub(Add(n, Const(2)), n), 2, true},
		{n, 0, false},
		{Sub(n, Const(1)), 0, false},
		{Add(Const(math.MaxInt64), Const(1)), 0, false},
	} {
		got, ok := c.e.Const()
		require.Equal(t, c.want, got, "%s", c.e)
		require.Equal(t, c.ok, ok, "%s", c.e)
	}
}

func TestModKeepsBounds(t *testing.T) {
	// 4*N % 8 is 0 or 4, though neither N nor the quotient is bounded.
	lo, hi := Mod(Add(Scale(n, 4), Const(9)), Const(8), nil).Bounds(nil)
	require.Equal(t, [2]int64{1, 5}, [2]int64{lo, hi})
}

func TestEvalErrors(t *testing.T) {
	_, err := Add(n, h).Eval(map[string]int64{"N": 1})
	require.ErrorContains(t, err, `"H"`)
	_, err = FloorDiv(n, h, nil).Eval(map[string]int64{"N": 1, "H": 0})
	require.ErrorContains(t, err, "divides by 0")
	_, err = Mul(n, n).Eval(map[string]int64{"N": 1 << 40})
	require.ErrorContains(t, err, "overflows")
	_, err = Mul(Const(math.MaxInt64), Const(2)).Eval(nil)
	require.ErrorContains(t, err, "overflows")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{" ( H+1 )//2 * 3", "3*((H + 1) // (2))"},
		{"-N*-2", ""},
		{"N - -9223372036854775808", ""},
		{"--N", ""},
		{"-9223372036854775808*N", ""},
		{"9223372036854775808", ""},
		{"max(N, min(2, H)) % 4", "((max(N, min(2, H))) % (4))"},
		{"2*(N + 3)*(H - 1)", "6*H + 2*H*N - 2*N - 6"},
		{"overflow + 1", "overflow"},
		{"minimum + max_", "max_ + minimum"},
		{"", ""}, {"N +", ""}, {"N N", ""}, {"(N", ""}, {"min(N)", ""}, {"min", ""}, {"N // 0", ""}, {"N % (1 - 2)", ""},
		{strings.Repeat("(", 1000) + "N" + strings.Repeat(")", 1000), ""},
		{"(a+b+c+d+e+f+g+h)" + strings.Repeat("*(a+b+c+d+e+f+g+h)", 40), ""},
	} {
		e, err := Parse(c.text)
		if c.want == "" {
			require.Error(t, err, c.text)
			require.Less(t, len(err.Error()), 400)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, e.String())
	}
	e, rest, err := ParsePrefix("N + 1, H]")
	require.NoError(t, err)
	require.Equal(t, "N + 1", e.String())
	require.Equal(t, ", H]", rest)
}

func TestIdentifier(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"batch", "batch"}, {"batch size*2", "batch_size_2"}, {"", "d_"}, {"3d", "d_3d"}, {"min", "d_min"},
		{"i0", "d_i0"}, {"r12", "d_r12"}, {"index", "index"}, {"\xff\n\"", "___"}, {strings.Repeat("x", 100), strings.Repeat("x", 64)},
	} {
		require.Equal(t, c.want, Identifier(c.text))
		require.True(t, IsSymbol(c.want))
		e, err := Parse(c.want)
		require.NoError(t, err)
		name, ok := e.AsVar()
		require.True(t, ok)
		require.Equal(t, c.want, name)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"N", "2*N - ((H + 1) // (2))", "min(N, 3) % 4", "-9223372036854775808", "overflow"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s)
		if err != nil {
			return
		}
		back, err := Parse(e.String())
		if err != nil || back.String() != e.String() {
			t.Fatalf("%q prints %q, which parses to %q: %v", s, e, back, err)
		}
	})
}

// TestBelow: a condition is the number 1 or 0, known where the bounds settle it.
func TestBelow(t *testing.T) {
	x := Var("x")
	f := Facts{"x": {Lo: -5, Hi: 5}, "y": {Lo: 1, Hi: 5}}
	for v := int64(-5); v <= 5; v++ {
		got, err := Below(x, f).Eval(map[string]int64{"x": v})
		require.NoError(t, err)
		require.Equal(t, v < 0, got == 1, v)
		require.Contains(t, []int64{0, 1}, got)
	}
	require.True(t, Below(Var("y"), f).Is(0))
	require.True(t, Below(Scale(Var("y"), -1), f).Is(1))
}

// TestLongExpressions: an expression that grows without end is given up, soon.
func TestLongExpressions(t *testing.T) {
	grow := map[string]func(e Expr) Expr{
		"squares":   func(e Expr) Expr { return Add(Mul(e, e), Var("M")) },
		"doubles":   func(e Expr) Expr { return FloorDiv(Add(e, Mod(e, Const(7), nil)), Const(3), nil) },
		"choices":   func(e Expr) Expr { return Max(Mul(e, Var("M")), Min(e, Var("H"), nil), nil) },
		"summands":  func(e Expr) Expr { return Mul(e, Add(Var("a"), Var("b"), Var("c"), Var("d"))) },
		"quotients": func(e Expr) Expr { return Add(FloorDiv(e, Var("H"), nil), Mod(e, Var("H"), nil), Scale(e, 3)) },
	}
	for name, f := range grow {
		e := Var("N")
		for range 60 {
			e = f(e)
			require.LessOrEqual(t, len(e.String()), 4*limit.Expression, name)
		}
		require.True(t, e.Overflow(), name)
		_, err := e.Eval(map[string]int64{"N": 1})
		require.Error(t, err)
	}
}

// TestBoundsOfGreatNumbers: a constant near the end of 64 bits is no sign that there is no bound.
func TestBoundsOfGreatNumbers(t *testing.T) {
	f := Facts{"a": {0, 20}}
	lo, hi := Sub(Const(math.MaxInt64), Var("a")).Bounds(f)
	require.Equal(t, int64(math.MaxInt64-20), lo)
	require.Equal(t, int64(math.MaxInt64), hi)
	lo, hi = Add(Const(-math.MaxInt64), Var("a")).Bounds(f)
	require.Equal(t, int64(-math.MaxInt64), lo)
	require.Equal(t, int64(-math.MaxInt64+20), hi)
}

// TestFits: every order of the summands stays within 64 bits, for all numbers within the facts.
func TestFits(t *testing.T) {
	i, n, m := Var("i"), Var("N"), Var("M")
	f := Facts{"i": {Lo: 0, Hi: 9}, "k": {Lo: -9, Hi: 9}}
	least, most := Const(math.MinInt64), Const(math.MaxInt64)
	for _, c := range []struct {
		e    Expr
		want bool
	}{
		{least, true},
		{most, true},
		{Add(most, Scale(i, -1)), true},
		{Add(least, i), true},
		{Add(Const(math.MaxInt64-9), i), true},
		{Add(Const(math.MaxInt64-8), i), false},
		{Add(Const(math.MinInt64+8), Scale(i, -1)), false},
		{Add(Const(math.MinInt64+9), Var("k")), true},
		{Add(Const(math.MinInt64+8), Var("k")), false},
		{Add(most, n), false},
		{Scale(i, 1<<60), false},
		{Scale(i, 1<<59), true},
		{Add(Scale(i, 1<<59), Scale(Var("k"), 1<<59), Scale(n, -1)), false},
		{Mul(n, Mul(n, m)), true},
		{Scale(n, 1<<40), true}, // a tensor of N large parts
		{Add(Mul(n, Mul(n, m)), Scale(Mul(n, m), -1<<40)), true},
		{FloorDiv(Add(most, i), Const(2), f), true}, // as ((i + 1) // 2) + 2^62 - 1
		{Min(Add(most, Scale(i, -1)), n, f), true},
		{Sub(least, Const(1)), false},
		{FloorDiv(n, Const(0), f), false},
	} {
		require.Equal(t, c.want, c.e.Fits(f), "%s", c.e)
	}
}

// TestSub: the least integer has no negative, but differences.
func TestSub(t *testing.T) {
	least := Const(math.MinInt64)
	require.True(t, Sub(Const(math.MinInt64+3), least).Is(3))
	require.True(t, Sub(Const(-1), least).Is(math.MaxInt64))
	require.True(t, Sub(Const(0), least).Overflow())
	require.True(t, Sub(least, Const(1)).Overflow())
	require.True(t, Sub(Const(math.MaxInt64), Const(-1)).Overflow())
	require.True(t, Sub(Add(least, Var("N")), least).Equal(Var("N")))
	require.True(t, Sub(Sub(Const(1), least), Const(1)).Overflow())
}
