package tiled

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/propose/vary"
)

// Names of parts of the channel axis, and of pixels that run as one.
const (
	GroupPart, ChannelPart, joinedPixels = "j0", "j1", "j2"
)

// Proposal is the stages of the contraction, with W as its packed constant, and where they are computed.
func (c *Laid) Proposal(p *Tiling, env *lower.Env) *lower.Proposal {
	w, out := c.PackWeights(p), lower.NewProposal(env.Symbols)
	out.Packing = &p.Packing
	st, x := *c.Block.Stage, c.Load
	st.Results = c.Operands(out, w)
	s, at, task := c.schedule(p, w)
	if c.copy != nil {
		n := out.AddStage(c.copy.Stage, c.copy.Schedule(sched.Ref{Stage: 1, Loop: at}, task, c.Nest.Facts))
		x = te.FromStage(n, c.Instr.X, c.copy.Index...)
	}
	x.Guard, x.Default = nil, nil // it always holds, or zeros were copied
	st.Reduce = c.Reduce
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", match.AsF32(x), match.AsF32(te.Operand(c.PackedOperand(), w.to, w.Index...)))}
	out.AddStage(&st, s)
	c.Values(&out.Sched, w, env.Layouts)
	return out
}

// Operands are the block's, of which W is packed; it gives the results that read them.
func (c *Laid) Operands(out *lower.Proposal, w *PackedWeights) []te.Expr {
	n, weights := c.PackedOperand(), c.W.Source.N
	results, operands := c.Widened(c.Block)
	for i, v := range operands {
		if i != n {
			out.AddOperand(v, func(b *block.Block) *ir.Value {
				_, widened := c.Widened(b)
				return widened[i]
			})
		}
		if i == min(n, len(operands)-1) {
			out.AddOperand(w.Value, func(b *block.Block) *ir.Value { return w.Constant(b.Operands[weights]) })
		}
	}
	return results
}

// schedule is how the contraction is computed, in tasks of which the innermost loop and the first point of each axis are given.
func (c *Laid) schedule(p *Tiling, w *PackedWeights) (s sched.Stage, innermost string, task map[string]sym.Expr) {
	s = sched.Stage{At: sched.Root, Tile: c.registerTile(p, w)}
	axes := c.Block.Stage.Axes
	channel := axes[c.Channel].Var
	if c.Groups > 1 {
		s.Splits = []sched.Split{{Axis: channel, Outer: GroupPart, Inner: ChannelPart, Size: c.Channels}}
		channel = ChannelPart
	}
	all, task := c.taskLoops(p, channel)
	pixels, perTask := c.pixelSpan(&s), (p.chunk()+p.Rows-1)/p.Rows
	n, known := p.Pixels.Const()
	whole := known && p.chunk() == n
	if c.Pixel >= 0 && c.Runs <= 1 && (!whole || len(all) == 0) {
		all.Add(sched.Task, vars.Chunk, pixels, 0, sched.Exact)
		task[axes[c.Pixel].Var] = sym.Scale(sym.Var(vars.Chunk), perTask*p.Rows)
	}
	if c.Window {
		task[axes[c.Channel].Var] = sym.Scale(sym.Var(vars.Group), p.TileLanes)
	}
	if len(all) > 0 {
		innermost = all[len(all)-1].Var
	}
	switch {
	case !p.GroupTasks:
		all.Add(sched.Serial, vars.Group, channel, 0, sched.Exact)
	case p.SetGroups > 1:
		all.Add(sched.Serial, vars.Group, channel, p.SetGroups, lower.EdgeIf(c.Channels%p.TileLanes != 0, sched.RoundUp))
	}
	if c.Band > 1 {
		all.Add(sched.Serial, vars.Axis(c.Row()), axes[c.Row()].Var, c.Band, sched.Exact)
	}
	c.tileLoops(p, &all, pixels, channel, perTask, whole)
	s.Loops = all
	return s, innermost, task
}

// registerTile is how a micro-kernel computes the innermost loops.
func (c *Laid) registerTile(p *Tiling, w *PackedWeights) *sched.Tile {
	t := &sched.Tile{Row: c.Instr.Name, X: p.X, Block: contract.BlockOf(c.Instr, c.kSteps())}
	if c.Window {
		return t
	}
	t.Ahead, t.AheadX = micro.Prefetch(c.Target, c.Instr, w.to, c.kSteps(), contract.Streamed(w.to, p.Vectors, p.Groups, p.apart), p.apart, p.k)
	t.Ahead = c.Given.Or(vary.Ahead, t.Ahead)
	if t.Block == 0 {
		t.Skips = c.skips(p)
	}
	if p.apart || p.Packing.Lanes == p.TileLanes {
		t.Next = micro.NextW(c.Target, t, w.to, c.kSteps()*p.TileLanes)
	}
	return t
}

// taskLoops are the loops of tasks but those over pixels, and the first point of each axis in a task of them.
func (c *Laid) taskLoops(p *Tiling, channel string) (all lower.LoopList, first map[string]sym.Expr) {
	axes := c.Block.Stage.Axes
	first = map[string]sym.Expr{contract.GroupVar: sym.Var(contract.GroupVar)}
	for _, a := range slices.Concat(axes, c.Reduce) {
		first[a.Var] = sym.Const(0)
	}
	switch {
	case p.GroupTasks && p.SetGroups > 1:
		all.Add(sched.Task, vars.Set, channel, 0, sched.Exact)
	case p.GroupTasks:
		all.Add(sched.Task, vars.Group, channel, 0, sched.Exact)
	}
	if c.Groups > 1 {
		all.Add(sched.Task, contract.GroupVar, GroupPart, 0, sched.Exact)
	}
	for i, a := range axes {
		switch {
		case i == c.Channel || i == c.Pixel || c.merged[i] || c.Runs > 1 && i == c.Row():
		case c.Band > 1 && i == c.Row():
			all.Add(sched.Task, vars.Band, a.Var, 0, sched.Exact)
			first[a.Var] = sym.Scale(sym.Var(vars.Band), c.Band)
		default:
			all.Add(sched.Task, vars.Axis(i), a.Var, 0, sched.Exact)
			first[a.Var] = sym.Var(vars.Axis(i))
		}
	}
	return all, first
}

// pixelSpan is what loops over pixels walk.
func (c *Laid) pixelSpan(s *sched.Stage) string {
	switch axes := c.Block.Stage.Axes; {
	case c.Pixel < 0:
		return ""
	case len(c.merged) == 0:
		return axes[c.Pixel].Var
	default:
		s.Joins = []sched.Join{{Name: joinedPixels, Axes: []string{axes[c.Pixel-1].Var, axes[c.Pixel].Var}}}
		return joinedPixels
	}
}

// tileLoops are those within a task.
func (c *Laid) tileLoops(p *Tiling, all *lower.LoopList, pixels, channel string, perTask int64, whole bool) {
	n, known := p.Pixels.Const()
	switch {
	case c.Pixel < 0:
	case c.Runs > 1:
		row := c.Block.Stage.Axes[c.Row()]
		rows, _ := row.Extent.Const()
		all.Add(sched.Serial, vars.Tile, row.Var, 0, sched.Exact)
		all.Add(sched.Rows, vars.Run, row.Var, c.Runs, lower.EdgeIf(rows%c.Runs != 0, sched.Peel))
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
	registers, lanes := p.TileLanes/c.outPiece, c.outPiece
	if p.apart {
		registers, lanes = p.Vectors, p.Lanes
	}
	all.Lanes(channel, registers, lanes, c.Channels%p.TileLanes != 0)
	for i, k := range c.kAxes() {
		a := c.Reduce[k.reduce]
		if !k.within {
			all.Add(sched.Sum, vars.K(i), a.Var, 0, sched.Exact)
			continue
		}
		n, _ := a.Extent.Const()
		all.Add(sched.Sum, vars.K(i), a.Var, k.extent, lower.EdgeIf(n%k.extent != 0, sched.RoundUp))
	}
}

// Values says how they lie: W as it is packed.
func (c *Laid) Values(s *sched.Schedule, w *PackedWeights, lay lower.Layouts) {
	n := c.PackedOperand()
	own := []sched.Value{{Of: te.Source{N: n}, Parts: w.Parts}}
	if c.copy != nil {
		own = append(own, sched.Value{Of: te.Source{Stage: true}, Parts: c.copy.Parts, Space: sched.Worker})
	}
	lower.LayOut(s, c.Block, lay, func(i int) (sched.Value, bool) { return sched.Value{Of: te.Source{N: i}}, i != n }, len(c.Block.Stage.Axes), own...)
}
