package lower

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// Names of parts of the channel axis, and of pixels that run as one.
const (
	groupPart, channelPart, joinedPixels = "j0", "j1", "j2"
)

// work is the stages of the contraction, with W as its packed constant.
func (c *contraction) work(w *packedWeights, symbols sym.Facts) *sched.Work {
	x := c.load
	out := &sched.Work{Facts: symbols}
	st := *c.b.Stage
	st.Results, out.Operands = widenConstants(c.b)
	if c.copy != nil {
		x = te.FromStage(0, ir.F32, c.copy.index...)
		out.Stages = append(out.Stages, c.copy.stage)
	}
	x.Guard, x.Default = nil, nil // it always holds, or zeros were copied
	n := c.packedOperand()
	out.Operands = append(out.Operands[:n], append([]*ir.Value{w.value}, out.Operands[min(n+1, len(out.Operands)):]...)...)
	st.Reduce = c.reduce
	st.Values = []te.Expr{te.Fn(ir.F32, "mul", x, asF32(te.Operand(n, w.to, w.index...)))}
	out.Stages = append(out.Stages, &st)
	return out
}

// schedule places the stages of work.
func (c *contraction) schedule(p *tiling, w *packedWeights, lay Layouts) *sched.Schedule {
	s := sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: c.instr.Name, X: p.x}}
	if !c.window {
		s.Tile.Ahead, s.Tile.AheadX = prefetch(c.t, c.instr, w.to, c.kSteps(), p.vectors, p.apart, p.k)
	}
	axes := c.b.Stage.Axes
	channel := axes[c.channel].Var
	if c.groups > 1 {
		s.Splits = []sched.Split{{Axis: channel, Outer: groupPart, Inner: channelPart, Size: c.channels}}
		channel = channelPart
	}
	add := func(k sched.Kind, name, axis string, size int64, e sched.Edge) {
		s.Loops = append(s.Loops, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
	}
	task := map[string]sym.Expr{convVar: sym.Var(convVar)} // the first point of each axis
	for _, a := range slices.Concat(axes, c.reduce) {
		task[a.Var] = sym.Const(0)
	}
	switch {
	case p.groupTasks && p.setGroups > 1:
		add(sched.Task, setVar, channel, 0, sched.Exact)
	case p.groupTasks:
		add(sched.Task, groupVar, channel, 0, sched.Exact)
	}
	if c.groups > 1 {
		add(sched.Task, convVar, groupPart, 0, sched.Exact)
	}
	for i, a := range axes {
		switch {
		case i == c.channel || i == c.pixel || c.merged[i] || c.runs > 1 && i == c.row():
		case c.band > 1 && i == c.row():
			add(sched.Task, bandVar, a.Var, 0, sched.Exact)
			task[a.Var] = sym.Scale(sym.Var(bandVar), c.band)
		default:
			add(sched.Task, axisVar(i), a.Var, 0, sched.Exact)
			task[a.Var] = sym.Var(axisVar(i))
		}
	}
	pixels, perTask := c.pixelSpan(&s), (p.chunk()+p.rows-1)/p.rows
	n, known := p.pixels.Const()
	whole := known && p.chunk() == n
	if c.pixel >= 0 && c.runs <= 1 && (!whole || len(s.Loops) == 0) {
		add(sched.Task, chunkVar, pixels, 0, sched.Exact)
		task[axes[c.pixel].Var] = sym.Scale(sym.Var(chunkVar), perTask*p.rows)
	}
	if c.window {
		task[axes[c.channel].Var] = sym.Scale(sym.Var(groupVar), p.tileLanes)
	}
	at := sched.Ref{}
	if len(s.Loops) > 0 {
		at = sched.Ref{Loop: s.Loops[len(s.Loops)-1].Var}
	}
	switch {
	case !p.groupTasks:
		add(sched.Serial, groupVar, channel, 0, sched.Exact)
	case p.setGroups > 1:
		add(sched.Serial, groupVar, channel, p.setGroups, sched.Exact)
	}
	if c.band > 1 {
		add(sched.Serial, axisVar(c.row()), axes[c.row()].Var, c.band, sched.Exact)
	}
	c.tileLoops(p, &s, pixels, channel, perTask, whole)
	out := &sched.Schedule{Stages: []sched.Stage{s}}
	number := 0
	if c.copy != nil {
		number, at.Stage = 1, 1
		out.Stages = []sched.Stage{c.copy.schedule(at, task, c.n.facts), s}
	}
	c.values(out, w, number, lay)
	return out
}

// pixelSpan is what loops over pixels walk.
func (c *contraction) pixelSpan(s *sched.Stage) string {
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
func (c *contraction) tileLoops(p *tiling, s *sched.Stage, pixels, channel string, perTask int64, whole bool) {
	add := func(k sched.Kind, name, axis string, size int64, e sched.Edge) {
		s.Loops = append(s.Loops, sched.Loop{Kind: k, Var: name, Axis: axis, Size: size, Edge: e})
	}
	n, known := p.pixels.Const()
	switch {
	case c.pixel < 0:
	case c.runs > 1:
		row := c.b.Stage.Axes[c.row()]
		rows, _ := row.Extent.Const()
		add(sched.Serial, tileVar, row.Var, 0, sched.Exact)
		add(sched.Rows, runVar, row.Var, c.runs, edge(rows%c.runs != 0, sched.Peel))
		add(sched.Rows, rowVar, pixels, 0, sched.Exact)
	default:
		size, e := perTask, sched.Exact
		switch {
		case whole && len(s.Loops) > 0 && !slices.ContainsFunc(s.Loops, func(l sched.Loop) bool { return l.Var == chunkVar }):
			size = 0
		case whole:
			e = edge(n%p.rows != 0, sched.Clip)
		case known:
			if e = edge(n%(perTask*p.rows) != 0, sched.Clip); n%p.rows != 0 && !p.converted {
				e = sched.Last
			}
		default:
			e = sched.Clip
		}
		add(sched.Serial, tileVar, pixels, size, e)
		add(sched.Rows, rowVar, pixels, p.rows, edge(!known || n%p.rows != 0, sched.Peel))
	}
	columns, lanes := p.tileLanes/c.outPiece, c.outPiece
	if p.apart {
		columns, lanes = p.vectors, p.lanes
	}
	rounded := edge(c.channels%p.tileLanes != 0, sched.RoundUp)
	add(sched.Columns, vecVar, channel, columns, rounded)
	add(sched.Lanes, laneVar, channel, lanes, rounded)
	for i, k := range c.kAxes() {
		a := c.reduce[k.reduce]
		if !k.within {
			add(sched.Sum, kVar(i), a.Var, 0, sched.Exact)
			continue
		}
		n, _ := a.Extent.Const()
		add(sched.Sum, kVar(i), a.Var, k.extent, edge(n%k.extent != 0, sched.RoundUp))
	}
}

// values are those that are not row-major.
func (c *contraction) values(s *sched.Schedule, w *packedWeights, stage int, lay Layouts) {
	arena := func(of te.Source, l layout.Layout, rank int) {
		if l != layout.RowMajor {
			s.Values = append(s.Values, sched.Value{Of: of, Parts: layout.PartsOf(l, rank)})
		}
	}
	for i, v := range c.b.Operands {
		if i != c.packedOperand() {
			arena(te.Source{N: i}, lay(v), len(v.Shape))
		}
	}
	s.Values = append(s.Values, sched.Value{Of: te.Source{N: c.packedOperand()}, Parts: w.parts})
	if c.copy != nil {
		s.Values = append(s.Values, sched.Value{Of: te.Source{Stage: true}, Parts: c.copy.parts, Space: sched.Worker})
	}
	for i, v := range c.b.Results {
		arena(te.Source{Stage: true, N: stage, Part: i}, lay(v), len(v.Shape))
	}
}
