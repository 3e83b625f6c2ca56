package pruned

import (
	"fmt"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
)

// pitch is how many elements apart rows of the copy lie: whole registers. A load of a register that lies in two lines of the cache takes as long as
// two: so that of the centre's column it never does.
func (c *pixelwise) pitch() int64 {
	l := c.Instr.Lanes
	return (c.width + c.wider() + l - 1) / l * l
}

// margin is what lies around the copy: the centre's column begins a register, and lanes beyond the last pixel read what follows a row.
func (c *pixelwise) margin(t micro.Tile) sched.Margin {
	wide, l := (c.width+c.across(t)-1)/c.across(t)*c.across(t), c.Instr.Lanes
	column := c.enc.Centre(c.columns)
	if c.columns > 1 {
		column *= c.wider() / (c.columns - 1)
	}
	return sched.Margin{Before: (l - column%l) % l, After: max(0, wide+c.wider()-c.pitch())}
}

// wider is how many elements of a row of X the pixels read, of all columns, besides as many as there are pixels.
func (c *pixelwise) wider() int64 {
	n, _ := c.Walked(c.X.Index[len(c.X.Index)-1], c.local(1)) // newPixels has tried it
	return n - c.width
}

// local are the points of each axis that a task's copy is for.
func (c *pixelwise) local(rows int64) map[string]int64 {
	local := map[string]int64{c.Block.Stage.Axes[c.Row()].Var: rows, c.Block.Stage.Axes[c.Pixel].Var: c.width}
	for _, a := range c.Reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	return local
}

// points is how many elements a dimension of the copy has, at index e of X.
func (c *pixelwise) points(d int, e sym.Expr, local map[string]int64) (int64, bool) {
	if d == len(c.X.Index)-1 {
		return c.pitch(), true
	}
	return c.Walked(e, local)
}

// elements is how many a task of so many rows copies; false where they are too many.
func (c *pixelwise) elements(rows int64) (int64, bool) {
	elements, local := int64(1), c.local(rows)
	for d, e := range c.X.Index {
		n, ok := c.points(d, e, local)
		if !ok || n > 1<<20 {
			return 0, false
		}
		elements *= n
	}
	return elements, elements < 1<<22
}

// copyBand is the copy of what the tiles of some rows read of X, with zeros around; nil where that is no box.
func (c *pixelwise) copyBand(rows int64) *tiled.Padding {
	if _, ok := c.elements(rows); !ok {
		return nil
	}
	local := c.local(rows)
	k := &tiled.Padding{Stage: &te.Stage{Name: "pad"}, Parts: layout.PartsOf(layout.RowMajor, len(c.X.Index))}
	x := te.Load{Source: c.X.Source, Type: c.X.Type}
	for d, e := range c.X.Index {
		n, ok := c.points(d, e, local)
		all, first, ok2 := c.WalkedByAll(e, c.Axes())
		if !ok || !ok2 {
			return nil
		}
		a := te.Axis{Var: fmt.Sprintf("i%d", d), Extent: all}
		at := sym.Add(first, sym.Var(a.Var))
		if d == len(c.X.Index)-1 { // rows are whole registers
			a.Extent = sym.Const(n)
			if size := c.Block.Operands[c.X.Source.N].Shape[d]; !sym.AtLeast(sym.Sub(size, sym.Add(first, sym.Const(n))), 0, c.Nest.Facts) {
				x.Guard = append(x.Guard, te.Within{E: at, Hi: size})
			}
		}
		k.Stage.Axes = append(k.Stage.Axes, a)
		k.First, k.Shape, x.Index = append(k.First, first), append(k.Shape, sym.Const(n)), append(x.Index, at)
		k.Index, k.Clip = append(k.Index, sym.Sub(e, first)), append(k.Clip, false)
	}
	if !c.Guards(&x) {
		return nil
	}
	if x.Guard != nil {
		x.Default = te.Number(c.X.Type, 0)
	}
	k.Stage.Results = []te.Expr{match.AsF32(x)}
	return k
}
