package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// within is lo <= e < hi.
type within struct{ e, lo, hi *form }

// conditions compiles conditions, all of which must hold.
func (p *program) conditions(ws []te.Within) (out []within, needs set, err error) {
	for _, g := range ws {
		var w within
		if w.e, err = p.form(g.E); err != nil {
			return nil, 0, err
		}
		if w.lo, err = p.form(g.Lo); err != nil {
			return nil, 0, err
		}
		if w.hi, err = p.form(g.Hi); err != nil {
			return nil, 0, err
		}
		p.forms = append(p.forms, w.e, w.lo, w.hi)
		needs |= p.resolve(w.e.deps | w.lo.deps | w.hi.deps)
		out = append(out, w)
	}
	return out, needs, nil
}

// branch compiles what is evaluated only where a condition holds: that its
// indices are outside is no error until they are used.
func (p *program) branch(e te.Expr) (node, error) {
	p.conditional++
	defer func() { p.conditional-- }()
	return p.compile(e)
}

// clip is the range [lo, hi) of the vector where all conditions hold; they may be
// no range, then ok is false.
func (p *program) clip(ws []within) (lo, hi int, ok bool) {
	hi = p.n
	for i := range ws {
		if !ws[i].straight(p) {
			return 0, 0, false
		}
		a, b := ws[i].clip(p)
		lo, hi = max(lo, a), min(hi, b)
	}
	return lo, hi, true
}

// hold reports for each element of the vector whether all conditions hold.
func (p *program) hold(ws []within, keep []bool) {
	for i := range keep {
		keep[i] = true
	}
	e, lo, hi := p.scratch(p.n), p.scratch(p.n), p.scratch(p.n)
	for i := range ws {
		ws[i].e.lanes(p, e)
		ws[i].lo.lanes(p, lo)
		ws[i].hi.lanes(p, hi)
		for j, x := range e {
			keep[j] = keep[j] && lo[j] <= x && x < hi[j]
		}
	}
	p.release(3)
}

// split makes masks of a decision and its opposite, within an outer mask.
func split(keep, outer []bool) (yes, no []bool) {
	yes, no = make([]bool, len(keep)), make([]bool, len(keep))
	for i, k := range keep {
		on := outer == nil || outer[i]
		yes[i], no[i] = k && on, !k && on
	}
	return yes, no
}

func (g *within) straight(p *program) bool {
	return g.e.straight(p) && g.lo.straight(p) && g.hi.straight(p) && g.lo.step(p) == 0 && g.hi.step(p) == 0
}

// clip is the range [a, b) of the vector where the condition holds.
func (g *within) clip(p *program) (a, b int) {
	e, step := g.e.at(p), g.e.step(p)
	lo, hi := g.lo.at(p)-e, g.hi.at(p)-e // lo <= step*i < hi
	switch {
	case step > 0:
		return clampTo(sym.CeilInt(lo, step), p.n), clampTo(sym.CeilInt(hi, step), p.n)
	case step < 0:
		return clampTo(sym.FloorInt(-hi, -step)+1, p.n), clampTo(sym.FloorInt(-lo, -step)+1, p.n)
	case lo <= 0 && 0 < hi:
		return 0, p.n
	}
	return 0, 0
}

func clampTo(x int64, n int) int { return int(min(max(x, 0), int64(n))) }

// choice evaluates one of two expressions by conditions on indices.
type choice struct {
	cond       []within
	then, rest node
	needs      set
	whole      bool // branches hold vectors that cannot be cut: Acc and In
	keep       []bool
	all, cut   scalar.Vec
}

func (p *program) choice(x te.Select) (node, error) {
	if x.Then == nil || x.Else == nil || x.Then.DType() != x.Else.DType() || x.Then.DType() == ir.Invalid {
		return nil, fmt.Errorf("a select needs two branches of one type")
	}
	k := &choice{keep: make([]bool, chunk), all: *scalar.NewVec(x.Then.DType(), chunk)}
	k.whole = p.accs == nil && joins(x)
	var err error
	if k.cond, k.needs, err = p.conditions(x.Cond); err != nil {
		return nil, err
	}
	if k.then, err = p.branch(x.Then); err != nil {
		return nil, err
	}
	if k.rest, err = p.branch(x.Else); err != nil {
		return nil, err
	}
	k.needs |= k.then.deps() | k.rest.deps()
	return k, nil
}

// joins reports whether an expression has accumulators, or what comes to them.
func joins(x te.Expr) bool {
	found := false
	te.Walk(x, func(e te.Expr) {
		switch e.(type) {
		case te.Acc, te.In:
			found = true
		}
	})
	return found
}

func (k *choice) deps() set   { return k.needs }
func (k *choice) risky() bool { return k.then.risky() || k.rest.risky() }

func (k *choice) eval(p *program) *scalar.Vec {
	lo, hi, ok := p.clip(k.cond)
	switch {
	case ok && lo == 0 && hi == p.n:
		return k.then.eval(p)
	case ok && lo >= hi:
		return k.rest.eval(p)
	case !ok || k.whole || p.bound():
		return k.perLane(p)
	}
	k.part(p, k.rest, 0, lo)
	k.part(p, k.then, lo, hi)
	k.part(p, k.rest, hi, p.n)
	return k.cut.Cut(&k.all, 0, p.n)
}

// bound reports whether a let variable has values along the vector.
func (p *program) bound() bool { return p.varying>>p.loops != 0 }

// part evaluates a branch for the elements [lo, hi) of the vector alone.
func (k *choice) part(p *program, branch node, lo, hi int) {
	if lo >= hi {
		return
	}
	n, mask := p.n, p.mask
	p.v[p.vec] += int64(lo)
	p.n = hi - lo
	if mask != nil {
		p.mask = mask[lo:hi]
	}
	v := branch.eval(p)
	p.v[p.vec] -= int64(lo)
	p.n, p.mask = n, mask
	var to scalar.Vec
	copyVec(to.Cut(&k.all, lo, hi), v, 0, hi-lo)
}

// perLane evaluates both branches, each for the elements that take it.
func (k *choice) perLane(p *program) *scalar.Vec {
	keep, outer := k.keep[:p.n], p.mask
	p.hold(k.cond, keep)
	yes, no := split(keep, outer)
	out := k.cut.Cut(&k.all, 0, p.n)
	p.mask = no
	copyVec(out, k.rest.eval(p), 0, p.n)
	p.mask = yes
	then := k.then.eval(p)
	p.mask = outer
	for i, y := range keep {
		if y {
			copyVec(out, then, i, i+1)
		}
	}
	return out
}
