package sel

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/selection/pbqp"
)

// wantImages lets values be images where the chip has texture memory. Texels lie along what the
// first contraction of a value sums over (SmartMem 3.2: layouts by the reduction dimensions of the
// consumers), or along channels.
func (s *side) wantImages() {
	if s.t.Images == nil || !s.o.Layouts || s.o.Images == NoImages {
		return
	}
	reduced := map[*ir.Value]int{}
	for _, b := range s.blocks {
		for _, st := range b.Stages() {
			for _, r := range st.Reduce {
				noteReduced(b, st, r.Var, reduced)
			}
		}
	}
	for _, b := range s.blocks {
		for _, v := range append(slices.Clone(b.Operands), b.Results...) {
			axis, ok := reduced[v]
			if !ok {
				axis = min(1, len(v.Shape)-1)
			}
			if l := layout.Texels(max(axis, 0)); s.isImage(v, l) && !slices.Contains(s.wanted[v], l) {
				s.wanted[v] = append(s.wanted[v], l)
			}
		}
	}
}

// isImage reports whether a value can be such an image: it has enough channels, and extents that are
// sure to be some that the chip can have.
func (s *side) isImage(v *ir.Value, l layout.Layout) bool {
	if v.Const != nil || v.Type != ir.F32 || !l.Fits(v.Shape) {
		return false
	}
	if n, _ := v.Shape[l.Lane(len(v.Shape))].Const(); 2*n <= layout.TexelLanes {
		return false
	}
	w, h := l.Extent(v.Shape)
	least, widest := w.Bounds(s.g.Facts)
	lowest, highest := h.Bounds(s.g.Facts)
	return min(least, lowest) >= 1 && widest <= s.t.Images.MaxWidth && highest <= s.t.Images.MaxHeight
}

// unwanted is more than all kernels of a network take, in cycles.
const unwanted = 1e12

// inBuffer is what it costs to store a value in a set of layouts where values are to be images: nothing, if it is one and in no buffer beside it, or
// cannot be one.
func (s *selector) inBuffer(v *ir.Value, st storage) float64 {
	if s.o.Images != OnlyImages {
		return 0
	}
	can, is, beside := false, false, false
	for i, l := range s.layouts(v) {
		has := st>>i&1 == 1
		switch {
		case l.Memory == layout.Image:
			can, is = true, is || has
		case s.sides[l.Space].t.Images != nil:
			beside = beside || has
		}
	}
	if can && (!is || beside) {
		return unwanted
	}
	return 0
}

// takeOut leaves the cycles of kernels in a solution's cost, without what buffers cost there.
func (s *selector) takeOut(p *pbqp.Solution) {
	sum := 0.0
	for v, n := range s.node {
		sum += s.inBuffer(v, s.storages(v)[p.Choice[n]]) // whole numbers, in any order
	}
	p.Cost, p.Bound = p.Cost-sum, p.Bound-sum
}

// noteReduced notes, of each operand that a reduction axis walks, and others too, the dimension that
// the axis alone walks; an earlier axis and an earlier block come first.
func noteReduced(b *block.Block, st *te.Stage, r string, reduced map[*ir.Value]int) {
	walked := map[*ir.Value]int{}
	var order []*ir.Value
	note := func(x te.Expr) {
		l, ok := x.(te.Load)
		if !ok || l.Source.Stage {
			return
		}
		v := b.Operands[l.Source.N]
		for d, e := range l.Index {
			if !e.Uses(r) {
				continue
			}
			if _, seen := walked[v]; !seen {
				walked[v] = -1
				order = append(order, v)
			}
			if name, alone := e.AsVar(); alone && name == r {
				walked[v] = d
			}
		}
	}
	for _, e := range st.Values {
		te.Walk(e, note)
	}
	for _, v := range order {
		if _, seen := reduced[v]; !seen && len(order) > 1 && walked[v] >= 0 {
			reduced[v] = walked[v]
		}
	}
}
