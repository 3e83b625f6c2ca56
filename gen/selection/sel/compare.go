package sel

import (
	"math"
	"slices"
	"strings"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/selection/pbqp"
	"rules_dnn/gen/target"
)

// Comparison is the choice of a graph's kernels and layouts as a problem (GCD2's equation 4.1), to be solved as a whole and in the simpler ways that
// GCD2 compares it with.
type Comparison struct {
	s *selector
	p *pbqp.Problem
}

// Compare makes the problem of a graph, or of its first blocks, so many; 0: of all.
func Compare(g *block.Graph, t *target.Target, o Options, first int) (*Comparison, error) {
	if first > 0 && first < len(g.Blocks) {
		part := *g
		part.Blocks, part.Outputs = g.Blocks[:first], nil
		g = &part
	}
	s := newSelector(g, t, o)
	if err := s.enumerate(); err != nil {
		return nil, err
	}
	return &Comparison{s, s.problem()}, nil
}

// Blocks is how many there are to choose for.
func (c *Comparison) Blocks() int { return len(c.s.blocks) }

// Ways is how many candidates all blocks have.
func (c *Comparison) Ways() int {
	n := 0
	for _, cs := range c.s.candidates {
		n += len(cs)
	}
	return n
}

// Kernels are how many blocks a choice computes by each kind of kernel, by name.
func (c *Comparison) Kernels(choice []int) map[string]int {
	out := map[string]int{}
	for i, cs := range c.s.candidates {
		if x := cs[choice[i]]; !x.view {
			name, _, _ := strings.Cut(x.kernel, " tile")
			out[strings.TrimSuffix(lower.Unhashed(name), ",")]++
		}
	}
	return out
}

// Solve chooses for all blocks together.
func (c *Comparison) Solve() (*pbqp.Solution, error) { return pbqp.Solve(c.p, pbqp.DefaultLimit) }

// Local is what it costs to choose for each block by itself the candidate that takes the least with operands as it reads them, and then to
// convert what is stored otherwise.
func (c *Comparison) Local() float64 {
	return c.with(func(i int, _ candidate) float64 { return 0 })
}

// Uniform is the cost where every block takes the candidate with the fewest values in another layout than one of a kind: of its candidates those that need a third
// kind come last.
func (c *Comparison) Uniform(is func(layout.Layout) bool) float64 {
	return c.with(func(_ int, x candidate) float64 {
		other := 0.0
		for _, l := range x.layouts {
			switch {
			case is(l):
			case l == layout.RowMajor:
				other++
			default:
				other += 1 << 20
			}
		}
		return other
	})
}

// with is the cost where each block takes the candidate of the least rank, of these the one that takes the least by itself, and values are then
// stored as that costs the least.
func (c *Comparison) with(rank func(i int, x candidate) float64) float64 {
	choice := make([]int, len(c.p.Nodes))
	for i, cs := range c.s.candidates {
		best, least := [2]float64{math.Inf(1), math.Inf(1)}, 0
		for k, x := range cs {
			if own := [2]float64{rank(i, x), c.p.Nodes[i][k]}; own[0] < best[0] || own[0] == best[0] && own[1] < best[1] {
				best, least = own, k
			}
		}
		choice[i] = least
	}
	sums := map[int][]float64{} // of values' nodes, which no edge joins
	for n := len(c.s.candidates); n < len(c.p.Nodes); n++ {
		sums[n] = slices.Clone(c.p.Nodes[n])
	}
	for _, e := range c.p.Edges {
		for k, x := range e.Cost[choice[e.A]] {
			sums[e.B][k] += x
		}
	}
	for n, all := range sums {
		choice[n] = slices.Index(all, slices.Min(all))
	}
	return c.p.Cost(choice)
}
