package contract

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// padding is a stage that copies the part of X which the pixels of a task need, with zeros where the guard does not hold. It is X at indices
// that begin with 0.
type padding struct {
	stage *te.Stage
	first []sym.Expr // index of X at 0
	index []sym.Expr // of what the contraction reads of it
	shape ir.Shape   // of the part
	parts layout.Parts
	clip  []bool // dimensions of which the last task has fewer
}

// copyLane walks the channels of a block.
const copyLane = "xl"

// local are the points of each axis for which a task's copy is.
func (c *laid) local(p *tiling) map[string]int64 {
	local := map[string]int64{}
	if c.pixel >= 0 {
		local[c.b.Stage.Axes[c.pixel].Var] = p.chunk()
	}
	if c.window {
		local[c.b.Stage.Axes[c.channel].Var] = c.block
	}
	for _, a := range c.reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	return local
}

// newCopy is nil where a guard is not on an index of X, or a part of X is no box. It decides how many rows share a copy.
func (c *laid) newCopy(p *tiling) *padding {
	local := c.local(p)
	if c.runs > 1 {
		a := c.b.Stage.Axes[c.row()]
		local[a.Var], _ = a.Extent.Const()
	} else if c.band = c.bandOf(p, local); c.band > 1 {
		local[c.b.Stage.Axes[c.row()].Var] = c.band
	}
	apart := c.dilation(local)
	if apart != nil {
		c.band = 1
		delete(local, apart.row.Var)
	}
	k := &padding{stage: &te.Stage{Name: "pad"}, parts: layout.PartsOf(c.copyLayout(), len(c.x.Index))}
	x := te.Load{Source: c.x.Source, Type: c.x.Type}
	joined := c.joinPixels()
	if len(c.merged) > 0 && joined == 0 {
		return nil
	}
	axes := c.axes()
	for d, e := range c.x.Index {
		n, ok := c.walked(e, local)
		all, first, ok2 := c.walkedByAll(e, axes)
		if !ok || !ok2 {
			return nil
		}
		step := c.stepOf(e, axes)
		at := sym.Add(first, sym.Scale(sym.Var(fmt.Sprintf("i%d", d)), step))
		if along := k.parts.Along(d); along > 1 {
			n = (n + along - 1) / along * along
			whole := sym.Scale(sym.CeilDiv(all, sym.Const(along), nil), along)
			if !whole.Equal(all) && first.Is(0) { // storage of X is padded alike
				x.Guard = append(x.Guard, te.Within{E: at, Hi: all})
			}
			all = whole
		}
		k.stage.Axes = append(k.stage.Axes, te.Axis{Var: fmt.Sprintf("i%d", d), Extent: all})
		k.first, k.shape, x.Index = append(k.first, first), append(k.shape, sym.Const(n)), append(x.Index, at)
		k.index = append(k.index, sym.FloorDiv(sym.Sub(e, first), sym.Const(step), c.n.Facts))
		pixels, known := p.pixels.Const()
		k.clip = append(k.clip, c.pixel >= 0 && (!known || pixels%p.chunk() != 0) && e.Uses(c.b.Stage.Axes[c.pixel].Var))
	}
	if apart != nil {
		apart.part(k, &x, c.n.Facts)
	}
	if !c.guards(&x) {
		return nil
	}
	if joined > 0 { // X's two dimensions of pixels
		width := c.b.Stage.Axes[c.pixel].Extent
		x.Index[joined-1], x.Index[joined] = sym.FloorDiv(x.Index[joined], width, c.n.Facts), sym.Mod(x.Index[joined], width, c.n.Facts)
	}
	if x.Guard != nil {
		x.Default = te.Number(c.x.Type, 0)
	}
	k.stage.Results = []te.Expr{match.AsF32(x)}
	return k
}

// guards adds X's own conditions to those of a copy of it; false where one is on no index of X.
func (c *laid) guards(x *te.Load) bool {
	for _, w := range c.load.Guard {
		d := slices.IndexFunc(c.load.Index, func(e sym.Expr) bool {
			_, isConst := sym.Sub(w.E, e).Const()
			return isConst
		})
		if d < 0 || c.usesAxes(w.Lo) || c.usesAxes(w.Hi) {
			return false
		}
		x.Guard = append(x.Guard, te.Within{E: sym.Add(x.Index[d], sym.Sub(w.E, c.load.Index[d])), Lo: w.Lo, Hi: w.Hi})
	}
	return true
}

// joinPixels reads neighbouring dimensions of X that axes walk which run as one as the second of them; it is that dimension, or 0.
func (c *laid) joinPixels() int {
	if len(c.merged) == 0 {
		return 0
	}
	outer, inner := c.b.Stage.Axes[c.pixel-1], c.b.Stage.Axes[c.pixel]
	d := match.DimOf(c.x, inner.Var)
	if d < 1 || match.DimOf(c.x, outer.Var) != d-1 {
		return 0
	}
	for _, l := range []*te.Load{&c.x, &c.load} {
		l.Index = slices.Clone(l.Index)
		l.Index[d-1], l.Index[d] = sym.Const(0), sym.Add(sym.Mul(sym.Var(outer.Var), inner.Extent), sym.Var(inner.Var))
	}
	return d
}

func (c *laid) usesAxes(e sym.Expr) bool {
	return slices.ContainsFunc(slices.Concat(c.b.Stage.Axes, c.reduce), func(a te.Axis) bool { return e.Uses(a.Var) })
}

// axes are all that an index of X may have.
func (c *laid) axes() []te.Axis {
	return append(slices.Concat(c.b.Stage.Axes, c.reduce), c.groupAxis())
}

// walkedByAll is how many points of X a dimension's index walks over all axes, and where it begins; false where it does not go upwards.
func (c *laid) walkedByAll(e sym.Expr, axes []te.Axis) (all, first sym.Expr, ok bool) {
	all, zero := sym.Const(0), map[string]sym.Expr{convVar: sym.Const(0)}
	for _, a := range axes {
		if !e.Uses(a.Var) {
			continue
		}
		k, linear := sym.Coefficient(e, a.Var, c.n.Facts)
		if !linear || !sym.AtLeast(k, 0, c.n.Facts) {
			return all, first, false
		}
		all, zero[a.Var] = sym.Add(all, sym.Mul(sym.Sub(a.Extent, sym.Const(1)), k)), sym.Const(0)
	}
	if step := c.stepOf(e, axes); step > 1 {
		all = sym.FloorDiv(all, sym.Const(step), c.n.Facts)
	}
	return sym.Add(all, sym.Const(1)), e.Subst(zero, c.n.Facts), true
}

// walked is how many places of a dimension of X an index walks with the points of a task.
func (c *laid) walked(e sym.Expr, local map[string]int64) (n int64, ok bool) {
	n = 1
	step := c.stepOf(e, c.axes())
	for v, points := range local {
		k, linear := sym.Coefficient(e, v, c.n.Facts)
		kc, isConst := k.Const()
		if !linear || !isConst || kc < 0 {
			return 0, false
		}
		n += kc / step * (points - 1)
	}
	return n, true
}

// copied is how many elements a task copies that computes so many rows.
func (c *laid) copied(local map[string]int64, rows int64) (int64, bool) {
	all := maps.Clone(local)
	all[c.b.Stage.Axes[c.row()].Var] = rows
	elements := int64(1)
	for _, e := range c.x.Index {
		n, ok := c.walked(e, all)
		if !ok || n > 1<<20 {
			return 0, false
		}
		elements *= n
	}
	return elements, elements < 1<<20
}

// schedule is that of the copy at a task, whose first point of each axis is given.
func (k *padding) schedule(at sched.Ref, task map[string]sym.Expr, facts sym.Facts) sched.Stage {
	s := sched.Stage{At: at}
	lane := sched.Loop{}
	for d, a := range k.stage.Axes {
		n, _ := k.shape[d].Const()
		s.Regions = append(s.Regions, sched.Region{Axis: a.Var, First: k.index[d].Subst(task, facts), Extent: n})
		l := sched.Loop{Var: fmt.Sprintf("x%d", d), Axis: a.Var}
		if k.clip[d] {
			l.Size, l.Edge = n, sched.Clip
		}
		s.Loops = append(s.Loops, l)
		if along := k.parts.Along(d); along > 1 {
			lane = sched.Loop{Var: copyLane, Axis: a.Var, Size: along}
		}
	}
	if lane.Size > 0 {
		s.Loops = append(s.Loops, lane)
	}
	return s
}
