package interp

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// let binds a checked integer to a slot while its body is evaluated.
type let struct {
	name        string
	slot        int
	value, body node
	lo, hi      *form
	unsigned    bool // the value is u64: its bits may be negative
	values      []int64
	bounds      [2][]int64
	binds       set // what value, lo and hi depend on
	needs       set
}

func (p *program) let(x te.Let) (node, error) {
	if x.Value == nil || x.Body == nil || !x.Value.DType().IsInteger() {
		return nil, fmt.Errorf("variable %s is not bound to an integer", x.Var)
	}
	if len(p.v) >= te.MaxVariables {
		return nil, fmt.Errorf("more than %d loops and bound variables", len(p.v))
	}
	if _, ok := p.names[x.Var]; ok {
		return nil, fmt.Errorf("variable %s is bound twice", x.Var)
	}
	k := &let{name: x.Var, unsigned: x.Value.DType() == ir.U64}
	var err error
	if k.value, err = p.compile(x.Value); err != nil {
		return nil, err
	}
	if k.lo, err = p.form(x.Lo); err != nil {
		return nil, err
	}
	if k.hi, err = p.form(x.Hi); err != nil {
		return nil, err
	}
	p.forms = append(p.forms, k.lo, k.hi)
	lo, _ := p.concrete(x.Lo).Bounds(p.facts)
	_, hi := p.concrete(x.Hi).Bounds(p.facts)
	k.binds = k.value.deps() | p.resolve(k.lo.deps|k.hi.deps)
	k.slot = len(p.v)
	p.v = append(p.v, 0)
	p.lets = append(p.lets, k)
	k.values = make([]int64, chunk)
	k.bounds = [2][]int64{make([]int64, chunk), make([]int64, chunk)}
	p.bind(x.Var, k.slot, lo, hi)
	k.body, err = p.compile(x.Body)
	delete(p.names, x.Var)
	delete(p.facts, x.Var)
	k.needs = k.binds
	if err == nil {
		k.needs |= k.body.deps()
	}
	return k, err
}

// resolve replaces let variables of the set by what their values depend on.
func (p *program) resolve(s set) set {
	out := s & (1<<p.loops - 1)
	(s &^ out).members(func(slot int) {
		out |= p.lets[slot-p.loops].binds
	})
	return out
}

func (k *let) eval(p *program) *scalar.Vec {
	n, mask := p.n, p.mask
	if !p.varying.has(k.slot) {
		if !k.single(p) {
			return k.body.eval(p)
		}
		p.n, p.mask = 1, nil
	}
	got := k.value.eval(p).I64
	lo, hi := k.bounds[0][:p.n], k.bounds[1][:p.n]
	k.lo.lanes(p, lo)
	k.hi.lanes(p, hi)
	for i, x := range got {
		if x < lo[i] || x > hi[i] || k.unsigned && x < 0 {
			if p.mask == nil || p.mask[i] {
				p.fail(k.outside(x, lo[i], hi[i]))
			}
			x = lo[i]
		}
		k.values[i] = x
	}
	p.v[k.slot] = k.values[0]
	p.n, p.mask = n, mask
	return k.body.eval(p)
}

// single reports whether any element needs a value that all share; if none does,
// the variable keeps some value that is in its bounds or fails unnoticed.
func (k *let) single(p *program) bool {
	if p.mask == nil {
		return true
	}
	for _, m := range p.mask {
		if m {
			return true
		}
	}
	p.v[k.slot] = k.lo.at(p)
	return false
}

func (k *let) outside(x, lo, hi int64) error {
	what := fmt.Sprint(x)
	if k.unsigned {
		what = fmt.Sprint(uint64(x))
	}
	return fmt.Errorf("index %s (variable %s) is outside of [%d, %d]", what, k.name, lo, hi)
}

func (k *let) deps() set   { return k.needs }
func (k *let) risky() bool { return true }
