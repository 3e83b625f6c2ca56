package shape

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// foldScalar applies a scalar function to constant arguments as a run would.
func foldScalar(c te.Call, args []value) value {
	types := make([]ir.DType, len(args))
	vecs := make([]*scalar.Vec, len(args))
	for i, a := range args {
		types[i] = c.Args[i].DType()
		vecs[i] = scalar.NewVec(types[i], 1)
		if !store(vecs[i], a) {
			return value{}
		}
	}
	f, err := scalar.Bind(c.Fn, c.Type, types)
	if err != nil || f == nil {
		return value{} // ops.Build has verified the call; nothing is known of it here
	}
	dst := scalar.NewVec(c.Type, 1)
	f(dst, vecs)
	return fetch(dst, c.Type)
}

func store(v *scalar.Vec, a value) bool {
	if v.I64 != nil {
		c, ok := a.constant()
		v.I64[0] = c
		return ok
	}
	x, ok := a.float64()
	switch {
	case v.F32 != nil:
		v.F32[0] = float32(x)
	case v.F64 != nil:
		v.F64[0] = x
	}
	return ok
}

func fetch(v *scalar.Vec, t ir.DType) value {
	switch {
	case v.F32 != nil:
		return float(float64(v.F32[0]))
	case v.F64 != nil:
		return float(v.F64[0])
	case t == ir.U64 && v.I64[0] < 0:
		return value{} // above 2^63: no index expression holds it
	}
	return number(v.I64[0])
}
