package grad

import (
	"fmt"
	"sort"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// preimage is the points of loops that load one element J of a tensor: the loops as expressions of J and of free loops,
// on conditions.
//
// Each dimension's index is an equation of loops, c + sum of a*v = J. Where the loops are digits of a number, every a
// more than all that the lesser ones add up to, it has one solution at most: v is what J - c divided by a leaves, if
// that lies in v's range and the last remainder is 0. That is the inverse of reshapes, of strides, of groups and of
// windows that do not overlap. Where they are none, as those of a window are, the shortest loop becomes free: the
// gradient sums over it. Loops that no dimension mentions are free as well.
type preimage struct {
	facts  sym.Facts
	extent map[string]int64
	open   []string // loops to be solved
	at     map[string]sym.Expr
	free   []te.Axis
	conds  []te.Within
	pieces int
}

// wanted is the name of the element's place along a dimension, while the loops keep theirs.
func wanted(d int) string { return fmt.Sprint("J", d) }

// invert solves the load's index map; false where it is none that is solved.
func invert(l *loaded, to []te.Axis) (*preimage, bool) {
	p := &preimage{facts: facts(l.axes), extent: map[string]int64{}, at: map[string]sym.Expr{}}
	for _, a := range l.axes {
		n, _ := a.Extent.Const()
		if n < 1 {
			return nil, false
		}
		p.extent[a.Var] = n
		p.open = append(p.open, a.Var)
	}
	for d, a := range to {
		n, _ := a.Extent.Const()
		p.facts[wanted(d)] = sym.Range{Lo: 0, Hi: n - 1}
	}
	index := append([]sym.Expr{}, l.load.Index...)
	if !p.splitDigits(index) {
		return nil, false
	}
	equations := make([]*equation, len(index))
	for d, e := range index {
		var ok bool
		if equations[d], ok = p.equation(e, sym.Var(wanted(d))); !ok {
			return nil, false
		}
	}
	p.solve(equations)
	for len(p.open) > 0 {
		p.release(p.open[0])
	}
	return p, true
}

// splitDigits makes two loops of each that indices divide, or take remainders of: its digits. It changes the indices.
func (p *preimage) splitDigits(index []sym.Expr) bool {
	for range 64 {
		v, k := p.divided(index)
		if v == "" {
			return true
		}
		n := p.extent[v]
		if n%k != 0 {
			return false
		}
		hi, lo := fmt.Sprint("H", p.pieces), fmt.Sprint("L", p.pieces)
		p.pieces++
		p.extent[hi], p.extent[lo] = n/k, k
		p.facts[hi], p.facts[lo] = sym.Range{Lo: 0, Hi: n/k - 1}, sym.Range{Lo: 0, Hi: k - 1}
		whole := sym.Add(sym.Scale(sym.Var(hi), k), sym.Var(lo))
		p.set(v, whole)
		p.open = append(p.open, hi, lo)
		for d := range index {
			index[d] = index[d].Subst(map[string]sym.Expr{v: whole}, p.facts)
		}
	}
	return false
}

// divided is a loop in the indices that is divided by a number, and the least such number.
func (p *preimage) divided(index []sym.Expr) (loop string, by int64) {
	var visit func(e sym.Expr)
	visit = func(e sym.Expr) {
		terms, _ := e.Terms()
		for _, t := range terms {
			for _, a := range t.Atoms {
				if a.Kind == sym.AtomVar {
					continue
				}
				v, isVar := a.A.AsVar()
				k, isConst := a.B.Const()
				if isVar && isConst && (a.Kind == sym.AtomDiv || a.Kind == sym.AtomMod) && (loop == "" || k < by) {
					loop, by = v, k
				}
				visit(a.A)
			}
		}
	}
	for _, e := range index {
		visit(e)
	}
	return loop, by
}

// equation is sum of coef*loop = right.
type equation struct {
	coef  map[string]int64
	right sym.Expr
	done  bool
}

// equation makes one of an index that is a sum of loops times numbers.
func (p *preimage) equation(index, value sym.Expr) (*equation, bool) {
	terms, c := index.Terms()
	if index.Overflow() {
		return nil, false
	}
	q := &equation{coef: map[string]int64{}, right: sym.Sub(value, sym.Const(c))}
	for _, t := range terms {
		if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomVar {
			return nil, false
		}
		v := t.Atoms[0].Name
		if _, known := p.extent[v]; !known {
			return nil, false // a loaded integer
		}
		q.coef[v] += t.Coef
	}
	return q, true
}

// solve decodes the equations, one after the other, and sets loops free where none can be decoded.
func (p *preimage) solve(equations []*equation) {
	for {
		decoded, short := false, ""
		for _, q := range equations {
			if q.done {
				continue
			}
			left := p.unsolved(q)
			if digits(left) {
				p.decode(q, left)
				decoded = true
				continue
			}
			for _, x := range left {
				if short == "" || p.extent[x.loop] < p.extent[short] {
					short = x.loop
				}
			}
		}
		switch {
		case decoded:
		case short == "":
			return
		default:
			p.release(short)
		}
	}
}

// digit is a loop of an equation: a positive coefficient, of the loop or of what it lacks of its last value.
type digit struct {
	loop    string
	coef    int64
	extent  int64
	flipped bool
}

// unsolved are the equation's loops that are open yet, by falling coefficient.
func (p *preimage) unsolved(q *equation) []digit {
	var out []digit
	for _, v := range p.open {
		if c := q.coef[v]; c != 0 {
			out = append(out, digit{loop: v, coef: max(c, -c), extent: p.extent[v], flipped: c < 0})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].coef > out[j].coef })
	return out
}

// digits reports whether the loops' values are digits of one number: none overlaps those below it.
func digits(left []digit) bool {
	below := int64(0)
	for i := len(left) - 1; i >= 0; i-- {
		if left[i].coef <= below {
			return false
		}
		below += left[i].coef * (left[i].extent - 1)
	}
	return true
}

// decode solves an equation for its open loops.
func (p *preimage) decode(q *equation, left []digit) {
	rest := q.right
	for _, v := range sortedLoops(q.coef) {
		if e, known := p.at[v]; known {
			rest = sym.Sub(rest, sym.Scale(e, q.coef[v]))
		}
	}
	for _, x := range left {
		if x.flipped {
			rest = sym.Add(rest, sym.Const(x.coef*(x.extent-1)))
		}
	}
	for _, x := range left {
		k := sym.Const(x.coef)
		value := sym.FloorDiv(rest, k, p.facts)
		rest = sym.Mod(rest, k, p.facts)
		p.require(value, x.extent)
		switch {
		case x.extent == 1: // what it is required to be
			value = sym.Const(0)
		case x.flipped:
			value = sym.Sub(sym.Const(x.extent-1), value)
		}
		p.set(x.loop, value)
	}
	p.require(rest, 1)
	q.done = true
}

func sortedLoops(m map[string]int64) []string {
	out := make([]string, 0, len(m))
	for v := range m {
		out = append(out, v)
	}
	sort.Strings(out)
	return out
}

// require adds the condition 0 <= e < n, unless it is certain.
func (p *preimage) require(e sym.Expr, n int64) {
	if lo, hi := e.Bounds(p.facts); lo < 0 || hi >= n {
		p.conds = append(p.conds, te.Within{E: e, Lo: sym.Const(0), Hi: sym.Const(n)})
	}
}

// release makes a loop free.
func (p *preimage) release(v string) {
	if p.extent[v] == 1 {
		p.set(v, sym.Const(0))
		return
	}
	name := fmt.Sprint("F", len(p.free))
	p.free = append(p.free, te.Axis{Var: name, Extent: sym.Const(p.extent[v])})
	p.facts[name] = sym.Range{Lo: 0, Hi: p.extent[v] - 1}
	p.set(v, sym.Var(name))
}

// set gives a loop its value.
func (p *preimage) set(v string, e sym.Expr) {
	p.at[v] = e
	for i, o := range p.open {
		if o == v {
			p.open = append(append([]string{}, p.open[:i]...), p.open[i+1:]...)
			break
		}
	}
	m := map[string]sym.Expr{v: e}
	for name, x := range p.at {
		if name != v && x.Uses(v) { // the digits of a loop that was split
			p.at[name] = x.Subst(m, p.facts)
		}
	}
}
