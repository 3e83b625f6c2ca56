package interp

import (
	"errors"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/scalar"
	"rules_dnn/gen/te"
)

// node is a compiled scalar expression. eval gives its values along the vector;
// they stay valid until the node's next eval and must not be changed.
type node interface {
	eval(p *program) *scalar.Vec
	// deps are the slots that the value depends on, let variables by what they are bound to.
	deps() set
	// risky reports that evaluation reports errors, so that it must be told by p.mask
	// which elements matter.
	risky() bool
}

// compile checks an expression and compiles it.
func (p *program) compile(e te.Expr) (node, error) {
	switch x := e.(type) {
	case te.Const:
		return literal(x)
	case te.Index:
		return p.index(x)
	case te.Load:
		return p.load(x)
	case te.Call:
		return p.call(x)
	case te.Let:
		return p.let(x)
	case te.Select:
		return p.choice(x)
	case te.Acc:
		if p.accs != nil {
			return p.loadAcc(x)
		}
		return &argument{from: &p.old, at: x.N}, p.checkArgument("Acc", x.N, x.Type)
	case te.In:
		return &argument{from: &p.in, at: x.N}, p.checkArgument("In", x.N, x.Type)
	}
	return nil, fmt.Errorf("an expression of type %T", e)
}

// constant is a literal: its vector is filled once.
type constant struct{ all, cut scalar.Vec }

func literal(x te.Const) (node, error) {
	if x.Type.Kind() == ir.KindNone {
		return nil, fmt.Errorf("a literal of type %s", x.Type)
	}
	v := scalar.NewVec(x.Type, chunk)
	for i := range v.F32 {
		v.F32[i] = float32(scalar.Value(x.Type, math.Float64frombits(x.Bits)))
	}
	for i := range v.F64 {
		v.F64[i] = math.Float64frombits(x.Bits)
	}
	for i := range v.I64 {
		v.I64[i] = int64(x.Bits)
	}
	if fix := scalar.Narrow(x.Type); fix != nil {
		fix(v)
	}
	return &constant{all: *v}, nil
}

func (k *constant) eval(p *program) *scalar.Vec { return k.cut.Cut(&k.all, 0, p.n) }
func (k *constant) deps() set                   { return 0 }
func (k *constant) risky() bool                 { return false }

// position is the value of an index expression.
type position struct {
	form     *form
	needs    set
	cast     scalar.Func
	raw      scalar.Vec
	arg      scalar.Vec
	args     [1]*scalar.Vec
	all, cut scalar.Vec
}

func (p *program) index(x te.Index) (node, error) {
	f, err := p.form(x.E)
	if err != nil {
		return nil, err
	}
	cast, err := scalar.Bind("cast", x.Type, []ir.DType{ir.I64})
	if err != nil {
		return nil, err
	}
	p.forms = append(p.forms, f)
	k := &position{form: f, needs: p.resolve(f.deps), cast: cast}
	k.raw, k.all, k.args[0] = *scalar.NewVec(ir.I64, chunk), *scalar.NewVec(x.Type, chunk), &k.arg
	return k, nil
}

func (k *position) eval(p *program) *scalar.Vec {
	k.arg.Cut(&k.raw, 0, p.n)
	k.form.lanes(p, k.arg.I64)
	out := k.cut.Cut(&k.all, 0, p.n)
	k.cast(out, k.args[:])
	return out
}
func (k *position) deps() set   { return k.needs }
func (k *position) risky() bool { return false }

// argument reads an accumulator or an incoming value while a reduction joins.
type argument struct {
	from *[]*scalar.Vec
	at   int
}

func (p *program) checkArgument(what string, n int, t ir.DType) error {
	if n < 0 || n >= len(p.stage.Values) {
		return fmt.Errorf("%s(%d) of a reduction with %d accumulators", what, n, len(p.stage.Values))
	}
	if want := p.stage.Values[n].DType(); t != want {
		return fmt.Errorf("%s(%d) is read as %s, but is %s", what, n, t, want)
	}
	return nil
}

func (k *argument) eval(*program) *scalar.Vec { return (*k.from)[k.at] }
func (k *argument) deps() set                 { return 0 }
func (k *argument) risky() bool               { return false }

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
	if len(p.v) >= 64 {
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
