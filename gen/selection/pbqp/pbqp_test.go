package pbqp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// random makes a problem of n nodes; integral costs keep sums exact. Some pairs are forbidden.
func random(r *rand.Rand, n, edges int) *Problem {
	p := &Problem{}
	for range n {
		p.Nodes = append(p.Nodes, row(r, 1+r.IntN(4), false))
	}
	for range edges {
		a, b := r.IntN(n), r.IntN(n)
		if a == b {
			continue
		}
		var cost [][]float64
		for range p.Nodes[a] {
			cost = append(cost, row(r, len(p.Nodes[b]), true))
		}
		p.Edges = append(p.Edges, Edge{a, b, cost})
	}
	return p
}

func row(r *rand.Rand, n int, forbid bool) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(r.IntN(50))
		if forbid && r.IntN(12) == 0 {
			out[i] = math.Inf(1)
		}
	}
	return out
}

// exhaustive is the least cost by trying every choice.
func exhaustive(p *Problem) float64 {
	best := math.Inf(1)
	choice := make([]int, len(p.Nodes))
	for {
		best = min(best, p.Cost(choice))
		i := 0
		for ; i < len(choice); i++ {
			if choice[i]++; choice[i] < len(p.Nodes[i]) {
				break
			}
			choice[i] = 0
		}
		if i == len(choice) {
			return best
		}
	}
}

func TestExact(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := random(r, 1+r.IntN(8), r.IntN(16))
		want := exhaustive(p)
		s, err := Solve(p, DefaultLimit)
		if math.IsInf(want, 1) {
			assert.Error(t, err, "seed %d", seed)
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		assert.Equal(t, want, s.Cost, "seed %d", seed)
		assert.True(t, s.Optimal(), "seed %d", seed)
		assert.Equal(t, s.Cost, p.Cost(s.Choice), "seed %d", seed)
	}
}

// TestBound solves with tables too small to be exact: the bound and the cost enclose the optimum.
func TestBound(t *testing.T) {
	gaps, solved := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := random(r, 7, 18)
		want := exhaustive(p)
		s, err := Solve(p, 16)
		if err != nil {
			continue // the limit may hide the few choices that are allowed
		}
		solved++
		assert.LessOrEqual(t, s.Bound, want+1e-9, "seed %d", seed)
		assert.GreaterOrEqual(t, s.Cost, want, "seed %d", seed)
		if !s.Optimal() {
			gaps++
			assert.Contains(t, s.String(), "within")
		}
	}
	assert.Greater(t, solved, 200)
	assert.Positive(t, gaps, "no problem was hard enough to leave a gap")
}

// TestLongChain is solved exactly in linear time: 3^2000 choices.
func TestLongChain(t *testing.T) {
	p := &Problem{}
	for i := range 2000 {
		p.Nodes = append(p.Nodes, []float64{3, 1, 2})
		if i > 0 {
			p.Edges = append(p.Edges, Edge{i - 1, i, [][]float64{{0, 9, 9}, {9, 1, 9}, {9, 9, 0}}})
		}
	}
	s, err := Solve(p, DefaultLimit)
	require.NoError(t, err)
	assert.Equal(t, 3999.0, s.Cost) // 2000 of the second, and 1999 edges
	assert.Equal(t, "optimum 3999", s.String())
}

func TestErrors(t *testing.T) {
	for name, p := range map[string]*Problem{
		"node 0 has no alternative":                {Nodes: [][]float64{{}}},
		"edge between nodes 0 and 2 of 2":          {Nodes: [][]float64{{1}, {1}}, Edges: []Edge{{0, 2, nil}}},
		"edge between nodes 0 and 1 has 2 rows":    {Nodes: [][]float64{{1}, {1}}, Edges: []Edge{{0, 1, [][]float64{{1}, {1}}}}},
		"edge between nodes 0 and 1 has 2 columns": {Nodes: [][]float64{{1}, {1}}, Edges: []Edge{{0, 1, [][]float64{{1, 2}}}}},
		"no choice of alternatives is allowed":     {Nodes: [][]float64{{math.Inf(1)}}},
		"edge between nodes 1 and 1 of 2":          {Nodes: [][]float64{{1}, {1}}, Edges: []Edge{{1, 1, [][]float64{{1}}}}},
	} {
		_, err := Solve(p, DefaultLimit)
		assert.ErrorContains(t, err, name)
	}
}
