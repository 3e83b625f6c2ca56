package lower

import (
	"fmt"
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// readPadded makes the tile read a zero-padded copy of the part of X that the pixels of one task need.
func (c *contraction) readPadded(k *loop.Kernel, p *tiling, logical map[string]sym.Expr) ([]loop.Stmt, bool) {
	local, here := map[string]int64{}, map[string]sym.Expr{}
	if c.pixel >= 0 {
		p.copied = true
		local[axisVar(c.pixel)] = p.chunk()
		n, known := p.pixels.Const()
		if !known || p.chunk() < n { // the last task has fewer
			here[axisVar(c.pixel)] = sym.Min(sym.Const(p.chunk()), sym.Sub(p.pixels, p.first()), c.n.facts)
		}
		logical = maps.Clone(logical)
		for i := range c.merged {
			logical[c.b.Stage.Axes[i].Var] = sym.Const(0)
		}
		logical[c.b.Stage.Axes[c.pixel].Var] = sym.Add(p.first(), sym.Var(axisVar(c.pixel)))
	}
	if c.window {
		local[laneVar] = c.block
	}
	for _, a := range c.reduce {
		local[a.Var], _ = a.Extent.Const()
	}
	if c.runs > 1 {
		local[axisVar(c.row())], _ = c.b.Stage.Axes[c.row()].Extent.Const()
	} else if c.band = c.bandOf(p, logical, local); c.band > 1 {
		local[axisVar(c.row())] = c.band
		logical[c.b.Stage.Axes[c.row()].Var] = c.rowOfBand()
	}
	x := c.loadAt(logical)
	body, scratch, shape, index, ok := c.copyPadded(x, local, here)
	if !ok {
		return nil, false
	}
	k.Scratch, p.xBuf = []*loop.Buffer{scratch}, scratch
	p.xAt = c.copyLayout().Offset(shape, c.kIndex(index, nil), c.n.facts)
	return body, true
}

// loadAt is the load of X with the axes in the variables of loops.
func (c *contraction) loadAt(logical map[string]sym.Expr) te.Load {
	x := c.x
	x.Index = append([]sym.Expr{}, c.x.Index...)
	x.Guard = append([]te.Within{}, c.x.Guard...)
	for i, e := range x.Index {
		x.Index[i] = e.Subst(logical, c.n.facts)
	}
	for i, w := range x.Guard {
		x.Guard[i] = te.Within{E: w.E.Subst(logical, c.n.facts), Lo: w.Lo.Subst(logical, c.n.facts), Hi: w.Hi.Subst(logical, c.n.facts)}
	}
	return x
}

// copyPadded copies what one task reads of X into scratch, with zeros where the guard does not
// hold, and gives the offset of X's element within it. Of a variable it reads what its first points need, as many as
// local says, or here if that says so. It fails where a guard is not on an index of X.
func (c *contraction) copyPadded(x te.Load, local map[string]int64, here map[string]sym.Expr) (body []loop.Stmt, scratch *loop.Buffer, shape ir.Shape, index []sym.Expr, ok bool) {
	var axes []te.Axis
	zero := map[string]sym.Expr{}
	for v := range local {
		zero[v] = sym.Const(0)
	}
	at := make([]sym.Expr, len(x.Index)) // X's index of a scratch element
	conds := make([][]te.Within, len(x.Index))
	for d, e := range x.Index {
		ext, walked, ok := c.walked(e, local, here)
		if !ok {
			return nil, nil, nil, nil, false
		}
		v := fmt.Sprintf("x%d", d)
		axes = append(axes, te.Axis{Var: v, Extent: walked})
		shape = append(shape, sym.Const(ext))
		c.n.addRanges(axes[d : d+1])
		base := e.Subst(zero, c.n.facts)
		step := c.apart(e, local)
		at[d] = sym.Add(base, sym.Scale(sym.Var(v), step))
		index = append(index, sym.FloorDiv(sym.Sub(e, base), sym.Const(step), c.n.facts))
	}
	for _, w := range x.Guard {
		d := -1
		for i, e := range x.Index {
			if _, isConst := sym.Sub(w.E, e).Const(); isConst {
				d = i
			}
		}
		if d < 0 {
			return nil, nil, nil, nil, false
		}
		shift, _ := sym.Sub(w.E, x.Index[d]).Const()
		conds[d] = append(conds[d], te.Within{E: sym.Add(at[d], sym.Const(shift)), Lo: w.Lo, Hi: w.Hi})
	}
	body, scratch = c.copyLoops(axes, shape, at, conds)
	return body, scratch, shape, index, true
}

// walked is how many places of a dimension of X an index walks with the local variables: at most, and of those here.
func (c *contraction) walked(e sym.Expr, local map[string]int64, here map[string]sym.Expr) (most int64, now sym.Expr, ok bool) {
	most, now = 1, sym.Const(1)
	step := c.apart(e, local)
	for v, n := range local {
		k, linear := sym.Coefficient(e, v, c.n.facts)
		kc, isConst := k.Const()
		if !linear || !isConst || kc < 0 {
			return 0, now, false
		}
		kc /= step
		most += kc * (n - 1)
		if points, fewer := here[v]; fewer {
			now = sym.Add(now, sym.Scale(sym.Sub(points, sym.Const(1)), kc))
		} else {
			now = sym.Add(now, sym.Const(kc*(n-1)))
		}
	}
	return most, now, true
}

// copyLoops walks the scratch in its own layout. The conditions of the last axis are asked
// for each of its points, those of the others once a row.
func (c *contraction) copyLoops(axes []te.Axis, shape ir.Shape, at []sym.Expr, conds [][]te.Within) ([]loop.Stmt, *loop.Buffer) {
	lay := c.copyLayout()
	scratch := &loop.Buffer{Name: "scratch", Type: ir.F32, Write: true, Size: lay.Elements(shape)}
	index := te.AxisVars(axes)
	walk := append([]te.Axis{}, axes...)
	var lane []te.Axis
	if lay.Block != 0 {
		lane = []te.Axis{{Var: "xl", Extent: sym.Const(lay.Block)}}
		walk[c.inChannel].Extent = sym.CeilDiv(axes[c.inChannel].Extent, sym.Const(lay.Block), nil)
		ch := sym.Add(sym.Scale(index[c.inChannel], lay.Block), sym.Var("xl"))
		split := map[string]sym.Expr{axes[c.inChannel].Var: ch}
		c.n.addRanges(append(lane, walk[c.inChannel]))
		index[c.inChannel] = ch
		at = append([]sym.Expr{}, at...)
		at[c.inChannel] = at[c.inChannel].Subst(split, c.n.facts)
	}
	x := c.x.Source.N
	to := lay.Offset(shape, index, c.n.facts)
	from := loop.Mem{Buf: c.n.in[x], Index: c.layX.Offset(c.b.Operands[x].Shape, at, c.n.facts)}
	last := len(walk) - 1
	row := func(cond []te.Within, v te.Expr) []loop.Stmt {
		return c.copiedRow(walk[last], lane, cond, to, scratch, v)
	}
	var above []te.Within
	for _, w := range conds[:last] {
		above = append(above, w...)
	}
	return loops(walk[:last], c.when(above, row(conds[last], from), row(nil, zeroF32))), scratch
}

func (c *contraction) when(cond []te.Within, then, otherwise []loop.Stmt) []loop.Stmt {
	sel, uncertain := c.n.choose(cond, te.Int(ir.Bool, 1), te.Int(ir.Bool, 0)).(te.Select)
	if !uncertain {
		return then
	}
	return []loop.Stmt{loop.If{Cond: sel.Cond, Then: then, Else: otherwise}}
}
