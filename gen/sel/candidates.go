package sel

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
)

// maxFree is the most values of a block whose layouts are combined in every way.
const maxFree = 4

// enumerate makes the candidates of every block.
func (s *selector) enumerate() error {
	for _, b := range s.g.Blocks {
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

func (s *selector) blockCandidates(b *block.Block) ([]candidate, error) {
	var out []candidate
	for _, layouts := range s.assignments(b) {
		k, err := s.cheapest(b, func(v *ir.Value) layout.Layout { return layouts[v] })
		if err != nil {
			return nil, err
		}
		if k.Lowered != nil {
			out = append(out, candidate{layouts, k})
		}
	}
	return out, nil
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
	if s.mayBlock(b.Results[0]) {
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
func (s *selector) mayBlock(v *ir.Value) bool {
	if !s.o.Layouts || !s.o.Anchors || v.Const != nil || v.Type != ir.F32 || len(v.Shape) < 3 || !s.blocked.Fits(v.Shape) {
		return false
	}
	n, _ := v.Shape[s.blocked.Axis].Const()
	return n >= s.blocked.Block
}
