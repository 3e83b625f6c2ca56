package interp

import (
	"fmt"
	"math/bits"

	"rules_dnn/gen/ir/sym"
)

// set is a set of slots: loops and let variables.
type set uint64

func (s set) has(slot int) bool { return s>>slot&1 != 0 }

// form is an index expression over slots with numbers for symbols:
// c + sum of coef*slot + sum of the rest.
type form struct {
	c    int64
	coef []int64 // by slot, as far as it goes
	rest []product
	// deps are all slots in the form; irregular those of the rest and let variables: when
	// one of them varies along the vector, the form is no line along it.
	deps, irregular set
}

// product is a factor times atoms, at least one of which is no slot or which are several.
type product struct {
	coef  int64
	atoms []atom
}

// atom is a slot (when kind is AtomVar) or an operation on two forms.
type atom struct {
	kind sym.AtomKind
	slot int
	a, b *form
}

// form compiles an expression whose variables are slots and symbols of the run.
func (p *program) form(e sym.Expr) (*form, error) {
	e = p.concrete(e)
	if e.Overflow() {
		return nil, fmt.Errorf("an index expression overflows 64 bits")
	}
	f := &form{coef: make([]int64, len(p.v), cap(p.v))}
	terms, c := e.Terms()
	f.c = c
	for _, t := range terms {
		if err := p.term(f, t); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (p *program) term(f *form, t sym.Term) error {
	pr := product{coef: t.Coef}
	var deps set
	for _, a := range t.Atoms {
		x := atom{kind: a.Kind, slot: -1}
		if a.Kind == sym.AtomVar {
			slot, ok := p.names[a.Name]
			if !ok {
				return fmt.Errorf("symbol %q of an index has no value", a.Name)
			}
			x.slot = slot
			deps |= 1 << slot
		} else {
			var err error
			if x.a, err = p.form(a.A); err != nil {
				return err
			}
			if x.b, err = p.form(a.B); err != nil {
				return err
			}
			deps |= x.a.deps | x.b.deps
		}
		pr.atoms = append(pr.atoms, x)
	}
	f.deps |= deps
	if len(pr.atoms) == 1 && pr.atoms[0].slot >= 0 {
		slot := pr.atoms[0].slot
		f.coef[slot] += t.Coef
		if slot >= p.loops {
			f.irregular |= deps
		}
		return nil
	}
	f.rest = append(f.rest, pr)
	f.irregular |= deps
	return nil
}

// concrete puts the run's numbers in for symbols and simplifies.
func (p *program) concrete(e sym.Expr) sym.Expr {
	if terms, _ := e.Terms(); p.plain(terms) {
		return e
	}
	return p.join(e.Subst(p.symbols, p.facts))
}

// plain reports whether the terms are slots times numbers.
func (p *program) plain(terms []sym.Term) bool {
	for _, t := range terms {
		if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomVar {
			return false
		}
		if _, ok := p.names[t.Atoms[0].Name]; !ok {
			return false
		}
	}
	return true
}

// join makes x out of (x//k)*k + x%k, which offsets into reshaped tensors hold.
func (p *program) join(e sym.Expr) sym.Expr {
	for {
		better, ok := p.joinOne(e)
		if !ok {
			return e
		}
		e = better
	}
}

func (p *program) joinOne(e sym.Expr) (sym.Expr, bool) {
	terms, _ := e.Terms()
	for _, t := range terms {
		if len(t.Atoms) != 1 || t.Atoms[0].Kind != sym.AtomMod {
			continue
		}
		a := t.Atoms[0]
		k, ok := a.B.Const()
		if !ok {
			continue
		}
		quotient := sym.Scale(sym.FloorDiv(a.A, a.B, p.facts), k)
		remainder := sym.Sub(a.A, quotient)
		// c*(A%k) + c*k*(A//k) - c*A is zero
		zero := sym.Scale(sym.Add(sym.Mod(a.A, a.B, p.facts), sym.Scale(remainder, -1)), t.Coef)
		better := sym.Sub(e, zero)
		if !better.Overflow() && size(better) < size(e) {
			return better, true
		}
	}
	return e, false
}

// size counts terms, and divisions and remainders as several.
func size(e sym.Expr) int {
	terms, _ := e.Terms()
	n := len(terms)
	for _, t := range terms {
		for _, a := range t.Atoms {
			if a.Kind != sym.AtomVar {
				n += 4
			}
		}
	}
	return n
}

// at is the form's value at the vector's first element. Let variables that vary
// along the vector count as zero; the caller asks straight first.
func (f *form) at(p *program) int64 {
	x := f.c
	for i, k := range f.coef {
		x += k * p.v[i]
	}
	for _, r := range f.rest {
		y := r.coef
		for _, a := range r.atoms {
			y *= a.at(p)
		}
		x += y
	}
	return x
}

func (a *atom) at(p *program) int64 {
	if a.slot >= 0 {
		return p.v[a.slot]
	}
	return p.apply(a.kind, a.a.at(p), a.b.at(p))
}

func (p *program) apply(kind sym.AtomKind, x, y int64) int64 {
	switch kind {
	case sym.AtomMin:
		return min(x, y)
	case sym.AtomMax:
		return max(x, y)
	}
	if y <= 0 {
		p.fail(fmt.Errorf("an index expression divides by %d", y))
		return 0
	}
	q := x / y
	if x%y < 0 {
		q--
	}
	if kind == sym.AtomDiv {
		return q
	}
	return x - y*q
}

// straight reports whether the form is a line along the vector.
func (f *form) straight(p *program) bool { return f.irregular&p.varying == 0 }

// step is the form's increase from one element of the vector to the next.
func (f *form) step(p *program) int64 {
	if p.vec < 0 {
		return 0
	}
	return f.coef[p.vec]
}

// lanes are the form's values along the vector.
func (f *form) lanes(p *program, dst []int64) {
	if f.straight(p) {
		x, step := f.at(p), f.step(p)
		for i := range dst {
			dst[i] = x
			x += step
		}
		return
	}
	for i := range dst {
		dst[i] = f.c
	}
	for slot, k := range f.coef {
		if k != 0 {
			p.addSlot(dst, slot, k)
		}
	}
	tmp, prod := p.scratch(len(dst)), p.scratch(len(dst))
	for _, r := range f.rest {
		for i := range prod {
			prod[i] = r.coef
		}
		for _, a := range r.atoms {
			a.lanes(p, tmp)
			for i := range prod {
				prod[i] *= tmp[i]
			}
		}
		for i := range dst {
			dst[i] += prod[i]
		}
	}
	p.release(2)
}

// addSlot adds k times the slot's values along the vector.
func (p *program) addSlot(dst []int64, slot int, k int64) {
	switch {
	case slot >= p.loops && p.varying.has(slot):
		for i, x := range p.lets[slot-p.loops].values[:len(dst)] {
			dst[i] += k * x
		}
	case slot == p.vec:
		x := k * p.v[slot]
		for i := range dst {
			dst[i] += x
			x += k
		}
	default:
		for i := range dst {
			dst[i] += k * p.v[slot]
		}
	}
}

func (a *atom) lanes(p *program, dst []int64) {
	if a.slot >= 0 {
		clear(dst)
		p.addSlot(dst, a.slot, 1)
		return
	}
	y := p.scratch(len(dst))
	a.a.lanes(p, dst)
	a.b.lanes(p, y)
	for i, x := range dst {
		dst[i] = p.apply(a.kind, x, y[i])
	}
	p.release(1)
}

// members calls f for each slot of the set.
func (s set) members(f func(slot int)) {
	for s != 0 {
		f(bits.TrailingZeros64(uint64(s)))
		s &= s - 1
	}
}
