package interp

import (
	"fmt"

	"rules_dnn/gen/ir/scalar"
)

// fetch loads elements of a tensor.
type fetch struct {
	buf   *buffer
	what  string
	off   *form
	check []bound // dimensions whose indices are not known to be inside
	guard []within
	def   node // nil without a guard
	needs set

	keep     []bool
	all, cut scalar.Vec
}

// bound is an index that must be in [0, extent).
type bound struct {
	dim    int
	index  *form
	extent int64
}

func (k *fetch) deps() set   { return k.needs }
func (k *fetch) risky() bool { return len(k.check) > 0 || k.def != nil && k.def.risky() }

func (k *fetch) eval(p *program) *scalar.Vec {
	if k.def == nil {
		return k.unguarded(p)
	}
	lo, hi, ok := p.clip(k.guard)
	if !ok {
		return k.perLane(p)
	}
	if lo >= hi {
		return k.def.eval(p)
	}
	if lo == 0 && hi == p.n {
		return k.unguarded(p)
	}
	if !k.straight(p) {
		return k.perLane(p)
	}
	return k.clipped(p, lo, hi)
}

func (k *fetch) straight(p *program) bool {
	for _, c := range k.check {
		if !c.index.straight(p) {
			return false
		}
	}
	return k.off.straight(p)
}

// unguarded loads all elements of the vector.
func (k *fetch) unguarded(p *program) *scalar.Vec {
	out := k.cut.Cut(&k.all, 0, p.n)
	if len(k.check) > 0 && p.mask != nil || !k.straight(p) {
		return k.scattered(p, out, p.mask)
	}
	if !k.inside(p, 0, p.n) {
		return out
	}
	k.line(p, out, k.off.at(p))
	return out
}

// line loads a straight run from off on; if it can, it makes v the memory itself.
func (k *fetch) line(p *program, v *scalar.Vec, off int64) {
	step := k.off.step(p)
	if !k.reads(p, off, step, v.Len()) {
		return
	}
	if step != 1 || !k.buf.Alias(v, off, int64(v.Len())) {
		k.buf.Load(v, off, step)
	}
}

// reads reports whether a run lies in the tensor. Indices were checked before, so what
// does not is after an error, or in elements that do not matter.
func (k *fetch) reads(p *program, off, step int64, n int) bool {
	end := off + step*int64(n-1)
	if min(off, end) >= 0 && max(off, end) < k.buf.N {
		return true
	}
	if p.mask == nil {
		p.fail(fmt.Errorf("elements %d to %d are outside of %s, whose shape is %v", off, end, k.what, k.buf.shape))
	}
	return false
}

// inside checks the indices at the ends of a straight run.
func (k *fetch) inside(p *program, lo, hi int) bool {
	for _, c := range k.check {
		x, step := c.index.at(p), c.index.step(p)
		for _, i := range [2]int{lo, hi - 1} {
			if y := x + step*int64(i); y < 0 || y >= c.extent {
				p.fail(k.outside(c, y))
				return false
			}
		}
	}
	return true
}

func (k *fetch) outside(c bound, x int64) error {
	return fmt.Errorf("index %d of dimension %d is outside of %s, whose shape is %v", x, c.dim, k.what, k.buf.shape)
}

// clipped takes the default before lo and from hi on.
func (k *fetch) clipped(p *program, lo, hi int) *scalar.Vec {
	out := k.cut.Cut(&k.all, 0, p.n)
	outer, n := p.mask, p.n
	if k.def.risky() {
		keep := k.keep[:n]
		for i := range keep {
			keep[i] = (i < lo || i >= hi) && (outer == nil || outer[i])
		}
		p.mask = keep
	}
	def := k.def.eval(p)
	p.mask = outer
	copyVec(out, def, 0, lo)
	copyVec(out, def, hi, n)
	if len(k.check) > 0 && outer != nil {
		return k.perLane(p)
	}
	step := k.off.step(p)
	off := k.off.at(p) + int64(lo)*step
	if k.inside(p, lo, hi) && k.reads(p, off, step, hi-lo) {
		var part scalar.Vec
		k.buf.Load(part.Cut(out, lo, hi), off, step)
	}
	return out
}

func copyVec(dst, src *scalar.Vec, lo, hi int) {
	switch {
	case dst.F32 != nil:
		copy(dst.F32[lo:hi], src.F32[lo:hi])
	case dst.F64 != nil:
		copy(dst.F64[lo:hi], src.F64[lo:hi])
	default:
		copy(dst.I64[lo:hi], src.I64[lo:hi])
	}
}

// scattered loads elements at offsets of any order, those of the mask.
func (k *fetch) scattered(p *program, out *scalar.Vec, mask []bool) *scalar.Vec {
	at := p.scratch(p.n)
	k.off.lanes(p, at)
	for i, m := range mask {
		if !m {
			at[i] = -1
		}
	}
	tmp := p.scratch(p.n)
	for _, c := range k.check {
		c.index.lanes(p, tmp)
		for i, x := range tmp {
			if (x < 0 || x >= c.extent) && (mask == nil || mask[i]) {
				p.fail(k.outside(c, x))
				at[i] = -1
			}
		}
	}
	for i, x := range at {
		if x >= k.buf.N || x < 0 {
			if at[i] = -1; mask == nil {
				p.fail(fmt.Errorf("element %d is outside of %s, whose shape is %v", x, k.what, k.buf.shape))
			}
		}
	}
	p.release(2)
	k.buf.Gather(out, at)
	return out
}

// perLane decides the guard element by element.
func (k *fetch) perLane(p *program) *scalar.Vec {
	p.hold(k.guard, k.keep[:p.n])
	return k.mixed(p, k.keep[:p.n], p.mask)
}

// mixed loads where keep holds and takes the default elsewhere.
func (k *fetch) mixed(p *program, keep, outer []bool) *scalar.Vec {
	out := k.cut.Cut(&k.all, 0, p.n)
	inside, rest := split(keep, outer)
	k.scattered(p, out, inside)
	p.mask = rest
	def := k.def.eval(p)
	p.mask = outer
	for i, m := range keep {
		if !m {
			copyVec(out, def, i, i+1)
		}
	}
	return out
}
