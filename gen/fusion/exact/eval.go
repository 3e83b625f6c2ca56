package exact

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// points are some values of a space's leaves, of each a vector.
type points struct {
	leaves []*scalar.Vec
	n      int
}

// all are the points of a space.
func (s *space) all() *points {
	p := &points{n: s.count()}
	within := 1 // how many points in a row have the same value
	for _, l := range s.leaves {
		count := int(l.count())
		v := scalar.NewVec(l.expr.DType(), p.n)
		for i := range v.F32 {
			v.F32[i] = l.floats[i/within%count]
		}
		for i := range v.I64 {
			v.I64[i] = l.span.lo + int64(i/within%count)
		}
		p.leaves = append(p.leaves, v)
		within *= count
	}
	return p
}

// only are those of the points at some places.
func (p *points) only(at []int) *points {
	out := &points{n: len(at)}
	for _, l := range p.leaves {
		v := &scalar.Vec{}
		for _, i := range at {
			if l.F32 != nil {
				v.F32 = append(v.F32, l.F32[i])
			} else {
				v.I64 = append(v.I64, l.I64[i])
			}
		}
		out.leaves = append(out.leaves, v)
	}
	return out
}

// evaluation computes an expression at points, if none of its values is denormal: such are zeros on some machines.
type evaluation struct {
	*points
	params []float32
	// contracted says of each sum, in the order in which they are met, which of its products a compiler leaves unrounded; 0: none.
	contracted []int
	met        int
}

// expr is the expression's value at each point, nil where there is none.
func (v *evaluation) expr(e te.Expr) *scalar.Vec {
	switch x := e.(type) {
	case te.Const:
		return v.constant(x)
	case param:
		return v.fill(v.params[x.n])
	case variable:
		return v.leaves[x.n]
	case te.Call:
		if products(x) > 0 {
			k := v.contracted[v.met]
			v.met++
			if k > 0 {
				return v.contract(x, k)
			}
		}
		return v.call(x)
	}
	return nil
}

func (v *evaluation) constant(c te.Const) *scalar.Vec {
	if c.Type == ir.F32 {
		return v.fill(float32(math.Float64frombits(c.Bits)))
	}
	if !c.Type.IsInteger() {
		return nil
	}
	out := scalar.NewVec(c.Type, v.n)
	for i := range out.I64 {
		out.I64[i] = int64(c.Bits)
	}
	return out
}

func (v *evaluation) fill(x float32) *scalar.Vec {
	out := scalar.NewVec(ir.F32, v.n)
	for i := range out.F32 {
		out.F32[i] = x
	}
	return normal(out)
}

// normal is a vector none of whose floats is denormal, nil for another one.
func normal(v *scalar.Vec) *scalar.Vec {
	for _, x := range v.F32 {
		if x != 0 && x > -leastNormal && x < leastNormal {
			return nil
		}
	}
	return v
}

const leastNormal = 0x1p-126

func (v *evaluation) call(c te.Call) *scalar.Vec {
	args, types := make([]*scalar.Vec, len(c.Args)), make([]ir.DType, len(c.Args))
	for i, a := range c.Args {
		if args[i], types[i] = v.expr(a), a.DType(); args[i] == nil {
			return nil
		}
	}
	f, err := scalar.Bind(c.Fn, c.Type, types)
	if err != nil {
		return nil
	}
	out := scalar.NewVec(c.Type, v.n)
	f(out, args)
	return normal(out)
}

// quantized are the integers that a quantization makes of floats.
func (q quantization) quantized(x *scalar.Vec) *scalar.Vec {
	n := x.Len()
	zero, out := scalar.NewVec(q.typ, n), scalar.NewVec(q.typ, n)
	for i := range zero.I64 {
		zero.I64[i] = q.zero
	}
	f, err := scalar.Bind("quantize", q.typ, []ir.DType{ir.F32, q.typ})
	if err != nil {
		return nil
	}
	f(out, []*scalar.Vec{x, zero})
	return out
}
