package tiled

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/match"
)

// Padding is a stage that copies the part of X which the pixels of a task need, with zeros where the guard does not hold. It is X at indices
// that begin with 0.
type Padding struct {
	Stage *te.Stage
	First []sym.Expr // index of X at 0
	Index []sym.Expr // of what the contraction reads of it
	Shape ir.Shape   // of the part
	Parts layout.Parts
	Clip  []bool // dimensions of which the last task has fewer
}

// copyLane walks the channels of a block.
const copyLane = "xl"

// local are the points of each axis for which a task's copy is.
func (c *Laid) local(p *Tiling) map[string]int64 {
	local := map[string]int64{}
	if c.Pixel >= 0 {
		local[c.Block.Stage.Axes[c.Pixel].Var] = p.chunk()
	}
	if c.Window {
		local[c.Block.Stage.Axes[c.Channel].Var] = c.ChannelBlock
	}
	for _, a := range c.Reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	return local
}

// newCopy is nil where a guard is not on an index of X, or a part of X is no box. It decides how many rows share a copy.
func (c *Laid) newCopy(p *Tiling) *Padding {
	local, apart := c.copiedBy(p)
	k := &Padding{Stage: &te.Stage{Name: "pad"}, Parts: layout.PartsOf(c.copyLayout(), len(c.X.Index))}
	x := te.Load{Source: c.X.Source, Type: c.X.Type}
	joined := c.joinPixels()
	if len(c.merged) > 0 && joined == 0 {
		return nil
	}
	pixels, known := p.Pixels.Const()
	for d, e := range c.X.Index {
		if !c.copyDim(k, &x, d, local) {
			return nil
		}
		k.Clip = append(k.Clip, c.Pixel >= 0 && (!known || pixels%p.chunk() != 0) && e.Uses(c.Block.Stage.Axes[c.Pixel].Var))
	}
	if apart != nil {
		apart.part(k, &x, c.Nest.Facts)
	}
	if !c.Guards(&x) {
		return nil
	}
	if joined > 0 { // X's two dimensions of pixels
		width := c.Block.Stage.Axes[c.Pixel].Extent
		x.Index[joined-1], x.Index[joined] = sym.FloorDiv(x.Index[joined], width, c.Nest.Facts), sym.Mod(x.Index[joined], width, c.Nest.Facts)
	}
	if x.Guard != nil {
		x.Default = te.Number(c.X.Type, 0)
	}
	k.Stage.Results = []te.Expr{x}
	if c.Converts() {
		k.Stage.Results[0] = match.AsF32(x)
	}
	return k
}

// copiedBy are the points of each axis for which a task's copy is, with those of the rows that share it, and the taps that it has alone where
// these lie far apart.
func (c *Laid) copiedBy(p *Tiling) (local map[string]int64, apart *dilated) {
	local = c.local(p)
	if c.Runs > 1 {
		a := c.Block.Stage.Axes[c.Row()]
		local[a.Var], _ = a.Extent.Const()
	} else if c.Band = c.bandOf(p, local); c.Band > 1 {
		local[c.Block.Stage.Axes[c.Row()].Var] = c.Band
	}
	if apart = c.dilation(local); apart != nil {
		c.Band = 1
		delete(local, apart.row.Var)
	}
	return local, apart
}

// copyDim adds a dimension of X to a copy, and to what that loads; false where it is not walked upwards, by constant steps.
func (c *Laid) copyDim(k *Padding, x *te.Load, d int, local map[string]int64) bool {
	e, axes := c.X.Index[d], c.Axes()
	n, ok := c.Walked(e, local)
	all, first, ok2 := c.WalkedByAll(e, axes)
	if !ok || !ok2 {
		return false
	}
	step := c.stepOf(e, axes)
	at := sym.Add(first, sym.Scale(sym.Var(fmt.Sprintf("i%d", d)), step))
	if along := k.Parts.Along(d); along > 1 {
		n = (n + along - 1) / along * along
		whole := sym.Scale(sym.CeilDiv(all, sym.Const(along), nil), along)
		if !whole.Equal(all) && first.Is(0) { // storage of X is padded alike
			x.Guard = append(x.Guard, te.Within{E: at, Hi: all})
		}
		all = whole
	}
	k.Stage.Axes = append(k.Stage.Axes, te.Axis{Var: fmt.Sprintf("i%d", d), Extent: all})
	k.First, k.Shape, x.Index = append(k.First, first), append(k.Shape, sym.Const(n)), append(x.Index, at)
	k.Index = append(k.Index, sym.FloorDiv(sym.Sub(e, first), sym.Const(step), c.Nest.Facts))
	return true
}

// Guards adds X's own conditions to those of a copy of it; false where one is on no index of X.
func (c *Laid) Guards(x *te.Load) bool {
	for _, w := range c.Load.Guard {
		d := slices.IndexFunc(c.Load.Index, func(e sym.Expr) bool {
			_, isConst := sym.Sub(w.E, e).Const()
			return isConst
		})
		if d < 0 || c.usesAxes(w.Lo) || c.usesAxes(w.Hi) {
			return false
		}
		x.Guard = append(x.Guard, te.Within{E: sym.Add(x.Index[d], sym.Sub(w.E, c.Load.Index[d])), Lo: w.Lo, Hi: w.Hi})
	}
	return true
}

// joinPixels reads neighbouring dimensions of X that axes walk which run as one as the second of them; it is that dimension, or 0.
func (c *Laid) joinPixels() int {
	if len(c.merged) == 0 {
		return 0
	}
	outer, inner := c.Block.Stage.Axes[c.Pixel-1], c.Block.Stage.Axes[c.Pixel]
	d := match.DimOf(c.X, inner.Var)
	if d < 1 || match.DimOf(c.X, outer.Var) != d-1 {
		return 0
	}
	for _, l := range []*te.Load{&c.X, &c.Load} {
		l.Index = slices.Clone(l.Index)
		l.Index[d-1], l.Index[d] = sym.Const(0), sym.Add(sym.Mul(sym.Var(outer.Var), inner.Extent), sym.Var(inner.Var))
	}
	return d
}

func (c *Laid) usesAxes(e sym.Expr) bool {
	return slices.ContainsFunc(slices.Concat(c.Block.Stage.Axes, c.Reduce), func(a te.Axis) bool { return e.Uses(a.Var) })
}

// Axes are all that an index of X may have.
func (c *Laid) Axes() []te.Axis {
	return append(slices.Concat(c.Block.Stage.Axes, c.Reduce), c.groupAxis())
}

// WalkedByAll is how many points of X a dimension's index walks over all axes, and where it begins; false where it does not go upwards.
func (c *Laid) WalkedByAll(e sym.Expr, axes []te.Axis) (all, first sym.Expr, ok bool) {
	all, zero := sym.Const(0), map[string]sym.Expr{contract.GroupVar: sym.Const(0)}
	for _, a := range axes {
		if !e.Uses(a.Var) {
			continue
		}
		k, linear := sym.Coefficient(e, a.Var, c.Nest.Facts)
		if !linear || !sym.AtLeast(k, 0, c.Nest.Facts) {
			return all, first, false
		}
		all, zero[a.Var] = sym.Add(all, sym.Mul(sym.Sub(a.Extent, sym.Const(1)), k)), sym.Const(0)
	}
	if step := c.stepOf(e, axes); step > 1 {
		all = sym.FloorDiv(all, sym.Const(step), c.Nest.Facts)
	}
	return sym.Add(all, sym.Const(1)), e.Subst(zero, c.Nest.Facts), true
}

// Walked is how many places of a dimension of X an index walks with the points of a task.
func (c *Laid) Walked(e sym.Expr, local map[string]int64) (n int64, ok bool) {
	n = 1
	step := c.stepOf(e, c.Axes())
	for v, points := range local {
		k, linear := sym.Coefficient(e, v, c.Nest.Facts)
		kc, isConst := k.Const()
		if !linear || !isConst || kc < 0 {
			return 0, false
		}
		n += kc / step * (points - 1)
	}
	return n, true
}

// copied is how many elements a task copies that computes so many rows.
func (c *Laid) copied(local map[string]int64, rows int64) (int64, bool) {
	all := maps.Clone(local)
	all[c.Block.Stage.Axes[c.Row()].Var] = rows
	elements := int64(1)
	for _, e := range c.X.Index {
		n, ok := c.Walked(e, all)
		if !ok || n > 1<<20 {
			return 0, false
		}
		elements *= n
	}
	return elements, elements < 1<<20
}

// Schedule is that of the copy at a task, whose first point of each axis is given.
func (k *Padding) Schedule(at sched.Ref, task map[string]sym.Expr, facts sym.Facts) sched.Stage {
	s := sched.Stage{At: at}
	lane := sched.Loop{}
	for d, a := range k.Stage.Axes {
		n, _ := k.Shape[d].Const()
		s.Regions = append(s.Regions, sched.Region{Axis: a.Var, First: k.Index[d].Subst(task, facts), Extent: n})
		l := sched.Loop{Var: fmt.Sprintf("x%d", d), Axis: a.Var}
		if k.Clip[d] {
			l.Size, l.Edge = n, sched.Clip
		}
		s.Loops = append(s.Loops, l)
		if along := k.Parts.Along(d); along > 1 {
			lane = sched.Loop{Var: copyLane, Axis: a.Var, Size: along}
		}
	}
	if lane.Size > 0 {
		s.Loops = append(s.Loops, lane)
	}
	return s
}
