package sym

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnder: what one value is left of is that value, and other expressions stay.
func TestUnder(t *testing.T) {
	h, w := Var("H"), Var("W")
	facts := Facts{"H": {1, 4}, "W": {1, 64}, "N": {2, 2}}
	half := func(e Expr) Expr { return FloorDiv(Add(e, Const(3)), Const(4), nil) }
	for _, c := range []struct{ e, want Expr }{
		{half(h), Const(1)},
		{half(w), half(w)},
		{Mul(half(h), half(w)), half(w)},
		{Add(Mul(Var("N"), half(h)), w), Add(w, Const(2))},
		{Mod(h, Const(5), nil), h},
		{Min(h, Const(9), nil), h},
		{Max(Var("N"), Const(1), nil), Const(2)},
		{FloorDiv(w, half(h), nil), w},
	} {
		assert.True(t, c.want.Equal(c.e.Under(facts)), "%s is %s", c.e, c.e.Under(facts))
	}
}

// TestUnderKeepsValues: of random expressions, at random points of the facts.
func TestUnderKeepsValues(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 2000 {
		x := randomTree(r, 4)
		facts, env := Facts{}, map[string]int64{}
		for _, v := range testVars {
			of := testFacts[v]
			lo := of.Lo + r.Int63n(of.Hi-of.Lo+1)
			hi := lo + r.Int63n(of.Hi-lo+1)
			facts[v], env[v] = Range{lo, hi}, lo+r.Int63n(hi-lo+1)
		}
		want, err := x.e.Eval(env)
		if err != nil {
			continue
		}
		got, err := x.e.Under(facts).Eval(env)
		require.NoError(t, err)
		require.Equal(t, want, got, "%s under %v at %v", x.e, facts, env)
	}
}
