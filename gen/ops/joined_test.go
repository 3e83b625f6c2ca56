package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

// TestJoined: what dimensions join to, in any order and some of them again, is what they extend to in a run, also where one is 0.
func TestJoined(t *testing.T) {
	c := &Ctx{Facts: sym.Facts{"A": {Lo: 0, Hi: 9}, "B": {Lo: 0, Hi: 9}, "C": {Lo: 1, Hi: 9}}}
	a, b, d := sym.Var("A"), sym.Var("B"), sym.Var("C")
	zeros := func(x, y sym.Expr) sym.Expr { return sym.Mul(x, sym.Min(sym.Const(1), y, c.Facts)) }
	both := c.joined(a, b)
	for _, dims := range [][]sym.Expr{
		{a, b}, {b, a, d}, {d, a, b}, {a, d, b, a}, {d, b, a, d, b, a}, {a, a, b}, {both, d, both}, {both, c.joined(b, d)}, {c.joined(d, a), both},
		{zeros(a, b), d}, {d, zeros(a, b), a}, {both, zeros(b, a)}, {both, zeros(d, a), zeros(a, d)}, {sym.Scale(both, 2), both}, {sym.Max(a, b, c.Facts), both}, {sym.Min(a, b, c.Facts), both, a},
	} {
		joined := dims[0]
		for _, e := range dims[1:] {
			joined = c.joined(joined, e)
		}
		for n := range int64(3 * 3 * 2) {
			env := map[string]int64{"A": []int64{0, 1, 5}[n%3], "B": []int64{0, 1, 5}[n/3%3], "C": []int64{1, 5}[n/9]}
			want := int64(1)
			for _, e := range dims {
				x, err := e.Eval(env)
				require.NoError(t, err)
				if want = max(want, x); x == 0 {
					want = 0
					break
				}
			}
			got, err := joined.Eval(env)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%v: %s of %v", dims, joined, env)
		}
	}
}

// TestJoinedGrows: each dimension that is joined adds as much to what is joined, and one that is joined already adds nothing.
func TestJoinedGrows(t *testing.T) {
	c := &Ctx{Facts: sym.Facts{}}
	e := sym.Const(1)
	var lengths []int
	for i := range 64 {
		name := fmt.Sprintf("S%02d", i)
		c.Facts[name] = sym.Range{Lo: 0, Hi: 64}
		if e = c.joined(e, sym.Var(name)); i == 0 {
			e = sym.Var(name)
		}
		require.False(t, e.Overflow(), name)
		lengths = append(lengths, len(e.String()))
	}
	for i := 3; i < len(lengths); i++ {
		assert.Equal(t, lengths[2]-lengths[1], lengths[i]-lengths[i-1], "dimension %d", i)
	}
	for _, name := range []string{"S00", "S31", "S63"} {
		assert.True(t, e.Equal(c.joined(e, sym.Var(name))), name)
	}
	assert.True(t, e.Equal(c.joined(e, e)))
}
