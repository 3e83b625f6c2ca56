package sel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sym"
)

// maxFree is the most values of a block whose layouts are combined in every way.
const maxFree = 4

// enumerate makes the candidates of every block.
func (s *selector) enumerate() error {
	s.walk(s.g, 1)
	for _, b := range s.blocks {
		cs, err := s.blockCandidates(b)
		if err != nil {
			return err
		}
		if len(cs) == 0 {
			return fmt.Errorf("block %s: no kernel computes it", b.Label())
		}
		s.candidates = append(s.candidates, cs)
	}
	return nil
}

// walk collects blocks and values of a graph, which runs so often, and of those that its blocks run.
func (s *selector) walk(g *block.Graph, runs float64) {
	s.edges = append(append(s.edges, g.Inputs...), g.Outputs...)
	for _, v := range g.Inputs {
		s.given[v], s.runs[v] = true, runs
	}
	for _, b := range g.Blocks {
		for _, v := range b.Results {
			s.runs[v] = runs
		}
		if b.Stage != nil {
			s.blocks = append(s.blocks, b)
			continue
		}
		s.edges = append(s.edges, b.Results...)
		for _, v := range b.Results {
			s.given[v] = true
		}
		inner := runs
		if l := b.Control.Loop; l != nil {
			inner *= trips(l)
			for _, st := range l.States {
				s.edges = append(s.edges, st.Init)
			}
		}
		for _, r := range b.Control.Graphs() {
			s.walk(r, inner)
		}
	}
}

// usualTrips are the iterations of a loop of whose number nothing is known.
const usualTrips = 16

func trips(l *block.Loop) float64 {
	if n, ok := l.Trips.Const(); ok && n < sym.MaxDim {
		return float64(n)
	}
	return usualTrips
}

// blockCandidates estimates each assignment of layouts. Blocks that are equal up to names are
// estimated once.
func (s *selector) blockCandidates(b *block.Block) ([]candidate, error) {
	assignments := s.assignments(b)
	key := s.key(b)
	costs, known := s.estimates[key]
	if !known {
		for _, layouts := range assignments {
			k, err := s.cheapest(b, func(v *ir.Value) layout.Layout { return layouts[v] })
			if err != nil {
				return nil, err
			}
			if k.Lowered == nil {
				k.Cycles = math.Inf(1)
			}
			costs = append(costs, k.Cycles)
		}
		s.estimates[key] = costs
	}
	var out []candidate
	for i, layouts := range assignments {
		if !math.IsInf(costs[i], 1) {
			out = append(out, candidate{layouts, costs[i]})
		}
	}
	return out, nil
}

// key is what the candidates of a block depend on.
func (s *selector) key(b *block.Block) string {
	var k strings.Builder
	for _, st := range b.Stages() {
		fmt.Fprintln(&k, st.Axes, st.Reduce, st.Values, st.Results)
		if st.Combine != nil {
			fmt.Fprintln(&k, *st.Combine)
		}
	}
	first := map[*ir.Value]int{}
	for i, v := range append(append([]*ir.Value{}, b.Operands...), b.Results...) {
		if _, ok := first[v]; !ok {
			first[v] = i
		}
		fmt.Fprintln(&k, first[v], v.Type, v.Shape, v.Const != nil)
	}
	fmt.Fprintln(&k, b.Depth)
	return k.String()
}

// assignments of layouts to a block's values: every combination where they are few; otherwise
// all row-major, all blocked, and each with one value the other way. The results of a
// block share one layout.
func (s *selector) assignments(b *block.Block) []map[*ir.Value]layout.Layout {
	var free [][]*ir.Value
	seen := map[*ir.Value]bool{}
	for _, v := range b.Operands {
		if s.mayBlock(v) && !seen[v] {
			seen[v] = true
			free = append(free, []*ir.Value{v})
		}
	}
	if !slices.ContainsFunc(b.Results, func(v *ir.Value) bool { return !s.mayBlock(v) }) {
		free = append(free, b.Results)
	}
	var out []map[*ir.Value]layout.Layout
	for _, mask := range masks(len(free)) {
		m := map[*ir.Value]layout.Layout{}
		for i, vs := range free {
			for _, v := range vs {
				if mask>>i&1 == 1 {
					m[v] = s.blocked
				}
			}
		}
		out = append(out, m)
	}
	return out
}

// masks are the sets of values that are blocked, as bits.
func masks(n int) []uint64 {
	n = min(n, 63) // of more, the rest stay row-major
	all := uint64(1)<<n - 1
	var out []uint64
	if n <= maxFree {
		for m := uint64(0); m <= all; m++ {
			out = append(out, m)
		}
		return out
	}
	out = append(out, 0, all)
	for i := range n {
		out = append(out, uint64(1)<<i, all&^(uint64(1)<<i))
	}
	return out
}

// mayBlock tells whether a value can be stored in blocks of channels.
func (s *selector) mayBlock(v *ir.Value) bool { return s.hasBlocks(v) && !s.sameBytes(v) }

func (s *selector) hasBlocks(v *ir.Value) bool {
	if !s.o.Layouts || v.Const != nil || v.Type != ir.F32 || len(v.Shape) < 3 || !s.blocked.Fits(v.Shape) {
		return false
	}
	n, _ := v.Shape[s.blocked.Axis].Const()
	return n >= s.blocked.Block
}

// sameBytes tells that the value lies in memory alike in both layouts: whole blocks of channels,
// and nothing but channels.
func (s *selector) sameBytes(v *ir.Value) bool {
	if !s.hasBlocks(v) || s.blocked.Padded(v.Shape) {
		return false
	}
	for _, d := range v.Shape[s.blocked.Axis+1:] {
		if !d.Is(1) {
			return false
		}
	}
	return true
}
