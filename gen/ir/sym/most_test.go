package sym

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMost(t *testing.T) {
	most := map[string]Expr{"K": Scale(Var("N"), 3), "P": Const(5)}
	facts := Facts{"K": {0, MaxDim}, "P": {-2, 5}, "N": {1, 64}}
	for _, c := range []struct{ e, want string }{
		{"7", "7"},
		{"N + 1", "N + 1"},
		{"2*K + 1", "6*N + 1"},
		{"N - K", "N"},
		{"K*M", "3*M*N"},
		{"K*K", "9*N*N"},
		{"N - P", "N + 2"},
		{"P*N", ""},
		{"min(K, 10)", "min(10, 3*N)"},
		{"max(K - 4, 0)", "max(0, 3*N - 4)"},
		{"(K + 1) // 2", "((3*N + 1) // (2))"},
		{"-(K // 2)", "0"},
		{"N // (K + 1)", "N"},
		{"(N - 9) // (K + 1)", ""},
		{"K % 4", "3"},
		{"N % 4 + K", "((N) % (4)) + 3*N"},
		{"-(K % 4)", "0"},
	} {
		e, err := Parse(c.e)
		require.NoError(t, err)
		got, ok := Most(e, most, facts)
		if assert.Equal(t, c.want != "", ok, c.e) && ok {
			assert.Equal(t, c.want, got.String(), c.e)
		}
	}
}

// TestMostOfRandom: no value of a random expression is above what Most says.
func TestMostOfRandom(t *testing.T) {
	facts := Facts{"K": {0, 12}, "P": {-2, 5}, "N": {1, 4}}
	most := map[string]Expr{"K": Scale(Var("N"), 3), "P": Const(5)}
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 600 {
		e := randomOf(r, 3)
		m, ok := Most(e, most, facts)
		if !ok {
			continue
		}
		found++
		for n := int64(1); n <= 4; n++ {
			for k := int64(0); k <= 3*n; k++ {
				for p := int64(-2); p <= 5; p++ {
					env := map[string]int64{"N": n, "K": k, "P": p}
					x, err := e.Eval(env)
					if err != nil {
						continue // divides by zero
					}
					limit, err := m.Eval(map[string]int64{"N": n})
					require.NoError(t, err, "%s of %s", m, e)
					require.LessOrEqual(t, x, limit, "%s <= %s for %v", e, m, env)
				}
			}
		}
	}
	require.Greater(t, found, 200)
}

// randomOf is an expression over N, K and P.
func randomOf(r *rand.Rand, depth int) Expr {
	if depth == 0 || r.IntN(4) == 0 {
		return []Expr{Var("N"), Var("K"), Var("P"), Const(r.Int64N(7) - 3)}[r.IntN(4)]
	}
	a, b := randomOf(r, depth-1), randomOf(r, depth-1)
	switch r.IntN(7) {
	case 0:
		return Mul(a, b)
	case 1:
		return Sub(a, b)
	case 2:
		return makeAtom(AtomMin, a, b)
	case 3:
		return makeAtom(AtomMax, a, b)
	case 4:
		return FloorDiv(a, Const(1+r.Int64N(4)), nil)
	case 5:
		return makeAtom(AtomMod, a, Const(1+r.Int64N(4)))
	}
	return Add(a, b)
}
