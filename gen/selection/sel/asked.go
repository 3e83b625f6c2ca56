package sel

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
)

// stray is what a value costs that a block has in another layout than it is asked to: more than any network takes, so that this is where no
// kernel has it so.
const stray = 1e12

// asked is the layout that the options ask for, of a value that can have it.
func (s *selector) asked(v *ir.Value) (layout.Layout, bool) {
	if s.o.Stored == nil || v.Const != nil {
		return layout.RowMajor, false
	}
	l, ok := s.o.Stored(v)
	return l, ok && l.Fits(v.Shape)
}

// wantAsked lets values have the layouts that are asked for.
func (d *side) wantAsked() {
	for _, b := range d.blocks {
		for _, v := range slices.Concat(b.Operands, b.Results) {
			if l, ok := d.asked(v); ok && !slices.Contains(d.layouts(v), l.In(d.space)) {
				d.wanted[v] = append(d.wanted[v], l)
			}
		}
	}
}

// strays is what layouts of a block's values cost that are not those asked for.
func (s *selector) strays(b *block.Block, layouts assignment) float64 {
	n := 0
	for _, v := range slices.Concat(b.Operands, b.Results) {
		if l, ok := s.asked(v); ok && layouts[v].In(layout.Host) != l {
			n++
		}
	}
	return float64(n) * stray
}
