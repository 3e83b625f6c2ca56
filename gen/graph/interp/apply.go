package interp

import (
	"errors"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// apply is a scalar function of nodes.
type apply struct {
	fn       scalar.Func
	args     []node
	vecs     []*scalar.Vec
	needs    set
	perilous bool
	masked   bool // a select whose branches are risky
	divides  bool // integers, by what may be 0
	steady   bool // its arguments are vectors of any length: no Acc and In
	keep     []bool
	all, cut scalar.Vec
	to       *scalar.Vec // where results go instead; nil: nowhere else
}

func (p *program) call(x te.Call) (node, error) {
	k := &apply{vecs: make([]*scalar.Vec, len(x.Args)), divides: x.Divides()}
	k.perilous = k.divides
	types := make([]ir.DType, len(x.Args))
	for i, e := range x.Args {
		compile := p.compile
		if x.Fn == "select" && i > 0 {
			compile = p.branch
		}
		a, err := compile(e)
		if err != nil {
			return nil, err
		}
		types[i] = e.DType()
		k.args = append(k.args, a)
		k.needs |= a.deps()
		k.perilous = k.perilous || a.risky()
	}
	fn, err := scalar.Bind(x.Fn, x.Type, types)
	if err != nil {
		return nil, err
	}
	if a, c := p.pick(x, k); a != nil || c != nil {
		return a, c
	}
	k.fn, k.all = fn, *scalar.NewVec(x.Type, chunk)
	k.steady = !k.perilous && (p.accs != nil || !joins(x))
	if x.Fn == "select" && (k.args[1].risky() || k.args[2].risky()) {
		k.masked, k.keep = true, make([]bool, chunk)
	}
	return k, nil
}

func (k *apply) eval(p *program) *scalar.Vec {
	if k.to == nil && k.steady && k.needs&p.varying == 0 && p.n > 1 && p.mask == nil {
		return k.once(p)
	}
	for i, a := range k.args {
		if k.masked && i > 0 {
			k.vecs[i] = k.taken(p, a, i == 1)
			continue
		}
		k.vecs[i] = a.eval(p)
	}
	if k.divides {
		k.checkDivisors(p)
	}
	out := k.to
	if out == nil {
		out = k.cut.Cut(&k.all, 0, p.n)
	}
	k.fn(out, k.vecs)
	return out
}

// into makes the next evaluation write to v. The node is the root of an expression: nothing else evaluates it.
func (k *apply) into(v *scalar.Vec) { k.to = v }

// once evaluates what is the same for the whole vector a single time.
func (k *apply) once(p *program) *scalar.Vec {
	n := p.n
	p.n = 1
	for i, a := range k.args {
		k.vecs[i] = a.eval(p)
	}
	out := k.cut.Cut(&k.all, 0, 1)
	k.fn(out, k.vecs)
	p.n = n
	out.Cut(&k.all, 0, n)
	switch {
	case out.F32 != nil:
		scalar.Fill(out.F32, out.F32[0])
	case out.F64 != nil:
		scalar.Fill(out.F64, out.F64[0])
	default:
		scalar.Fill(out.I64, out.I64[0])
	}
	return out
}

// ErrDivision is what an evaluation fails with that divides an integer by 0.
var ErrDivision = errors.New("an integer is divided by 0")

// checkDivisors refuses a division by 0 in an element that matters.
func (k *apply) checkDivisors(p *program) {
	for i, x := range k.vecs[1].I64[:p.n] {
		if x == 0 && (p.mask == nil || p.mask[i]) {
			p.fail(ErrDivision)
			return
		}
	}
}

// taken evaluates a branch of a select for the elements that take it.
func (k *apply) taken(p *program, a node, taken bool) *scalar.Vec {
	outer := p.mask
	keep := k.keep[:p.n]
	for i, c := range k.vecs[0].I64 {
		keep[i] = (c != 0) == taken && (outer == nil || outer[i])
	}
	p.mask = keep
	v := a.eval(p)
	p.mask = outer
	return v
}

func (k *apply) deps() set   { return k.needs }
func (k *apply) risky() bool { return k.perilous }
