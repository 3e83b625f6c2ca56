package lower

import (
	"fmt"
	"slices"

	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// place is where a loop of tasks, and one within it, walk an axis.
type place struct {
	task, serial string // names of loops, "" where there is none
	size         int64  // points of a task
}

// first is the first point of a task.
func (l place) first() sym.Expr {
	if l.task == "" {
		return sym.Const(0)
	}
	return sym.Scale(sym.Var(l.task), l.size)
}

// now is the point of the loops.
func (l place) now() sym.Expr {
	if l.serial == "" {
		return l.first()
	}
	return sym.Add(l.first(), sym.Var(l.serial))
}

// mostShared is how many points of a window's axis, other than the lanes', a task computes at most of one copy of what they read.
const mostShared = 4

// plan is a schedule that is being made.
type plan struct {
	*product
	*proposal
	width   int64
	columns sym.Expr // that are packed, whole registers
	places  map[string]place
	stages  []*packing
	folded  []*packing // of constants: they are operands
	inner   string     // the loop within which tiles are
	serials int        // loops of stages that pack
	fetch   int64      // how many elements ahead tiles fetch X
	apart   bool       // weights of tiles may lie apart
	packedX *te.Load   // X in a task's copy, or nil
	// sets is how many tasks share the columns of each block of rows, of which each has so many groups of its own; 0: a task has all.
	sets, own int64
}

// Names of loops beside those of contractions.
const rowsVar = "tc" // number of the block of rows

// schedule is the stages and where they are computed. A task packs what its tiles read of W for a group of columns, and computes all rows
// of it; where X is packed, too, tasks are blocks of rows, and pack W for each group of columns if it is no constant.
func (p *product) schedule(env *Env) *proposal {
	l := &plan{product: p, proposal: newProposal(env.Symbols), width: p.vectors * p.instr.Lanes, places: map[string]place{},
		apart: env.Target.PrefetchBytes > 0}
	l.columns = sym.Scale(sym.CeilDiv(p.column.Extent, sym.Const(l.width), env.Symbols), l.width)
	l.shareColumns()
	st := *p.stage
	c := sched.Stage{At: sched.Root, Tile: &sched.Tile{Row: p.instr.Name, X: p.choice.x}}
	all := l.outer()
	var w, x te.Expr
	if w = l.grouped(p.w.load); !p.storedW {
		w = l.packW()
	}
	switch x = l.grouped(p.x.load); {
	case p.beside && p.group == "":
		x = l.packFloats()
	case p.beside:
		x = l.packBeside()
	case p.slides != nil:
		x = l.add(l.packLines(), l.x, l.task())
	case p.packX:
		x = l.packX()
	}
	if copied, ok := x.(te.Load); ok && copied.Source.Stage && !p.beside {
		l.packedX = &copied
	}
	wide := func(e te.Expr) te.Expr {
		if e.DType() == p.sum() {
			return e
		}
		return te.Fn(p.sum(), "cast", e)
	}
	st.Values = []te.Expr{te.Fn(p.sum(), "mul", wide(x), wide(w))}
	st.Results = l.corrected()
	st.Reduce = nil
	add := func(k sched.Kind, a te.Axis) {
		all.add(k, kVar(len(st.Reduce)), a.Var, 0, sched.Exact)
		st.Reduce = append(st.Reduce, a)
	}
	groups := func() {
		if p.group != "" {
			n, _ := p.axis(p.group).Extent.Const()
			add(sched.Sum, te.Axis{Var: p.group + "q", Extent: sym.Const((n + p.instr.Group - 1) / p.instr.Group)})
		}
	}
	if !p.last {
		groups()
	}
	for _, a := range p.reduce {
		if a.Var != p.group {
			add(sched.Sum, a)
		}
	}
	if p.last { // lines of channels are whole
		groups()
	}
	if p.group != "" {
		add(sched.Dot, te.Axis{Var: p.group + "d", Extent: sym.Const(p.instr.Group)})
	}
	c.Loops = all
	if p.w.constant && p.dots && p.instr.Matrix == 0 {
		c.Tile.Ahead, _ = prefetch(env.Target, p.instr, p.instr.W, p.choice.steps, p.vectors, false, nil)
	}
	l.fetch = l.fetchX(env.Target)
	l.finish(&st, c)
	return l.proposal
}

// outer are the loops of the result's axes, outermost first.
func (l *plan) outer() loopList {
	var tasks, before, within loopList
	for i, a := range l.stage.Axes {
		if a.Var == l.row.Var || a.Var == l.column.Var || a.Extent.Is(1) {
			continue
		}
		name, inner := axisVar(i), fmt.Sprintf("u%d", len(before)+len(within))
		inX, inW := l.x.uses(a.Var), l.w.uses(a.Var)
		if w, ok := l.slideOf(a.Var); ok {
			l.slideLoops(w, name, inner, &tasks, &within)
			continue
		}
		if size := l.pointsOfTask(a); size > 1 {
			tasks.add(sched.Task, name, a.Var, 0, sched.Exact)
			within.add(sched.Serial, inner, a.Var, size, sched.Exact)
			l.places[a.Var] = place{name, inner, size}
			continue
		}
		switch size := l.share(a); {
		case inX == inW || inW && l.chunk == 0 && size <= 1 || inX && l.chunk > 0 || inX && l.slides != nil:
			tasks.add(sched.Task, name, a.Var, 0, sched.Exact)
			l.places[a.Var] = place{task: name, size: 1}
		case inW && l.chunk == 0:
			tasks.add(sched.Task, name, a.Var, 0, sched.Exact)
			within.add(sched.Serial, inner, a.Var, size, sched.Exact)
			l.places[a.Var], l.inner = place{name, inner, size}, inner
		case inW:
			before.add(sched.Serial, inner, a.Var, 0, sched.Exact)
			l.places[a.Var] = place{serial: inner, size: 1}
		default:
			within.add(sched.Serial, inner, a.Var, 0, sched.Exact)
		}
	}
	if l.chunk > 0 {
		tasks.add(sched.Task, rowsVar, l.row.Var, 0, sched.Exact)
		l.groupLoops(&tasks, &before)
	} else {
		before.add(sched.Task, groupVar, l.column.Var, 0, sched.Exact)
	}
	if l.inner == "" {
		l.inner = groupVar
	}
	out := slices.Concat(tasks, before, within)
	if l.row.Var != "" {
		l.tileRows(&out)
	}
	out.lanes(l.column.Var, l.vectors, l.instr.Lanes, !l.columns.Equal(l.column.Extent))
	return out
}

// tileRows are a task's tiles and the rows of one. Those that lie together in the results' storage are a loop of their own.
func (l *plan) tileRows(out *loopList) {
	divides := func(n int64) bool { return sym.Mod(l.row.Extent, sym.Const(n), l.facts).Is(0) }
	last, rest := edge(l.chunk > 0 && !divides(l.chunk*l.rows), sched.Clip), edge(!divides(l.rows), sched.Peel)
	if l.together <= 1 || l.rows == l.together {
		out.rows(l.row.Var, l.chunk, l.rows, last, rest)
		return
	}
	out.add(sched.Serial, tileVar, l.row.Var, l.chunk, last)
	out.add(sched.Rows, runVar, l.row.Var, l.rows/l.together, rest)
	out.add(sched.Rows, rowVar, l.row.Var, l.together, sched.Exact)
}

// tasks adds a loop over an axis's tasks, and gives the one over the points of a task, where it has several.
func (l *plan) tasks(c *sched.Stage, name string, a te.Axis) (points []sched.Loop) {
	c.Loops = append(c.Loops, sched.Loop{Kind: sched.Task, Var: name, Axis: a.Var})
	at := place{task: name, size: l.share(a)}
	if at.size > 1 {
		at.serial = "u" + name[1:]
		points = append(points, sched.Loop{Kind: sched.Serial, Var: at.serial, Axis: a.Var, Size: at.size})
	}
	l.places[a.Var] = at
	return points
}

// share is how many points of an axis share what a task packs of W.
func (l *plan) share(a te.Axis) int64 {
	i := slices.IndexFunc(l.windows, func(w window) bool { return w.axis.Var == a.Var })
	n, known := a.Extent.Const()
	if i < 0 || !known {
		return 1
	}
	for size := int64(mostShared); size > 1; size-- {
		if n%size == 0 {
			return size
		}
	}
	return 1
}

// packW is W as the tiles read it: the group of the instruction innermost, then the columns.
func (l *plan) packW() te.Expr {
	k := l.packing("pack")
	for _, a := range l.stage.Axes {
		if a.Var == l.column.Var || a.Extent.Is(1) || !l.w.uses(a.Var) {
			continue
		}
		at := l.places[a.Var]
		if w, ok := l.windowOf(a); ok {
			span, _ := w.span(sym.Const(at.size)).Const()
			by := k.axis(w.span(a.Extent), w.at(), sym.Scale(at.first(), w.stride), span)
			k.along = append(k.along, walked{w, by})
			continue
		}
		k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), at.now(), 1)
	}
	q := l.packSums(k, true)
	first := sym.Scale(sym.Var(groupVar), l.width)
	k.columns = len(k.Axes)
	if w, ok := l.windowOf(l.column); ok {
		span, _ := w.span(sym.Const(l.width)).Const()
		by := k.axis(w.span(l.columns), w.at(), first, span)
		k.along = append(k.along, walked{w, by})
		if !l.columns.Equal(l.column.Extent) {
			k.until(by, w.span(l.column.Extent))
		}
	} else {
		v := k.axis(l.columns, sym.Var(l.column.Var), first, l.width)
		k.names[l.column.Var] = v
		if !l.columns.Equal(l.column.Extent) {
			k.until(v, l.column.Extent)
		}
	}
	l.packGroup(k, q)
	k.finish(l.w.element(l.instr.W), l.facts)
	return l.add(k, l.w, groupVar)
}

func (l *plan) windowOf(a te.Axis) (window, bool) {
	i := slices.IndexFunc(l.windows, func(w window) bool { return w.axis.Var == a.Var })
	if i < 0 {
		return window{}, false
	}
	return l.windows[i], true
}

// isTap reports whether an axis of the sum is a window's.
func (l *plan) isTap(v string) bool {
	return slices.ContainsFunc(l.windows, func(w window) bool { return w.tap.Var == v })
}

// packSums adds the axes of the sum, but those of windows that are shared, groups of neighbours first, or last where channels are, which it returns.
func (l *plan) packSums(k *packing, shares bool) (groups sym.Expr) {
	if l.last {
		l.packTaps(k, shares)
	}
	if l.group != "" {
		n, _ := l.axis(l.group).Extent.Const()
		groups = k.axis(sym.Const((n+l.instr.Group-1)/l.instr.Group), l.groupVar(), sym.Const(0), 0)
	}
	if !l.last {
		l.packTaps(k, shares)
	}
	return groups
}

// packTaps adds the axes of the sum of which the instruction takes no neighbours.
func (l *plan) packTaps(k *packing, shares bool) {
	for _, a := range l.reduce {
		if a.Var != l.group && !(shares && l.isTap(a.Var)) {
			k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), sym.Const(0), 0)
		}
	}
}

// packGroup adds the axis of neighbours, the last one.
func (l *plan) packGroup(k *packing, groups sym.Expr) {
	if l.group == "" {
		return
	}
	d := k.axis(sym.Const(l.instr.Group), l.dotVar(), sym.Const(0), 0)
	at := sym.Add(sym.Scale(groups, l.instr.Group), d)
	k.names[l.group] = at
	if n, _ := l.axis(l.group).Extent.Const(); n%l.instr.Group != 0 {
		k.until(at, sym.Const(n))
	}
}

// serial is a loop over an axis of a stage that packs.
func (l *plan) serial(k *packing, axis int) sched.Loop {
	out := sched.Loop{Kind: sched.Serial, Var: partOfAxis, Axis: k.Axes[axis].Var}
	if axis != k.columns {
		out.Var = l.nextLoop()
	}
	if n := k.clipped[axis]; n > 0 {
		out.Size, out.Edge = n, sched.Clip
	}
	return out
}

func (l *plan) nextLoop() string {
	l.serials++
	return fmt.Sprintf("q%d", l.serials-1)
}

// add adds a stage that is computed at a loop, or, of a constant, a value that is; it is how the contraction reads it.
func (l *plan) add(k *packing, t *term, at string) te.Expr {
	typ := k.Results[0].DType()
	if t.constant {
		l.folded = append(l.folded, k)
		return te.Operand(len(l.operands)+len(l.folded)-1, typ, k.read...)
	}
	if k.sched.Loops == nil {
		for i, a := range k.Axes {
			if !k.once(a.Var) {
				k.sched.Loops = append(k.sched.Loops, l.serial(k, i))
			}
		}
	}
	k.sched.At.Loop = at
	l.stages = append(l.stages, k)
	return te.FromStage(len(l.stages)-1, typ, k.read...)
}
