package run

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// node is a compiled scalar expression. eval gives a vector whose lanes lo to hi are computed;
// it is valid until the next eval and must not be changed.
type node interface {
	eval(lo, hi int) *scalar.Vec
}

// expr compiles an expression, which must have type want.
func (c *compiler) expr(e te.Expr, want ir.DType) node {
	if e == nil || e.DType() != want {
		c.frame.fail("an expression of type %v where the kernel wants %s", typeOf(e), want)
	}
	switch x := e.(type) {
	case te.Const:
		return c.literal(x)
	case te.Index:
		return c.position(x)
	case te.Call:
		return c.call(x)
	case te.Select:
		k := &choice{cond: c.condition(x.Cond), out: c.vec(want)}
		k.then, k.other = c.expr(x.Then, want), c.expr(x.Else, want)
		return k
	case loop.Mem:
		return c.fetch(x)
	case loop.Near: // what the other item stored before this nest of loops began
		return c.fetch(loop.Mem{Buf: x.Buf, Index: x.Place()})
	case loop.Ref:
		return c.ref(x)
	}
	c.frame.fail("an expression of type %T", e)
	return nil
}

func typeOf(e te.Expr) any {
	if e == nil {
		return "nothing"
	}
	return e.DType()
}

// constant is a literal: its vector is filled once.
type constant struct{ all scalar.Vec }

func (k *constant) eval(int, int) *scalar.Vec { return &k.all }

func (c *compiler) literal(x te.Const) node {
	v := c.vec(x.Type)
	for i := range c.width {
		switch {
		case v.F32 != nil:
			v.F32[i] = float32(scalar.Value(x.Type, math.Float64frombits(x.Bits)))
		case v.F64 != nil:
			v.F64[i] = math.Float64frombits(x.Bits)
		default:
			v.I64[i] = int64(x.Bits)
		}
	}
	if fix := scalar.Narrow(x.Type); fix != nil {
		fix(&v)
	}
	return &constant{v}
}

// position is the value of an index expression.
type position struct {
	form     *form
	cast     scalar.Func
	raw, out scalar.Vec
	dst, arg scalar.Vec
	args     [1]*scalar.Vec
}

func (c *compiler) position(x te.Index) node {
	cast, err := scalar.Bind("cast", x.Type, []ir.DType{ir.I64})
	if err != nil {
		c.frame.fail("%v", err)
	}
	k := &position{form: c.index(x.E), cast: cast, raw: c.vec(ir.I64), out: c.vec(x.Type)}
	k.args[0] = &k.arg
	return k
}

func (k *position) eval(lo, hi int) *scalar.Vec {
	k.form.fill(k.raw.I64, lo, hi)
	k.arg.Cut(&k.raw, lo, hi)
	k.cast(k.dst.Cut(&k.out, lo, hi), k.args[:])
	return &k.out
}

// apply is a scalar function.
type apply struct {
	fn       scalar.Func
	args     []node
	cuts     []*scalar.Vec
	divides  bool // integers, by what may be 0, which is what the run fails with
	frame    *frame
	out, dst scalar.Vec
}

func (c *compiler) call(x te.Call) node {
	k := &apply{out: c.vec(x.Type), divides: x.Divides(), frame: c.frame}
	var types []ir.DType
	for _, a := range x.Args {
		types = append(types, a.DType())
		k.args = append(k.args, c.expr(a, a.DType()))
		k.cuts = append(k.cuts, &scalar.Vec{})
	}
	fn, err := scalar.Bind(x.Fn, x.Type, types)
	if err != nil {
		c.frame.fail("%v", err)
	}
	k.fn = fn
	return k
}

func (k *apply) eval(lo, hi int) *scalar.Vec {
	for i, a := range k.args {
		k.cuts[i].Cut(a.eval(lo, hi), lo, hi)
	}
	if k.divides && slices.Contains(k.cuts[1].I64, 0) {
		k.frame.bad = true
	}
	k.fn(k.dst.Cut(&k.out, lo, hi), k.cuts)
	return &k.out
}

// choice is a te.Select: each lane evaluates one arm.
type choice struct {
	cond        *condition
	then, other node
	out         scalar.Vec
}

func (k *choice) eval(lo, hi int) *scalar.Vec {
	if k.cond.uniform {
		if k.cond.holds(lo) {
			return k.then.eval(lo, hi)
		}
		return k.other.eval(lo, hi)
	}
	k.cond.runs(lo, hi, func(truth bool, lo, hi int) {
		arm := k.then
		if !truth {
			arm = k.other
		}
		copyVec(&k.out, arm.eval(lo, hi), lo, hi)
	})
	return &k.out
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

// fetch is a load.
type fetch struct {
	mem *memory
	at  *place
	out scalar.Vec
}

func (c *compiler) fetch(x loop.Mem) node {
	return &fetch{c.memory(x.Buf), c.place(x.Buf, x.Index, x.Texel), c.vec(x.Buf.Type)}
}

func (k *fetch) eval(lo, hi int) *scalar.Vec {
	k.at.check(lo, hi)
	if !k.at.scattered {
		off, step := k.at.line(lo)
		k.mem.load(&k.out, off, step, lo, hi)
		return &k.out
	}
	for i := lo; i < hi; i++ {
		k.mem.load(&k.out, k.at.at(i), 0, i, i+1)
	}
	return &k.out
}

// ref reads a variable.
func (c *compiler) ref(x loop.Ref) node {
	v, ok := c.lookup(x.Name).(*variable)
	if !ok {
		c.frame.fail("no variable %q is defined here", x.Name)
	}
	if v.t != x.Type {
		c.frame.fail("%q is read as %s, but is %s", x.Name, x.Type, v.t)
	}
	if v.width == c.width {
		return &own{v}
	}
	return &broadcast{v, c.vec(v.t)}
}

// own is a variable with a value for each lane.
type own struct{ v *variable }

func (k *own) eval(int, int) *scalar.Vec { return &k.v.vec }

// broadcast is a variable from outside of the vector loop.
type broadcast struct {
	v   *variable
	out scalar.Vec
}

func (k *broadcast) eval(lo, hi int) *scalar.Vec {
	for i := lo; i < hi; i++ {
		switch {
		case k.out.F32 != nil:
			k.out.F32[i] = k.v.vec.F32[0]
		case k.out.F64 != nil:
			k.out.F64[i] = k.v.vec.F64[0]
		default:
			k.out.I64[i] = k.v.vec.I64[0]
		}
	}
	return &k.out
}
