package interp

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
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
