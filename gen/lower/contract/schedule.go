package contract

import (
	"slices"

	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/match"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/lower/vars"
	"rules_dnn/gen/lower/vary"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Names of parts of the channel axis, and of pixels that run as one.
const (
	groupPart, channelPart, joinedPixels = "j0", "j1", "j2"
)

// proposal is the stages of the contraction, with W as its packed constant, and where they are computed.
func (c *laid) proposal(p *tiling, env *lower.Env) *lower.Proposal {
	w, out := c.weights(p), lower.NewProposal(env.Symbols)
	out.Packing = &p.packed
	st, x := *c.b.Stage, c.load
	st.Results = c.operands(out, w)
	s, at, task := c.schedule(p, w)
	if c.copy != nil {
		n := out.AddStage(c.copy.stage, c.copy.schedule(sched.Ref{Stage: 1, Loop: at}, task, c.n.Facts))
		x = te.FromStage(n, ir.F32, c.copy.index...)
	}
	x.Guard, x.Default = nil, nil // it always holds, or zeros were copied
	st.Reduce = c.reduce
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", x, match.AsF32(te.Operand(c.packedOperand(), w.to, w.index...)))}
	out.AddStage(&st, s)
	c.values(&out.Sched, w, env.Layouts)
	return out
}

// operands are the block's, of which W is packed; it gives the results that read them.
func (c *laid) operands(out *lower.Proposal, w *packedWeights) []te.Expr {
	n, weights := c.packedOperand(), c.w.Source.N
	results, operands := widenConstants(c.b)
	for i, v := range operands {
		if i != n {
			out.AddOperand(v, func(b *block.Block) *ir.Value {
				_, widened := widenConstants(b)
				return widened[i]
			})
		}
		if i == min(n, len(operands)-1) {
			out.AddOperand(w.value, func(b *block.Block) *ir.Value { return w.pack(b.Operands[weights]) })
		}
	}
	return results
}

// schedule is how the contraction is computed, in tasks of which the innermost loop and the first point of each axis are given.
func (c *laid) schedule(p *tiling, w *packedWeights) (s sched.Stage, innermost string, task map[string]sym.Expr) {
	s = sched.Stage{At: sched.Root, Tile: c.registerTile(p, w)}
	axes := c.b.Stage.Axes
	channel := axes[c.channel].Var
	if c.groups > 1 {
		s.Splits = []sched.Split{{Axis: channel, Outer: groupPart, Inner: channelPart, Size: c.channels}}
		channel = channelPart
	}
	all, task := c.taskLoops(p, channel)
	pixels, perTask := c.pixelSpan(&s), (p.chunk()+p.Rows-1)/p.Rows
	n, known := p.pixels.Const()
	whole := known && p.chunk() == n
	if c.pixel >= 0 && c.runs <= 1 && (!whole || len(all) == 0) {
		all.Add(sched.Task, vars.Chunk, pixels, 0, sched.Exact)
		task[axes[c.pixel].Var] = sym.Scale(sym.Var(vars.Chunk), perTask*p.Rows)
	}
	if c.window {
		task[axes[c.channel].Var] = sym.Scale(sym.Var(vars.Group), p.tileLanes)
	}
	if len(all) > 0 {
		innermost = all[len(all)-1].Var
	}
	switch {
	case !p.groupTasks:
		all.Add(sched.Serial, vars.Group, channel, 0, sched.Exact)
	case p.setGroups > 1:
		all.Add(sched.Serial, vars.Group, channel, p.setGroups, lower.EdgeIf(c.channels%p.tileLanes != 0, sched.RoundUp))
	}
	if c.band > 1 {
		all.Add(sched.Serial, vars.Axis(c.row()), axes[c.row()].Var, c.band, sched.Exact)
	}
	c.tileLoops(p, &all, pixels, channel, perTask, whole)
	s.Loops = all
	return s, innermost, task
}

// registerTile is how a micro-kernel computes the innermost loops.
func (c *laid) registerTile(p *tiling, w *packedWeights) *sched.Tile {
	t := &sched.Tile{Row: c.instr.Name, X: p.x}
	if c.window {
		return t
	}
	t.Ahead, t.AheadX = micro.Prefetch(c.t, c.instr, w.to, c.kSteps(), streamed(w.to, p.Vectors, p.groups, p.apart), p.apart, p.k)
	t.Ahead = c.given.Or(vary.Ahead, t.Ahead)
	t.Skips = c.skips(p)
	if p.apart || p.packed.Lanes == p.tileLanes {
		t.Next = micro.NextW(c.t, t, w.to, c.kSteps()*p.tileLanes)
	}
	return t
}

// taskLoops are the loops of tasks but those over pixels, and the first point of each axis in a task of them.
func (c *laid) taskLoops(p *tiling, channel string) (all lower.LoopList, first map[string]sym.Expr) {
	axes := c.b.Stage.Axes
	first = map[string]sym.Expr{convVar: sym.Var(convVar)}
	for _, a := range slices.Concat(axes, c.reduce) {
		first[a.Var] = sym.Const(0)
	}
	switch {
	case p.groupTasks && p.setGroups > 1:
		all.Add(sched.Task, vars.Set, channel, 0, sched.Exact)
	case p.groupTasks:
		all.Add(sched.Task, vars.Group, channel, 0, sched.Exact)
	}
	if c.groups > 1 {
		all.Add(sched.Task, convVar, groupPart, 0, sched.Exact)
	}
	for i, a := range axes {
		switch {
		case i == c.channel || i == c.pixel || c.merged[i] || c.runs > 1 && i == c.row():
		case c.band > 1 && i == c.row():
			all.Add(sched.Task, vars.Band, a.Var, 0, sched.Exact)
			first[a.Var] = sym.Scale(sym.Var(vars.Band), c.band)
		default:
			all.Add(sched.Task, vars.Axis(i), a.Var, 0, sched.Exact)
			first[a.Var] = sym.Var(vars.Axis(i))
		}
	}
	return all, first
}

// pixelSpan is what loops over pixels walk.
func (c *laid) pixelSpan(s *sched.Stage) string {
	switch axes := c.b.Stage.Axes; {
	case c.pixel < 0:
		return ""
	case len(c.merged) == 0:
		return axes[c.pixel].Var
	default:
		s.Joins = []sched.Join{{Name: joinedPixels, Axes: []string{axes[c.pixel-1].Var, axes[c.pixel].Var}}}
		return joinedPixels
	}
}

// tileLoops are those within a task.
func (c *laid) tileLoops(p *tiling, all *lower.LoopList, pixels, channel string, perTask int64, whole bool) {
	n, known := p.pixels.Const()
	switch {
	case c.pixel < 0:
	case c.runs > 1:
		row := c.b.Stage.Axes[c.row()]
		rows, _ := row.Extent.Const()
		all.Add(sched.Serial, vars.Tile, row.Var, 0, sched.Exact)
		all.Add(sched.Rows, vars.Run, row.Var, c.runs, lower.EdgeIf(rows%c.runs != 0, sched.Peel))
		all.Add(sched.Rows, vars.Row, pixels, 0, sched.Exact)
	default:
		size, e := perTask, sched.Exact
		switch {
		case whole && len(*all) > 0 && !all.Has(vars.Chunk):
			size = 0
		case whole:
			e = lower.EdgeIf(n%p.Rows != 0, sched.Clip)
		case known:
			if e = lower.EdgeIf(n%(perTask*p.Rows) != 0, sched.Clip); n%p.Rows != 0 && !p.converted {
				e = sched.Last
			}
		default:
			e = sched.Clip
		}
		all.Rows(pixels, size, p.Rows, e, lower.EdgeIf(!known || n%p.Rows != 0, sched.Peel))
	}
	registers, lanes := p.tileLanes/c.outPiece, c.outPiece
	if p.apart {
		registers, lanes = p.Vectors, p.lanes
	}
	all.Lanes(channel, registers, lanes, c.channels%p.tileLanes != 0)
	for i, k := range c.kAxes() {
		a := c.reduce[k.reduce]
		if !k.within {
			all.Add(sched.Sum, vars.K(i), a.Var, 0, sched.Exact)
			continue
		}
		n, _ := a.Extent.Const()
		all.Add(sched.Sum, vars.K(i), a.Var, k.extent, lower.EdgeIf(n%k.extent != 0, sched.RoundUp))
	}
}

// values says how they lie: W as it is packed.
func (c *laid) values(s *sched.Schedule, w *packedWeights, lay lower.Layouts) {
	n := c.packedOperand()
	own := []sched.Value{{Of: te.Source{N: n}, Parts: w.parts}}
	if c.copy != nil {
		own = append(own, sched.Value{Of: te.Source{Stage: true}, Parts: c.copy.parts, Space: sched.Worker})
	}
	lower.LayOut(s, c.b, lay, func(i int) (sched.Value, bool) { return sched.Value{Of: te.Source{N: i}}, i != n }, len(c.b.Stage.Axes), own...)
}
