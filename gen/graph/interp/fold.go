package interp

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// fold is a reduction by its combiner, in row-major order of the reduction axes.
type fold struct {
	p            *program
	out, red     []int
	to           *form
	accs         []*buffer
	init, values []node
	join         []node            // for combiners of any kind
	simple       []scalar.Func     // Join[k] is a function of Acc(k) and In(k): applied in place
	names        []string          // the function's name
	state        []*scalar.Vec     // accumulators, one vector each
	narrow       func(*scalar.Vec) // for the first, if an integer: wraps sums
	args         [2]*scalar.Vec
	empty        bool
}

func (r *run) newFold(s *te.Stage, shape, extents []int64, accs []*ir.Tensor) (*fold, error) {
	p, err := r.newProgram(s, shape, extents)
	if err != nil {
		return nil, err
	}
	f := &fold{p: p, out: p.slots(0, len(shape)), red: p.slots(len(shape), p.loops), empty: slices.Contains(extents, 0)}
	f.to = p.rowMajor(f.out)
	for k, v := range s.Values {
		if err := f.accumulator(s, k, v, accs[k]); err != nil {
			return nil, err
		}
	}
	if t := s.Values[0].DType(); t.IsInteger() {
		f.narrow = scalar.Narrow(t)
	}
	p.merge(f.out)
	if !f.empty {
		p.merge(f.red)
	}
	return f, nil
}

// accumulator compiles what accumulator k needs.
func (f *fold) accumulator(s *te.Stage, k int, v te.Expr, acc *ir.Tensor) error {
	b, err := bufferOf(acc)
	if err != nil {
		return err
	}
	init, err := f.p.compile(s.Combine.Init[k])
	if err != nil {
		return err
	}
	join, err := f.p.compile(s.Combine.Join[k])
	if err != nil {
		return err
	}
	f.accs, f.init, f.join = append(f.accs, b), append(f.init, init), append(f.join, join)
	f.state = append(f.state, scalar.NewVec(v.DType(), chunk))
	f.simple, f.names = append(f.simple, nil), append(f.names, "")
	if c, ok := s.Combine.Join[k].(te.Call); ok && len(c.Args) == 2 && c.Args[0] == te.Expr(te.Acc{N: k, Type: v.DType()}) &&
		c.Args[1] == te.Expr(te.In{N: k, Type: v.DType()}) {
		if f.simple[k], err = scalar.Bind(c.Fn, c.Type, []ir.DType{v.DType(), v.DType()}); err != nil {
			return err
		}
		if quick(c.Fn, v.DType()) {
			f.names[k] = c.Fn
		}
	}
	if f.empty {
		return nil // values have no index to be evaluated at
	}
	value, err := f.p.compile(v)
	f.values = append(f.values, value)
	return err
}

// run reduces for the vectors [from, to) of outputs: units says how many there are.
func (f *fold) run(from, to int64) error {
	if vec, along := f.chooseVector(); along {
		return f.alongReduction(vec, from, to)
	}
	return f.acrossOutputs(f.p.longAxis(f.out), from, to)
}

// units is how many vectors of outputs there are, and points how often values are evaluated.
func (f *fold) units() (units, points int64) {
	points = 1
	for _, a := range f.out {
		points *= f.p.extent[a]
	}
	for _, a := range f.red {
		points *= f.p.extent[a]
	}
	if _, along := f.chooseVector(); along {
		return f.p.units(f.out, -1), points
	}
	vec := f.p.longAxis(f.out)
	return f.p.units(without(f.out, vec), vec), points
}

// foldAll reduces by the workers.
func (r *run) foldAll(s *te.Stage, shape, extents []int64, accs []*ir.Tensor) error {
	first, err := r.newFold(s, shape, extents, accs)
	if err != nil {
		return err
	}
	units, points := first.units()
	return r.share(units, points, func() (func(from, to int64) error, error) {
		f := first
		if first = nil; f == nil {
			if f, err = r.newFold(s, shape, extents, accs); err != nil {
				return nil, err
			}
		}
		return f.run, nil
	})
}

// chooseVector decides between a vector of outputs, joined element by element
// with the reduction outside, and one along the reduction, which is then summed up.
func (f *fold) chooseVector() (vec int, along bool) {
	p := f.p
	out, red := p.longAxis(f.out), -1
	for _, a := range f.red {
		if p.extent[a] > 1 {
			red = a // the innermost: the order must be row-major
		}
	}
	if red < 0 || f.empty {
		return -1, false
	}
	if out < 0 || p.extent[out] < 4 {
		return red, true
	}
	if p.extent[red] < 16 || slices.Contains(f.names, "") {
		return -1, false
	}
	for _, form := range p.forms {
		if form.coef[red] == 1 && form.coef[out] == 1 {
			return -1, false
		}
	}
	return red, p.extent[out] < 16 || p.contiguous(red) && !f.side(out)
}

// side reports whether what the reduction runs over lies side by side for neighbouring outputs. What is loaded once for an
// output, as a mean is, does not count.
func (f *fold) side(out int) bool {
	var red set
	for _, a := range f.red {
		if f.p.extent[a] > 1 {
			red |= 1 << a
		}
	}
	return slices.ContainsFunc(f.p.forms, func(x *form) bool { return x.coef[out] == 1 && x.deps&red != 0 })
}

// contiguous reports whether a form runs along the loop by ones.
func (p *program) contiguous(loop int) bool {
	return slices.ContainsFunc(p.forms, func(f *form) bool { return f.coef[loop] == 1 })
}

// acrossOutputs keeps a vector of accumulators.
func (f *fold) acrossOutputs(vec int, from, to int64) error {
	p := f.p
	p.setVector(vec)
	return p.walk(without(f.out, vec), vec, from, to, func() error {
		f.start()
		if !f.empty {
			if err := p.odometer(f.red, f.step); err != nil {
				return err
			}
		}
		return f.finish()
	})
}

// start sets the accumulators to the neutral tuple.
func (f *fold) start() {
	f.p.old = f.p.old[:0]
	for k, init := range f.init {
		v := new(scalar.Vec).Cut(f.state[k], 0, f.p.n)
		copyVec(v, init.eval(f.p), 0, f.p.n)
		f.p.old = append(f.p.old, v)
	}
}

// step joins one vector of values.
func (f *fold) step() error {
	f.p.in = f.p.in[:0]
	for _, value := range f.values {
		f.p.in = append(f.p.in, value.eval(f.p))
	}
	f.joinVectors()
	return f.p.err
}

func (f *fold) joinVectors() {
	p := f.p
	if !slices.ContainsFunc(f.simple, func(fn scalar.Func) bool { return fn == nil }) {
		for k, fn := range f.simple {
			f.args = [2]*scalar.Vec{p.old[k], p.in[k]}
			fn(p.old[k], f.args[:])
		}
		return
	}
	joined := make([]*scalar.Vec, len(f.join))
	for k, j := range f.join {
		joined[k] = j.eval(p)
	}
	for k, v := range joined {
		copyVec(p.old[k], v, 0, p.n)
	}
}

// finish writes the accumulators.
func (f *fold) finish() error {
	p := f.p
	for k, b := range f.accs {
		b.Store(p.old[k], f.to.at(p), f.to.step(p))
	}
	return p.err
}

// alongReduction keeps one accumulator and joins the elements of a vector to it.
func (f *fold) alongReduction(vec int, from, to int64) error {
	p := f.p
	p.setVector(vec)
	outer := without(f.red, vec)
	return p.walk(f.out, -1, from, to, func() error {
		p.n = 1
		f.start()
		err := p.odometer(outer, func() error { return p.chunks(vec, f.sumUp) })
		if err != nil {
			return err
		}
		p.n = 1
		for k, b := range f.accs {
			b.Store(p.old[k], f.to.at(p), 0)
		}
		return nil
	})
}

// sumUp joins the values along the vector to the accumulators, in order.
func (f *fold) sumUp() error {
	p := f.p
	if len(f.values) == 1 && f.names[0] != "" {
		quickFold(f.names[0], p.old[0], f.values[0].eval(p))
		if f.narrow != nil {
			f.narrow(p.old[0])
		}
		return p.err
	}
	all := make([]*scalar.Vec, len(f.values))
	for k, value := range f.values {
		all[k] = value.eval(p)
	}
	if p.err != nil {
		return p.err
	}
	n := p.n
	p.n = 1
	p.in = p.in[:0]
	for range all {
		p.in = append(p.in, new(scalar.Vec))
	}
	for i := range n {
		for k, v := range all {
			p.in[k].Cut(v, i, i+1)
		}
		f.joinVectors()
	}
	p.n = n
	return p.err
}
