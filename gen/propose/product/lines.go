package product

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// besideX is the axis of the sum along which X has neighbours in memory, of a product whose channels are last; "" where there is none.
func (p *product) besideX() string {
	l := p.X.Load
	if !p.last || p.X.Constant {
		return ""
	}
	d := p.lay(p.b.Operands[l.Source.N]).Lane(len(l.Index))
	for _, a := range p.Reduce {
		if c := coefficient(l.Index[d], a.Var, p.Facts); c == 1 && p.dims(a.Var) == 1 {
			return a.Var
		}
	}
	return ""
}

// dims is how many dimensions of X an axis walks.
func (p *product) dims(v string) int {
	n := 0
	for _, e := range p.X.Load.Index {
		if e.Uses(v) {
			n++
		}
	}
	return n
}

// findSlides finds the windows of X where rows are windows that overlap, each of X's dimensions is walked by such a window or by one axis, and all taps
// but those of which the instruction takes neighbours have a dimension with their window; nil elsewhere.
func (p *product) findSlides() []window {
	var out []window
	rows, walked := false, map[string]int{}
	if _, known := p.row.Extent.Const(); !known {
		return nil
	}
	for _, e := range p.X.Load.Index {
		var by []te.Axis
		for _, a := range slices.Concat(p.Stage.Axes, p.Reduce) {
			if e.Uses(a.Var) {
				by = append(by, a)
				walked[a.Var]++
			}
		}
		switch {
		case len(by) < 2:
			continue
		case len(by) > 2:
			return nil
		}
		w, ok := p.window(p.X, by[1])
		if !ok || w.axis.Var != by[0].Var {
			return nil
		}
		neighbours := w.tap.Var == p.group
		if w.axis.Var == p.row.Var {
			rows = true
		} else if neighbours {
			return nil
		}
		if _, known := w.axis.Extent.Const(); !known || neighbours && w.dilation != 1 {
			return nil
		}
		out = append(out, w)
	}
	for _, n := range walked {
		rows = rows && n == 1
	}
	if !rows {
		return nil
	}
	return out
}

// slideOf is the window of X along an axis of the result, or of a tap.
func (p *product) slideOf(v string) (window, bool) {
	i := slices.IndexFunc(p.slides, func(w window) bool { return w.axis.Var == v || w.tap.Var == v })
	if i < 0 {
		return window{}, false
	}
	return p.slides[i], true
}

// wholeGroups is how many points of the sum groups of neighbours have that cover so many.
func (p *product) wholeGroups(n int64) int64 {
	return (n + p.instr.Group - 1) / p.instr.Group * p.instr.Group
}

// reach is how many points the windows of so many points of an axis reach over, those of whole groups of neighbours where these are taps.
func (p *product) reach(w window, points sym.Expr) sym.Expr {
	if w.tap.Var == p.group {
		n, _ := w.tap.Extent.Const()
		w.tap.Extent = sym.Const(p.wholeGroups(n))
	}
	return w.span(points)
}

// packLines is a copy of the lines that the windows of a task read, in the order in which X lies.
func (l *plan) packLines() *packing {
	k := l.packing("lines")
	k.prefix = "j"
	l.walkX(func(w window) { l.packWindow(k, w) }, func(a te.Axis) { l.packAxis(k, a) })
	k.columns = len(k.Axes) - 1
	e := l.X.Element(l.instr.X)
	if l.beside && !l.columns.Equal(l.column.Extent) {
		e = l.untilColumns(e)
	}
	k.finish(e, l.Facts)
	k.columns = -1
	return k
}

// walkX calls a function for each dimension of X in the order in which it lies, with the window that walks it, or with its axis.
func (l *plan) walkX(slide func(w window), axis func(a te.Axis)) {
	load := l.X.Load
	for _, part := range layout.PartsOf(l.lay(l.b.Operands[load.Source.N]), len(load.Index)) {
		for _, a := range slices.Concat(l.Stage.Axes, l.Reduce) {
			if !load.Index[part.Axis].Uses(a.Var) {
				continue
			}
			if w, ok := l.slideOf(a.Var); ok {
				slide(w)
			} else {
				axis(a)
			}
			break
		}
	}
}

// packWindow adds the axis of what a window walks.
func (l *plan) packWindow(k *packing, w window) {
	read := w.at()
	if w.tap.Var == l.group && !l.beside {
		read = read.Subst(map[string]sym.Expr{l.group: sym.Add(sym.Scale(l.groupVar(), l.instr.Group), l.dotVar())}, l.Facts)
	}
	first, region := sym.Const(0), int64(0)
	if at, ok := l.places[w.axis.Var]; ok {
		first = sym.Scale(at.first(), w.stride)
		region, _ = l.reach(w, sym.Const(at.size)).Const()
	}
	by := k.axis(l.reach(w, w.axis.Extent), read, first, region)
	k.along = append(k.along, walked{w, by})
	if !l.reach(w, w.axis.Extent).Equal(w.span(w.axis.Extent)) && !l.X.Guarded(w.tap.Var) {
		k.until(by, w.span(w.axis.Extent))
	}
}

// packAxis adds an axis of the result, or of the sum.
func (l *plan) packAxis(k *packing, a te.Axis) {
	if at, ok := l.places[a.Var]; ok {
		k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), at.now(), 1)
		return
	}
	switch {
	case a.Var == l.group:
		l.packLine(k)
	case a.Var == l.column.Var:
		k.names[a.Var] = k.axis(l.columns, sym.Var(a.Var), sym.Const(0), 0)
	default:
		k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), sym.Const(0), 0)
	}
}

// linesOfTask is how many points of an axis along which windows slide a task has: a few, or all where weights would not stay in the second-level
// cache from one task to the next.
func (l *plan) linesOfTask(w window) int64 {
	n, _ := w.axis.Extent.Const()
	t := l.choice.T
	for size := n; size > 1; size-- {
		reach, _ := l.reach(w, sym.Const(size)).Const()
		switch bytes := reach * l.lineBytes(w); {
		case n%size != 0:
		case l.streams() && bytes <= t.L2/2, bytes <= t.L2/8 && size <= mostShared && n/size >= enoughTasks/2:
			return size
		}
	}
	return 1
}

// streams reports whether weights would not stay in the second-level cache from one task to the next.
func (l *plan) streams() bool {
	columns, _ := l.columns.Const()
	return l.choice.Steps*l.instr.Group*columns*int64(l.instr.W.Size()) > l.choice.T.L2/4
}

// aroundRows is the innermost axis of X alone besides the rows.
func (l *plan) aroundRows() string {
	last := ""
	for i, a := range l.Stage.Axes {
		if a.Var != l.row.Var && !a.Extent.Is(1) && l.Of[i] == match.OfRows {
			last = a.Var
		}
	}
	return last
}

// pointsOfTask is how many points of such an axis a task has: all where weights are a stream and what is read of X stays in the
// second-level cache beside some of them, as where windows slide.
func (l *plan) pointsOfTask(a te.Axis) int64 {
	n, known := a.Extent.Const()
	rows, knownRows := l.row.Extent.Const()
	if !known || !knownRows || !l.last || l.beside || a.Var != l.aroundRows() || !l.streams() || l.chunk*l.Rows < rows {
		return 1
	}
	bytes := rows * l.choice.Steps * l.instr.Group * int64(l.instr.X.Size())
	for size := n; size > 1; size-- {
		if n%size == 0 && size*bytes <= l.choice.T.L2/2 {
			return size
		}
	}
	return 1
}

// lineBytes is the bytes of what tasks copy for a point of what a window walks.
func (l *plan) lineBytes(of window) int64 {
	bytes := int64(l.instr.X.Size())
	switch n, _ := l.columns.Const(); {
	case l.beside && l.group == "": // those of a group are copied at a time
		bytes *= l.width
	case l.beside:
		bytes *= n
	}
	for _, a := range l.Reduce {
		if _, ok := l.slideOf(a.Var); !ok {
			n, _ := a.Extent.Const()
			bytes *= n
		}
	}
	for _, w := range l.slides {
		if w.axis.Var != of.axis.Var {
			n, _ := l.reach(w, w.axis.Extent).Const()
			bytes *= n
		}
	}
	return bytes
}

// slideLoops are the tasks along an axis of windows, and the loop over the lines of one.
func (l *plan) slideLoops(w window, name, inner string, tasks, within *lower.LoopList) {
	size := l.linesOfTask(w)
	tasks.Add(sched.Task, name, w.axis.Var, 0, sched.Exact)
	at := place{task: name, size: size}
	if size > 1 {
		within.Add(sched.Serial, inner, w.axis.Var, size, sched.Exact)
		at.serial = inner
	}
	l.places[w.axis.Var] = at
}
