package run

import "rules_dnn/gen/ir/sym"

// form is a compiled index expression: a constant, multiples of variables, and other terms.
type form struct {
	frame  *frame
	c      int64
	terms  []multiple
	others []func() int64
	along
	// moving are the variables that differ between lanes.
	moving []moving
	saved  []int64
}

type multiple struct {
	coef int64
	slot int
}

type moving struct {
	slot int
	along
}

// index compiles an index expression.
func (c *compiler) index(e sym.Expr) *form {
	if e.Overflow() {
		c.frame.fail("an index expression overflows 64 bits")
	}
	terms, constant := e.Terms()
	k := &form{frame: c.frame, c: constant}
	for _, t := range terms {
		c.term(k, t)
	}
	return k
}

func (c *compiler) term(k *form, t sym.Term) {
	coef := t.Coef
	var slots []int
	var factors []func() int64
	still := true
	for _, a := range t.Atoms {
		if a.Kind != sym.AtomVar {
			fn, same := c.atom(k, a)
			factors, still = append(factors, fn), still && same
			continue
		}
		if v, ok := c.symbols[a.Name]; ok {
			coef *= v
			continue
		}
		slots = append(slots, c.slot(a.Name))
	}
	switch {
	case len(slots)+len(factors) == 0:
		k.c += coef
		return
	case len(slots) == 1 && len(factors) == 0:
		k.terms = append(k.terms, multiple{coef, slots[0]})
		if w, ok := c.moves(k, slots[0]); ok {
			k.scattered = k.scattered || w.scattered
			k.step += coef * w.step
		}
		return
	}
	for _, s := range slots {
		_, moves := c.moves(k, s)
		still = still && !moves
	}
	k.scattered = k.scattered || !still
	k.others = append(k.others, product(c.frame, coef, slots, factors))
}

// slot is the variable's place; a name that is not in scope is an error.
func (c *compiler) slot(name string) int {
	slot, ok := c.lookup(name).(int)
	if !ok {
		c.frame.fail("no variable %q is in scope, and no symbol in the kernel's list", name)
	}
	return slot
}

// moves reports whether a variable differs between the lanes, and notes it.
func (c *compiler) moves(k *form, slot int) (along, bool) {
	w, ok := c.varying[slot]
	if ok {
		k.moving = append(k.moving, moving{slot, w})
	}
	return w, ok
}

func product(f *frame, coef int64, slots []int, factors []func() int64) func() int64 {
	return func() int64 {
		p := coef
		for _, s := range slots {
			p *= f.v[s]
		}
		for _, fn := range factors {
			p *= fn()
		}
		return p
	}
}

// atom compiles a division, remainder, minimum or maximum, and reports whether it is the same for all lanes.
func (c *compiler) atom(k *form, a *sym.Atom) (fn func() int64, same bool) {
	x, y := c.index(a.A), c.index(a.B)
	k.moving = append(append(k.moving, x.moving...), y.moving...)
	same = len(x.moving)+len(y.moving) == 0
	switch a.Kind {
	case sym.AtomMin:
		return func() int64 { return min(x.base(), y.base()) }, same
	case sym.AtomMax:
		return func() int64 { return max(x.base(), y.base()) }, same
	case sym.AtomMod:
		return func() int64 {
			p, q := x.base(), y.base()
			return p - q*c.frame.floorDiv(p, q)
		}, same
	}
	return func() int64 { return c.frame.floorDiv(x.base(), y.base()) }, same
}

func (f *frame) floorDiv(a, b int64) int64 {
	if b <= 0 {
		f.fail("%d is divided by %d", a, b)
	}
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// base is the value at the variables' values as they stand: at the first lane.
func (k *form) base() int64 {
	sum := k.c
	for _, t := range k.terms {
		sum += t.coef * k.frame.v[t.slot]
	}
	for _, fn := range k.others {
		sum += fn()
	}
	return sum
}

// uniform reports whether all lanes have one value.
func (k *form) uniform() bool { return !k.scattered && k.step == 0 }

// line is the value at lane lo and the step from lane to lane of a form that is not scattered.
func (k *form) line(lo int) (at, step int64) { return k.base() + k.step*int64(lo), k.step }

// at is the value at one lane.
func (k *form) at(lane int) int64 {
	if !k.scattered {
		at, _ := k.line(lane)
		return at
	}
	v := k.frame.v
	k.saved = k.saved[:0]
	for _, m := range k.moving {
		k.saved = append(k.saved, v[m.slot])
	}
	for i, m := range k.moving {
		if m.scattered {
			v[m.slot] = k.frame.lanes[m.slot][lane]
		} else {
			v[m.slot] = k.saved[i] + m.step*int64(lane)
		}
	}
	x := k.base()
	for i, m := range k.moving {
		v[m.slot] = k.saved[i]
	}
	return x
}

// fill gives the values of lanes lo to hi at their places in dst.
func (k *form) fill(dst []int64, lo, hi int) {
	if k.scattered {
		for i := lo; i < hi; i++ {
			dst[i] = k.at(i)
		}
		return
	}
	x, step := k.line(lo)
	for i := lo; i < hi; i++ {
		dst[i] = x
		x += step
	}
}
