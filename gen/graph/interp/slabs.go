package interp

import "rules_dnn/gen/ir/te"

// slabs are a load's elements by the values of one loop, which is the index of one dimension: a slab is the others. Its indices are
// sums of a part for a point of the output and one for a place of the reduction. Where guards fail, or where the
// lanes are no neighbours in memory, slabs are copied, with the default around them and the lanes' dimension innermost.
type slabs struct {
	p      *program
	from   []float32
	shape  []int64
	index  []*form // by dimension
	axes   int     // how many of the loops are the output's
	deps   set
	pad    float32
	dim    int     // that the slabs' loop is the index of; -1: one slab is all
	low    []int64 // the least index of each dimension, and how many there are from it on
	size   []int64
	source []int64 // strides
	stride []int64 // of the copy, or of the source
	last   int     // the last dimension that is not the slabs'
	outer  []int   // dimensions of the copy but the last and the lanes'
	lanes  int     // the loop of the lanes, and its dimension and step there; -1: none
	inner  int
	phases int64
	copied bool
	memory []float32
}

// newSlabs is nil where the expression is no load of that kind.
func (r *run) newSlabs(s *te.Stage, shape, extents []int64, e te.Expr) (*slabs, error) {
	load, ok := e.(te.Load)
	if !ok {
		return nil, nil
	}
	p, err := r.newProgram(s, shape, extents)
	if err != nil {
		return nil, err
	}
	node, err := p.compile(load)
	if err != nil {
		return nil, err
	}
	f := node.(*fetch)
	b := &slabs{p: p, from: f.buf.F32, shape: f.buf.shape, axes: len(shape), deps: f.deps(), dim: -1, lanes: -1, inner: -1, phases: 1}
	if b.from == nil || len(f.check) > 0 || f.off.irregular != 0 {
		return nil, nil
	}
	if f.def != nil {
		k, ok := f.def.(*constant)
		if !ok {
			return nil, nil
		}
		b.pad = k.all.F32[0]
	}
	for d, x := range load.Index {
		at, err := p.form(x)
		if err != nil {
			return nil, err
		}
		if at.irregular != 0 || !b.bounded(at, d, load) {
			return nil, nil
		}
		b.index = append(b.index, at)
	}
	for _, g := range load.Guard { // each is the bounds of a dimension
		if !b.boundary(g, load) {
			return nil, nil
		}
	}
	return b, nil
}

// bounded notes the range of a dimension's index, which grows with the output's loops.
func (b *slabs) bounded(f *form, d int, load te.Load) bool {
	low, high := f.c, f.c
	for a, k := range f.coef {
		if a < b.axes && k < 0 {
			return false
		}
		if k < 0 {
			low += k * (b.p.extent[a] - 1)
		} else {
			high += k * (b.p.extent[a] - 1)
		}
	}
	b.low, b.size = append(b.low, low), append(b.size, high-low+1)
	return low >= 0 && high < b.shape[d] || len(load.Guard) > 0 && b.p.guarded(load, b.p.concrete(load.Index[d]), b.shape[d])
}

// boundary reports whether a guard holds wherever an index is inside its dimension.
func (b *slabs) boundary(g te.Within, load te.Load) bool {
	e := b.p.concrete(g.E)
	lo, isLo := b.p.concrete(g.Lo).Const()
	hi, isHi := b.p.concrete(g.Hi).Const()
	for d, x := range load.Index {
		if isLo && isHi && lo == 0 && hi == b.shape[d] && b.p.concrete(x).Equal(e) {
			return true
		}
	}
	return false
}

// leading is the loop that is the first dimension's index, or -1.
func (b *slabs) leading() int {
	if len(b.index) == 0 {
		return -1
	}
	for a, k := range b.index[0].coef {
		if k == 1 && b.slabBy(a) && b.dim == 0 {
			return a
		}
	}
	return -1
}

// slabBy makes the values of a loop the slabs, if it is the only loop of one dimension's index, and of no other's.
func (b *slabs) slabBy(loop int) bool {
	b.dim = -1
	for d, f := range b.index {
		switch {
		case !f.deps.has(loop):
		case b.dim >= 0 || f.deps != 1<<loop || f.coef[loop] != 1 || f.c != 0 || b.p.extent[loop] > b.shape[d]:
			return false
		default:
			b.dim = d
		}
	}
	return b.dim >= 0
}

// lane picks the loop whose outputs are lanes: the one that wastes the least of them, and of equal ones the last.
func (b *slabs) lane(own []int) (loop int, used float64) {
	loop = -1
	for _, a := range own {
		dims, alone := 0, true
		for _, f := range b.index {
			if f.deps.has(a) {
				dims++
				alone = alone && f.deps&(1<<b.axes-1) == 1<<a
			}
		}
		n := b.p.extent[a]
		share := float64(n) / float64(roundUp(n, lanes))
		if dims == 1 && alone && share >= used {
			loop, used = a, share
		}
	}
	return loop, used
}

// point is where the outputs' part of an element lies, and place the reduction's.
func (b *slabs) point(p *program) int64 {
	at := int64(0)
	for d, f := range b.index {
		x := int64(0)
		for a, k := range f.coef[:b.axes] {
			x += k * p.v[a]
		}
		if d == b.inner {
			x /= b.phases
		}
		if d != b.dim {
			at += x * b.stride[d]
		}
	}
	return at
}

func (b *slabs) place(p *program) int64 {
	at := int64(0)
	for d, f := range b.index {
		x := f.c - b.low[d]
		for a, k := range f.coef[b.axes:] {
			x += k * p.v[b.axes+a]
		}
		if d == b.inner {
			x = b.phase(x)
		}
		if d != b.dim {
			at += x * b.stride[d]
		}
	}
	return at
}

// phase is where an element of the innermost dimension lies: those that are a lane apart are side by side.
func (b *slabs) phase(x int64) int64 {
	if b.phases == 1 {
		return x
	}
	return x%b.phases*(roundUp(b.size[b.inner], b.phases)/b.phases) + x/b.phases
}
