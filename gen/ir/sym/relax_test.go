package sym

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRelax states inequalities that need more than the atoms' ranges.
func TestRelax(t *testing.T) {
	f := Facts{"H": {0, 100}, "W": {0, 100}}
	h, w := Var("H"), Var("W")
	half := FloorDiv(h, Const(2), f)
	up := CeilDiv(h, Const(2), f)
	for _, c := range []struct {
		name    string
		a, b    Expr // a <= b?
		certain bool
	}{
		{"half", half, h, true},
		{"half is not always less by one", Add(half, Const(1)), h, false},
		{"ceil", up, h, false}, // by this method: (H+1)/2 <= H needs H >= 1
		{"ceil of a half", Scale(half, 2), h, true},
		{"from below", Sub(h, Const(1)), Scale(half, 2), true},
		{"from below, tight", h, Scale(half, 2), false},
		{"mod", Mod(h, Const(7), f), h, true},
		{"min", Min(h, w, f), w, true},
		{"max", h, Max(h, w, f), true},
		{"max of halves", half, Max(h, w, f), true},
		{"the greater of two", Max(Const(0), Sub(Min(h, Const(99), f), Min(Const(1), h, f)), f), h, true},
		{"one of two", Max(half, w, f), h, false},
		{"the lesser of two", half, Min(h, up, f), true},
		{"unrelated", h, w, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Sub(c.a, c.b)
			require.Equal(t, c.certain, AtMost(d, 0, f))
			require.Equal(t, c.certain, AtLeast(Scale(d, -1), 0, f))
			if c.certain {
				for x := int64(0); x <= 100; x += 1 {
					for _, y := range []int64{0, 1, x, 99, 100} {
						v, err := d.Eval(map[string]int64{"H": x, "W": y})
						require.NoError(t, err)
						require.LessOrEqual(t, v, int64(0))
					}
				}
			}
		})
	}
}

// TestNestedDivision states quotients that become one.
func TestNestedDivision(t *testing.T) {
	h := Var("H")
	up := func(e Expr) Expr { return CeilDiv(e, Const(2), nil) }
	for _, c := range []struct {
		e    Expr
		want string
	}{
		{up(up(h)), "((H + 3) // (4))"},
		{up(up(up(h))), "((H + 7) // (8))"},
		{FloorDiv(FloorDiv(h, Const(2), nil), Const(3), nil), "((H) // (6))"},
		{FloorDiv(Add(FloorDiv(h, Const(4), nil), Const(5)), Const(3), nil), "((H + 8) // (12)) + 1"},
	} {
		require.Equal(t, c.want, c.e.String())
	}
	for x := int64(0); x < 50; x++ {
		v, err := FloorDiv(Add(FloorDiv(h, Const(4), nil), Const(5)), Const(3), nil).Eval(map[string]int64{"H": x})
		require.NoError(t, err)
		require.Equal(t, (x/4+5)/3, v)
	}
}

// TestManySummands: questions about sums of many numbers end soon, and easy ones are answered.
func TestManySummands(t *testing.T) {
	sum := Const(1)
	for i := range 200 {
		sum = Add(sum, Min(Var(fmt.Sprint("K", i)), Const(300), nil))
	}
	require.True(t, AtLeast(sum, 1, nil))
	require.False(t, AtMost(sum, 60000, nil))
	require.True(t, AtMost(sum, 60001, nil))
	require.False(t, AtMost(Sub(sum, Var("N")), 5, nil))
}
