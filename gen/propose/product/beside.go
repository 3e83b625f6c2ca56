package product

import (
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
	"rules_dnn/gen/target/instr"
)

// besideTaps is a convolution of channels by themselves, which lie last, by an instruction that takes in several neighbours of a sum: taps of one
// channel, which a task puts beside each other; nil where there is none.
func besideTaps(b *block.Block, m *match.Match, env *lower.Env) *product {
	at := lower.ChannelsLast.Lane(len(m.Stage.Axes))
	for x := range m.Factors {
		p := &product{b: b, lay: env.Layouts, Roles: m.Roles(x), dots: true, last: true, beside: true}
		if p.besideChannels(at, env) && p.lay(b.Operands[p.X.Load.Source.N]) == lower.ChannelsLast && p.takesTaps(env) && p.tileBeside(env) {
			return p
		}
	}
	return nil
}

// besideChannels gives a product its axes, the channels being columns of both factors, and its windows; false where there are none.
func (p *product) besideChannels(at int, env *lower.Env) bool {
	axes := p.Stage.Axes
	if p.X.Constant || !p.W.IsWeights() || p.Of[at] != match.OfBoth || match.DimOf(p.X.Load, axes[at].Var) != 1 || p.Roles.Row < 0 || env.Lanes() < 2 {
		return false
	}
	p.Lane, p.column, p.row = at, axes[at], axes[p.Roles.Row]
	return p.slidesAll()
}

// slidesAll finds the windows of X, and of their taps the group: of windows that slide along other axes than the rows of tiles, if there are some. False where
// a tap is none of a window, and where there are no tasks besides rows and columns.
func (p *product) slidesAll() bool {
	for _, r := range p.Reduce {
		w, ok := p.window(p.X, r)
		if _, known := w.axis.Extent.Const(); !ok || !known || p.dims(r.Var) != 1 || p.dims(w.axis.Var) != 1 || slices.ContainsFunc(p.slides, func(o window) bool { return o.axis.Var == w.axis.Var }) {
			return false
		}
		p.slides = append(p.slides, w)
	}
	i := slices.IndexFunc(p.slides, func(w window) bool { return w.axis.Var != p.row.Var })
	if i < 0 {
		return false
	}
	p.group = p.slides[i].tap.Var
	return true
}

// takesTaps finds the instruction: one that takes the factors as they are, or in 16 bits.
func (p *product) takesTaps(env *lower.Env) bool {
	rows := env.Target.Dots(ir.I32)
	i := slices.IndexFunc(rows, func(r *instr.Row) bool {
		return r.Group > 1 && r.TakesVectors() && r.X.Size() == 1 && r.W == p.W.Load.Type && p.W.Zero == nil
	})
	if i < 0 {
		i = slices.IndexFunc(rows, func(r *instr.Row) bool { return r.Group > 1 && r.TakesVectors() && r.X.Size() == 2 })
	}
	if i < 0 {
		return false
	}
	p.instr = rows[i]
	return true
}

// tileBeside finds the tile: the best one whose taps beside each other stay in the first-level cache.
func (p *product) tileBeside(env *lower.Env) bool {
	columns, known := p.column.Extent.Const()
	pixels, knownRows := p.row.Extent.Const()
	if !known || !knownRows || columns < p.instr.Lanes {
		return false
	}
	c := micro.NewTiled(env.Target, p.instr, instr.Vector, p.row.Extent)
	c.Groups, c.PerBlock, c.Steps = (columns+p.instr.Lanes-1)/p.instr.Lanes, 1, 1
	line := p.instr.Group * int64(p.instr.X.Size()) * p.instr.Lanes // of a register's columns
	for _, a := range p.Reduce {
		n, _ := a.Extent.Const()
		if a.Var == p.group {
			n = p.wholeGroups(n) / p.instr.Group
			line *= n
		}
		if w, ok := p.slideOf(a.Var); ok && p.group == "" && w.axis.Var != p.row.Var { // lines of each column
			line *= n
		}
		c.Steps *= n
	}
	if w, ok := p.slideOf(p.row.Var); ok {
		pixels, _ = w.span(p.row.Extent).Const()
	}
	p.choice, p.Tile = c, micro.Tile{}
	for _, t := range c.Ranked() {
		if p.Tile.Rows == 0 || t.Vectors*line*pixels <= env.Target.L1D/2 {
			p.Tile = t
		}
		if t.Vectors*line*pixels <= env.Target.L1D/2 {
			break
		}
	}
	n, _ := p.row.Extent.Const()
	p.chunk = (n + p.Rows - 1) / p.Rows
	return c.Fits(p.Rows, p.Vectors)
}

// packBeside is the lines that a task reads, and of each of its own, for a group of columns, the taps beside each other.
func (l *plan) packBeside() te.Expr {
	lines := l.packLines()
	source := l.add(lines, l.X, l.task()).(te.Load)
	k := l.packing("taps beside each other")
	k.prefix = "j"
	group, _ := l.slideOf(l.group)
	var index []sym.Expr
	line := 0 // the dimension whose taps lie beside each other
	l.walkX(func(w window) {
		at, ok := l.places[w.axis.Var]
		switch {
		case w.tap.Var == l.group:
			line = len(index)
			index = append(index, k.axis(w.axis.Extent, sym.Var(w.axis.Var), at.now(), 1))
		case ok:
			points, _ := w.span(sym.Const(1)).Const()
			index = append(index, k.axis(w.span(w.axis.Extent), w.at(), sym.Scale(at.now(), w.stride), points))
		default:
			index = append(index, k.axis(w.span(w.axis.Extent), w.at(), sym.Const(0), 0))
		}
	}, func(a te.Axis) {
		switch at, ok := l.places[a.Var]; {
		case a.Var == l.column.Var:
		case ok:
			index = append(index, k.axis(a.Extent, sym.Var(a.Var), at.now(), 1))
		default:
			index = append(index, k.axis(a.Extent, sym.Var(a.Var), sym.Const(0), 0))
		}
	})
	taps, _ := group.tap.Extent.Const()
	groups := k.axis(sym.Const(l.wholeGroups(taps)/l.instr.Group), l.groupVar(), sym.Const(0), 0)
	column := k.axis(l.columns, sym.Var(l.column.Var), sym.Scale(sym.Var(vars.Group), l.width), l.width)
	tap := k.axis(sym.Const(l.instr.Group), l.dotVar(), sym.Const(0), 0)
	if taps <= l.instr.Group {
		groups = sym.Const(0)
	}
	of := sym.Add(sym.Scale(groups, l.instr.Group), tap)
	index[line] = sym.Add(sym.Scale(index[line], group.stride), sym.Scale(of, group.dilation))
	source.Index = append(index, column)
	e := te.Expr(source)
	if taps%l.instr.Group != 0 {
		e = te.Select{Cond: []te.Within{{E: of, Lo: sym.Const(0), Hi: sym.Const(taps)}}, Then: e, Else: te.Number(source.Type, 0)}
	}
	k.Results = []te.Expr{e}
	for i, a := range k.Axes {
		switch {
		case k.once(a.Var):
		case i == len(k.Axes)-1:
			k.sched.Loops = append(k.sched.Loops, sched.Loop{Kind: sched.Unroll, Var: l.nextLoop(), Axis: a.Var})
		default:
			k.sched.Loops = append(k.sched.Loops, l.serial(k, i))
		}
	}
	at := vars.Group
	if p := l.places[group.axis.Var]; p.serial != "" {
		at = p.serial
	}
	return l.add(k, l.X, at)
}

// untilColumns is an expression of what is loaded of X, with some number beyond the last column.
func (l *plan) untilColumns(e te.Expr) te.Expr {
	return te.Map(e, func(e te.Expr) te.Expr {
		x, ok := e.(te.Load)
		if !ok || x.Source != l.X.Load.Source {
			return e
		}
		x.Guard = append(slices.Clone(x.Guard), te.Within{E: sym.Var(l.column.Var), Lo: sym.Const(0), Hi: l.column.Extent})
		if x.Default == nil {
			x.Default = te.Number(x.Type, 0)
		}
		return x
	})
}
