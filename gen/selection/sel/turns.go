package sel

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose"
)

// mostTurned is the most axes of a value that may lie in another order: all orders are tried.
const mostTurned = 4

// wantTurned lets the values that blocks move from one order of axes to another one, and do nothing else, lie so that there is nothing to do,
// where products, which read and store axes in any order, have the others: heads of attention, which are turned before and after them.
func (d *side) wantTurned() {
	if d.space != layout.Host || !d.o.Layouts || !d.o.Views(d.t) {
		return
	}
	products := map[*block.Block]bool{}
	writer, readers := map[*ir.Value]*block.Block{}, map[*ir.Value][]*block.Block{}
	env := d.env()
	for _, b := range d.blocks {
		products[b] = b.Stage != nil && propose.AnyOrder(b, env)
		for _, v := range b.Operands {
			readers[v] = append(readers[v], b)
		}
		for _, v := range b.Results {
			writer[v] = b
		}
	}
	for _, b := range d.blocks {
		if !d.views[b] || len(b.Operands) != 1 || d.isView(b, nil, layout.RowMajor) {
			continue
		}
		x, y := b.Operands[0], b.Results[0]
		if from := writer[x]; from != nil && products[from] {
			d.turn(b, x)
		}
		for _, r := range readers[y] {
			if products[r] {
				d.turn(b, y)
				break
			}
		}
	}
}

// turn lets a value of the block lie in the order of axes in which there is nothing to do, if there is one.
func (d *side) turn(b *block.Block, v *ir.Value) {
	if len(v.Shape) > mostTurned {
		return
	}
	orders(len(v.Shape), func(p layout.Parts) bool {
		l, err := p.Layout(len(v.Shape))
		if err != nil || l == layout.RowMajor || !d.isView(b, v, l) {
			return false
		}
		d.want(v, l)
		return true
	})
}

// isView reports whether a block has nothing to do where a value of it has a layout and the others are row-major.
func (d *side) isView(b *block.Block, of *ir.Value, l layout.Layout) bool {
	_, ok := d.viewsIn(b, func(v *ir.Value) layout.Layout {
		if v == of {
			return l
		}
		return layout.RowMajor
	})
	return ok
}

// orders calls f with axes in each order, until it returns true.
func orders(rank int, f func(layout.Parts) bool) bool {
	p, used := layout.Parts{}, make([]bool, rank)
	var next func() bool
	next = func() bool {
		if len(p) == rank {
			return f(p)
		}
		for axis := range rank {
			if used[axis] {
				continue
			}
			used[axis], p = true, append(p, layout.Part{Axis: axis})
			if next() {
				return true
			}
			used[axis], p = false, p[:len(p)-1]
		}
		return false
	}
	return next()
}
