package loop

import (
	"math"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
)

// around is an axis of the grid, or a loop: its variable runs over [0, extent).
type around struct {
	name   string
	extent sym.Expr // by the variables of what is around it
	task   bool     // an axis of the grid
	sure   bool     // it runs at least once
}

// enter checks an axis or a loop and notes it.
func (v *verifier) enter(name string, extent sym.Expr, task bool) {
	if !v.ranges {
		return
	}
	extent = extent.Subst(v.values, v.k.Facts)
	a := around{name, extent, task, sym.AtLeast(extent, 1, v.k.Facts)}
	if _, most := extent.Bounds(v.k.Facts); most < 0 {
		v.fail("%q runs over %s points", name, extent)
	}
	if a.sure {
		v.fact(name, sym.Const(0), sym.Sub(extent, sym.Const(1)))
	} else {
		v.unsure++
	}
	v.around = append(v.around, a)
}

func (v *verifier) leave() {
	if !v.ranges {
		return
	}
	last := v.around[len(v.around)-1]
	if !last.sure {
		v.unsure--
	}
	v.around = v.around[:len(v.around)-1]
}

// loop checks a loop.
func (v *verifier) loop(x For) {
	around := v.vectors
	switch {
	case x.Lanes < 0 || x.Stride < 0:
		v.fail("the loop over %q has vectors of %d lanes, %d apart", x.Var, x.Lanes, x.Stride)
	case x.Lanes > 1 && v.vectors:
		v.fail("the loop over %q is vectorized, and a loop around it is, too", x.Var)
	case x.Lanes > 1 && v.ranges && !CanVectorise(x, AllVectors, v.k.Facts):
		v.fail("the loop over %q cannot be vectorized", x.Var)
	case x.Halves && (x.Lanes < 2 || v.ranges && !x.ofHalves(v.k.Facts)):
		v.fail("the loop over %q has vectors of f16, but computes something else, or has no vectors", x.Var)
	case x.Lanes > 1:
		v.vectors = true
	}
	v.enter(x.Var, x.Extent, false)
	v.block(x.Body, x.Var)
	v.leave()
	v.vectors = around
}

// is notes the value of an index variable.
func (v *verifier) is(name string, value sym.Expr) {
	if !v.ranges {
		return
	}
	value = value.Subst(v.values, v.k.Facts)
	v.values[name] = value
	if all := v.names[name]; len(all) > 0 {
		all[len(all)-1].value = &value
	}
	v.fact(name, value, value)
}

// bound checks the bounds of a loaded integer, which may be each of them.
func (v *verifier) bound(x Bind) {
	if !v.ranges {
		return
	}
	v.fact(x.Var, x.Lo.Subst(v.values, v.k.Facts), x.Hi.Subst(v.values, v.k.Facts))
}

// fact checks that a variable which takes the values lo and hi where statements run for sure has them by the kernel's facts.
func (v *verifier) fact(name string, lo, hi sym.Expr) {
	r, known := v.k.Facts[name]
	if !known || v.unsure > 0 {
		return
	}
	least, ok := v.corner(lo, false)
	if ok && r.Lo != math.MinInt64 && sym.AtMost(least, r.Lo-1, v.k.Facts) {
		v.fail("%q can be %s; its minimum in the facts is %d", name, least, r.Lo)
	}
	most, ok := v.corner(hi, true)
	if ok && r.Hi != math.MaxInt64 && sym.AtLeast(most, r.Hi+1, v.k.Facts) {
		v.fail("%q can be %s; its maximum in the facts is %d", name, most, r.Hi)
	}
}

// place checks that an access stays in its buffer.
func (v *verifier) place(b *Buffer, index sym.Expr, t Texel) {
	switch {
	case v.err != nil:
	case b.Image == nil:
		v.inside(b, index)
	default:
		v.below(b, "lane", index, sym.Const(layout.TexelLanes))
		v.below(b, "column", t.X, b.Image.Width)
		v.below(b, "line", t.Y, b.Image.Height)
	}
}

func (v *verifier) inside(b *Buffer, index sym.Expr) { v.below(b, "element", index, b.Size) }

// below checks an index where it is computed for sure: it is wrong where the least or the greatest that it becomes is out of [0, size).
func (v *verifier) below(b *Buffer, what string, index, size sym.Expr) {
	if v.err != nil || v.unsure > 0 || !v.ranges || sym.AtMost(size, 0, v.k.Facts) { // of a buffer without elements: the kernel never runs
		return
	}
	index = index.Subst(v.values, v.k.Facts)
	if lo, _ := index.Bounds(v.k.Facts); lo < 0 {
		if least, ok := v.corner(index, false); ok && sym.AtMost(least, -1, v.k.Facts) {
			v.fail("%s %s of %q; want at least 0", what, least, b.Name)
		}
	}
	if _, beyond := sym.Sub(index, size).Bounds(v.k.Facts); beyond >= 0 {
		if most, ok := v.corner(index, true); ok && sym.AtLeast(sym.Sub(most, size), 0, v.k.Facts) {
			v.fail("%s %s of %q; want less than its size, %s", what, most, b.Name, size)
		}
	}
}

// corner is the greatest, or the least, value that an index takes in the loops around, by symbols alone. False where it does not grow
// steadily with each variable.
func (v *verifier) corner(e sym.Expr, greatest bool) (sym.Expr, bool) {
	for i := len(v.around) - 1; i >= 0; i-- {
		a := v.around[i]
		if !e.Uses(a.name) {
			continue
		}
		up, ok := v.grows(e, a.name)
		if !ok {
			return e, false
		}
		at := sym.Const(0)
		if up == greatest {
			at = sym.Sub(a.extent, sym.Const(1))
		}
		e = e.Subst(map[string]sym.Expr{a.name: at}, v.k.Facts)
	}
	used := map[string]bool{}
	e.Vars(used)
	for n := range used {
		if _, ok := v.lookup(n).(symbol); !ok {
			return e, false // a loaded integer, or the task's number among several axes
		}
	}
	return e, !e.Overflow()
}

// grows reports whether an expression grows with a variable or falls; false where it does neither for sure.
func (v *verifier) grows(e sym.Expr, name string) (up, ok bool) {
	terms, _ := e.Terms()
	signs := map[bool]bool{}
	for _, t := range terms {
		found := 0
		for _, a := range t.Atoms {
			x := sym.FromAtom(a)
			switch least, _ := x.Bounds(v.k.Facts); {
			case a.Kind == sym.AtomVar && a.Name == name:
				found++
			case x.Uses(name):
				return false, false
			case least < 0:
				found = 2 // of unknown sign where it meets the variable
			}
		}
		if !uses(t, name) {
			continue
		}
		if found != 1 {
			return false, false
		}
		signs[t.Coef > 0] = true
	}
	return signs[true], len(signs) == 1
}

func uses(t sym.Term, name string) bool {
	for _, a := range t.Atoms {
		if sym.FromAtom(a).Uses(name) {
			return true
		}
	}
	return false
}
