package product

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/vars"
)

// packW is W as the tiles read it: the group of the instruction innermost, then the columns.
func (l *plan) packW() te.Expr {
	k := l.packing("pack")
	for _, a := range l.Stage.Axes {
		if a.Var == l.column.Var || a.Extent.Is(1) || !l.W.Uses(a.Var) {
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
	first := sym.Scale(sym.Var(vars.Group), l.width)
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
	k.finish(l.W.Element(l.instr.W), l.Facts)
	return l.add(k, l.W, vars.Group)
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
	for _, a := range l.Reduce {
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
	out := sched.Loop{Kind: sched.Serial, Var: vars.Part, Axis: k.Axes[axis].Var}
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
