package ops

import (
	"slices"

	"rules_dnn/gen/ir/sym"
)

// digit is a part of an index: the digits of `base` (an axis, or a position in
// several axes) from place `from` up to place `to`, times a weight. It is the form
// weight * ((base // from) % (to // from)) of an index map.
type digit struct {
	base     sym.Expr
	from, to sym.Expr // to is base's span where open
	open     bool     // all digits from `from` on
	weight   sym.Expr
}

// digits are an access taken apart; whole is false where an index has another form.
type digits struct {
	a     access
	place map[string]int // of each axis of extent other than 1
	list  []digit        // in the operand's order: the first index and highest weight first
	whole bool
}

func newDigits(a access) *digits {
	d := &digits{a: a, place: map[string]int{}, whole: true}
	for k, ax := range a.axes {
		if !ax.Extent.Is(1) {
			d.place[ax.Var] = k
		}
	}
	for _, e := range a.index {
		d.index(e)
	}
	return d
}

// index takes one index apart.
func (d *digits) index(e sym.Expr) {
	var here []digit
	terms, _ := e.Terms()
	for _, t := range terms {
		x := digit{weight: sym.Const(t.Coef)}
		found := 0
		for _, at := range t.Atoms {
			if !d.usesAxes(at) {
				x.weight = sym.Mul(x.weight, atomExpr(at, d.a.facts))
				continue
			}
			found++
			if !x.of(at) {
				d.whole = false
			}
		}
		if found > 1 {
			d.whole = false
		}
		if found > 0 {
			here = append(here, x)
		}
	}
	slices.SortStableFunc(here, func(x, y digit) int { return heavier(x.weight, y.weight) })
	d.whole = d.whole && d.positional(here)
	d.list = append(d.list, here...)
}

func (d *digits) usesAxes(a *sym.Atom) bool {
	vars := map[string]bool{}
	atomExpr(a, d.a.facts).Vars(vars)
	for v := range vars {
		if _, ok := d.place[v]; ok {
			return true
		}
	}
	return false
}

// atomExpr is the atom as an expression.
func atomExpr(a *sym.Atom, f sym.Facts) sym.Expr {
	switch a.Kind {
	case sym.AtomVar:
		return sym.Var(a.Name)
	case sym.AtomDiv:
		return sym.FloorDiv(a.A, a.B, f)
	case sym.AtomMod:
		return sym.Mod(a.A, a.B, f)
	case sym.AtomMin:
		return sym.Min(a.A, a.B, f)
	}
	return sym.Max(a.A, a.B, f)
}

// of reads the digits that an atom holds; false for minima and maxima.
func (x *digit) of(a *sym.Atom) bool {
	x.from = sym.Const(1)
	switch a.Kind {
	case sym.AtomVar:
		x.base, x.open = sym.Var(a.Name), true
	case sym.AtomDiv:
		x.base, x.from, x.open = a.A, a.B, true
	case sym.AtomMod:
		x.base = a.A
		if q := soleAtom(a.A); q != nil && q.Kind == sym.AtomDiv {
			x.base, x.from = q.A, q.B
		}
		x.to = sym.Mul(x.from, a.B)
	default:
		return false
	}
	return true
}

// soleAtom is the atom that the expression is, or nil.
func soleAtom(e sym.Expr) *sym.Atom {
	terms, c := e.Terms()
	if c != 0 || len(terms) != 1 || terms[0].Coef != 1 || len(terms[0].Atoms) != 1 {
		return nil
	}
	return terms[0].Atoms[0]
}

// heavier orders weights descending; a symbolic product is above its divisors.
func heavier(x, y sym.Expr) int {
	a, okA := x.Const()
	b, okB := y.Const()
	switch {
	case okA && okB:
		return int(min(1, max(-1, max(b, -b)-max(a, -a))))
	case okA:
		return 1
	case okB:
		return -1
	case sym.Mul(sym.FloorDiv(x, y, nil), y).Equal(x):
		return -1
	}
	return 1
}

// injective reports whether different elements of the result read different elements:
// the digits hold all of each axis.
func (d *digits) injective() bool {
	if !d.whole {
		return false
	}
	held := map[string]bool{}
	for _, x := range d.list {
		if vars, ok := d.basis(x.base); ok && d.complete(x.base) {
			for _, v := range vars {
				held[v] = true
			}
		}
	}
	return len(held) == len(d.place)
}

// positional reports whether the digits of one index, the heaviest first, cannot add up to
// the same number in two ways. Symbolic weights are products of extents, and trusted.
func (d *digits) positional(xs []digit) bool {
	reach := int64(0) // greatest sum of the lighter ones
	for _, x := range slices.Backward(xs) {
		w, ok := x.weight.Const()
		if !ok {
			return true
		}
		w = max(w, -w)
		span := d.span(x)
		if w <= reach {
			return false
		}
		reach += min(w, 1<<31) * (span - 1)
	}
	return true
}

// span is how many values a digit takes at most.
func (d *digits) span(x digit) int64 {
	from, ok := x.from.Const()
	if !ok {
		return sym.MaxDim
	}
	_, most := x.base.Bounds(d.a.facts)
	if !x.open {
		_, to := x.to.Bounds(d.a.facts)
		return min(to, sym.MaxDim) / from
	}
	return min(most, sym.MaxDim)/from + 1
}

// basis are the axes of which a base is a position: one axis, or a sum of axes.
func (d *digits) basis(base sym.Expr) ([]string, bool) {
	var out []string
	terms, _ := base.Terms()
	for _, t := range terms {
		found := 0
		for _, a := range t.Atoms {
			if _, ok := d.place[a.Name]; ok && a.Kind == sym.AtomVar {
				out = append(out, a.Name)
				found++
			} else if d.usesAxes(a) {
				return nil, false
			}
		}
		if found > 1 {
			return nil, false
		}
	}
	return out, len(out) > 0
}

// complete reports whether the digits of a base follow each other without a gap.
func (d *digits) complete(base sym.Expr) bool {
	at := sym.Const(1)
	for range len(d.list) + 1 {
		next := -1
		for i, x := range d.list {
			if x.base.Equal(base) && x.from.Equal(at) {
				next = i
				break
			}
		}
		if next < 0 {
			break
		}
		if d.list[next].open {
			return true
		}
		at = d.list[next].to
	}
	_, most := base.Bounds(d.a.facts)
	return sym.AtLeast(at, most+1, d.a.facts)
}

// ordered reports whether the digits come in the order of the result's axes: elements
// keep their order.
func (d *digits) ordered() bool {
	last, lastFrom := -1, sym.Const(0)
	for _, x := range d.list {
		vars, ok := d.basis(x.base)
		if !ok {
			return false
		}
		place := len(d.a.axes)
		for _, v := range vars {
			place = min(place, d.place[v])
		}
		if w, ok := x.weight.Const(); ok && w < 0 {
			return false
		}
		if place < last || (place == last && heavier(x.from, lastFrom) < 0) {
			return false
		}
		last, lastFrom = place, x.from
	}
	return true
}
