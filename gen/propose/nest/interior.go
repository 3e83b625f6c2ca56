package nest

import (
	"maps"
	"slices"
	"strings"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Windows of a pool leave the operand at its borders only. Along the innermost axis that windows walk, the points whose windows lie wholly
// within run in a loop of their own, whose bounds are constants; those before and after them have windows of a length of their own each.

// interior computes the points of that axis in such parts; nil where it has none.
func (n *Nest) interior(axes []te.Axis) []loop.Stmt {
	if n.parted || !n.windows || n.target.WorkItems() {
		return nil
	}
	guarded, ok := n.guardedWindow()
	if !ok {
		return nil
	}
	last := len(axes) - 1
	if n.columns(axes) != nil { // which have their padding beside them
		last--
	}
	for i := last; i >= 0; i-- {
		from, to, within := n.inside(axes[i], guarded.Cond)
		if from, to = n.atOne(axes[i+1:], from), n.atOne(axes[i+1:], to); len(within) > 0 && !usesAny(axes[i+1:], from, to) {
			return Loops(axes[:i], n.parts(axes[i:], from, to, guarded, within))
		}
	}
	return nil
}

// atOne is an expression at the only point of the axes that have no more.
func (n *Nest) atOne(axes []te.Axis, e sym.Expr) sym.Expr {
	where := map[string]sym.Expr{}
	for _, a := range axes {
		if a.Extent.Is(1) {
			where[a.Var] = sym.Const(0)
		}
	}
	return e.Subst(where, n.Facts)
}

// usesAny reports whether an expression moves with one of the axes.
func usesAny(axes []te.Axis, es ...sym.Expr) bool {
	return slices.ContainsFunc(axes, func(a te.Axis) bool {
		return slices.ContainsFunc(es, func(e sym.Expr) bool { return e.Uses(a.Var) })
	})
}

// guardedWindow is what a reduction takes where a guard holds, if it leaves out what else there is.
func (n *Nest) guardedWindow() (te.Select, bool) {
	if n.Combiner == nil || len(n.Values) != 1 {
		return te.Select{}, false
	}
	s, ok := n.Values[0].(te.Select)
	return s, ok && neutral(n.Combiner, s.Else)
}

// inside are the points [from, to) of an axis whose windows meet those of the conditions that move with it.
func (n *Nest) inside(a te.Axis, cond []te.Within) (from, to sym.Expr, within []te.Within) {
	from, to = sym.Const(0), a.Extent
	for _, w := range cond {
		r, step, ok := n.walks(w)
		stride, linear := sym.Coefficient(w.E, a.Var, n.Facts)
		s, known := stride.Const()
		if !ok || !linear || !known || s < 1 || w.Lo.Uses(a.Var) || w.Hi.Uses(a.Var) {
			continue
		}
		rest := w.E.Subst(map[string]sym.Expr{r.Var: sym.Const(0), a.Var: sym.Const(0)}, n.Facts)
		last := sym.Add(rest, sym.Scale(sym.Sub(r.Extent, sym.Const(1)), step))
		by := sym.Const(s)
		from = sym.Max(from, sym.CeilDiv(sym.Sub(w.Lo, rest), by, n.Facts), n.Facts)
		to = sym.Min(to, sym.CeilDiv(sym.Sub(w.Hi, last), by, n.Facts), n.Facts)
		within = append(within, w)
	}
	from = sym.Min(from, a.Extent, n.Facts)
	to = sym.Max(from, to, n.Facts)
	if sym.AtMost(sym.Sub(to, from), fewInside, n.Facts) {
		return from, to, nil
	}
	return from, to, within
}

// fewInside is how many points have no loop of their own.
const fewInside = 1

// Parts of a nest that stand beside each other have variables of their own, as those of placed stages do.
const (
	beforeTag, afterTag = "91", "92"
)

// parts are the loops before, within and after the interior [from, to) of the first axis.
func (n *Nest) parts(axes []te.Axis, from, to sym.Expr, guarded te.Select, within []te.Within) []loop.Stmt {
	a := axes[0]
	body := append(n.boundary("g0_from"+n.tag, &from), n.boundary("g0_to"+n.tag, &to)...)
	left := slices.DeleteFunc(slices.Clone(guarded.Cond), func(w te.Within) bool {
		return slices.ContainsFunc(within, func(x te.Within) bool { return x.E.Equal(w.E) })
	})
	inside := guarded.Then
	if len(left) > 0 {
		inside = te.Select{Cond: left, Then: guarded.Then, Else: guarded.Else}
	}
	body = append(body, n.part(beforeTag, axes, sym.Const(0), from, guarded)...)
	body = append(body, n.part("", axes, from, to, inside)...)
	return append(body, n.part(afterTag, axes, to, a.Extent, guarded)...)
}

// boundary gives a bound that is no constant a variable.
func (n *Nest) boundary(name string, e *sym.Expr) []loop.Stmt {
	if _, known := e.Const(); known {
		return nil
	}
	lo, hi := e.Bounds(n.Facts)
	n.Facts[name] = sym.Range{Lo: max(lo, 0), Hi: hi}
	out := []loop.Stmt{loop.Index{Var: name, Value: *e}}
	*e = sym.Var(name)
	return out
}

// part computes the points [from, to) of the first axis, of which the reduction takes a value, with variables of its own.
func (n *Nest) part(tag string, axes []te.Axis, from, to sym.Expr, value te.Expr) []loop.Stmt {
	a := te.Axis{Var: axes[0].Var, Extent: sym.Sub(to, from)}
	if sym.AtMost(a.Extent, 0, n.Facts) {
		return nil
	}
	s := *n
	s.parted, s.Facts = true, maps.Clone(n.Facts)
	if tag != "" {
		s.tag = "_" + strings.TrimPrefix(n.tag, "_") + tag
	}
	s.Values, s.Results, s.Reduce, s.within = []te.Expr{value}, slices.Clone(n.Results), slices.Clone(n.Reduce), slices.Clone(n.within)
	s.AddRanges([]te.Axis{a})
	at, rest := sym.Add(from, sym.Var(a.Var)), append([]te.Axis{a}, axes[1:]...)
	if a.Extent.Is(1) {
		at, rest = from, slices.Clone(axes[1:])
	}
	where := map[string]sym.Expr{a.Var: at}
	for _, r := range append(slices.Clone(s.Reduce), rest...) { // whose variables would be declared once for each part
		if r.Extent.Is(1) {
			where[r.Var] = sym.Const(0)
		}
	}
	one := func(a te.Axis) bool { return a.Extent.Is(1) }
	s.Reduce, rest = slices.DeleteFunc(s.Reduce, one), slices.DeleteFunc(rest, one)
	s.Subst(where)
	s.AddRanges(rest) // as they are here: another part may have joined them
	if i := len(rest) - 2; i >= 0 && !sym.Mod(rest[i+1].Extent, sym.Const(n.lanes), n.Facts).Is(0) && s.CanCollapse(rest[i], rest[i+1]) {
		rest = s.collapsed(rest, i) // windows that lie below each other walk rows as one, with whole vectors but for the last one
	}
	body := s.run(rest)
	n.keep(&s, a)
	return body
}

// keep is what a part tells the nest: that it trimmed a window, and the ranges of its variables.
func (n *Nest) keep(s *Nest, a te.Axis) {
	n.trims = n.trims || s.trims
	for v, r := range s.Facts {
		if old, known := n.Facts[v]; known && (v == a.Var || slices.ContainsFunc(n.Axes, func(x te.Axis) bool { return x.Var == v })) {
			r = sym.Range{Lo: min(old.Lo, r.Lo), Hi: max(old.Hi, r.Hi)} // of an axis, another part has more or fewer points
		}
		n.Facts[v] = r
	}
}
