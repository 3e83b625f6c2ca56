package scalar

import (
	"math"

	"rules_dnn/gen/ir"
)

// Bind is the function's evaluator for these types, rounding and wrapping
// included: f16 and bf16 are rounded after every function, as NumPy does.
func Bind(name string, result ir.DType, args []ir.DType) (Func, error) {
	if err := Check(name, result, args); err != nil {
		return nil, err
	}
	row := Lookup(name)
	switch row.Result {
	case Target:
		return castFunc(args[0], result), nil
	case Reinterpret:
		return bitsFunc(args[0], result), nil
	case Quantized:
		return quantizeFunc(result), nil
	case Narrowed:
		return narrowFunc(result), nil
	}
	f, closed := row.pick(args[len(args)-1])
	if closed || row.Result != Same || row.Exact && result.IsFloat() {
		return f, nil
	}
	fix := Narrow(result)
	if fix == nil {
		return f, nil
	}
	return func(dst *Vec, args []*Vec) {
		f(dst, args)
		fix(dst)
	}, nil
}

func (r *Row) pick(t ir.DType) (f Func, closed bool) {
	switch ClassOf(t) {
	case ClassF32:
		return r.float.f32, false
	case ClassF64:
		return r.float.f64, false
	}
	if t == ir.U64 && r.whole.u64 != nil {
		return r.whole.u64, r.whole.closed
	}
	return r.whole.i64, r.whole.closed
}

// Narrow gives what brings a vector's elements to type t in place: rounding to
// f16 or bf16, wrapping to a short integer. It is nil where nothing is to be done.
func Narrow(t ir.DType) func(*Vec) {
	switch t {
	case ir.F16:
		return func(v *Vec) { each(v.F32, roundF16) }
	case ir.BF16:
		return func(v *Vec) { each(v.F32, roundBF16) }
	case ir.F32, ir.F64, ir.I64, ir.U64:
		return nil
	case ir.Bool:
		return func(v *Vec) { each(v.I64, func(x int64) int64 { return bit(x != 0) }) }
	}
	shift := 64 - 8*t.Size()
	if t.Kind() == ir.KindInt {
		return func(v *Vec) { each(v.I64, func(x int64) int64 { return x << shift >> shift }) }
	}
	return func(v *Vec) { each(v.I64, func(x int64) int64 { return int64(uint64(x) << shift >> shift) }) }
}

func each[T number](v []T, f func(T) T) {
	for i, x := range v {
		v[i] = f(x)
	}
}

func copyVec(dst *Vec, args []*Vec) {
	copy(dst.F32, args[0].F32)
	copy(dst.F64, args[0].F64)
	copy(dst.I64, args[0].I64)
}

// castFunc converts as dnn_math.h does: floats to integers truncate and
// saturate, NaN gives 0; integers wrap; whatever is not zero is true; floats
// round to nearest, once.
func castFunc(from, to ir.DType) Func {
	switch {
	case to == ir.Bool:
		return castToBool(ClassOf(from))
	case to.IsFloat():
		return castToFloat(from, to)
	case !from.IsFloat():
		return func(dst *Vec, args []*Vec) {
			copy(dst.I64, args[0].I64)
			if fix := Narrow(to); fix != nil {
				fix(dst)
			}
		}
	case ClassOf(from) == ClassF32:
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].F32 {
				dst.I64[i] = saturate(float64(x), to)
			}
		}
	}
	return func(dst *Vec, args []*Vec) {
		for i, x := range args[0].F64 {
			dst.I64[i] = saturate(x, to)
		}
	}
}

// bitsFunc gives the number of type `to` that has the same bits. Integers are held as
// their values, so that of 4 bytes only what Narrow gives is an element.
func bitsFunc(from, to ir.DType) Func {
	switch {
	case from.IsFloat() == to.IsFloat():
		return castFunc(from, to)
	case from == ir.F32:
		fix := Narrow(to)
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].F32 {
				dst.I64[i] = int64(math.Float32bits(x))
			}
			fix(dst)
		}
	case from == ir.F64:
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].F64 {
				dst.I64[i] = int64(math.Float64bits(x))
			}
		}
	case to == ir.F32:
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].I64 {
				dst.F32[i] = math.Float32frombits(uint32(x))
			}
		}
	}
	return func(dst *Vec, args []*Vec) {
		for i, x := range args[0].I64 {
			dst.F64[i] = math.Float64frombits(uint64(x))
		}
	}
}

func castToBool(from Class) Func {
	switch from {
	case ClassF32:
		return test1(func(x float32) bool { return x != 0 })
	case ClassF64:
		return test1(func(x float64) bool { return x != 0 })
	}
	return test1(func(x int64) bool { return x != 0 })
}

func castToFloat(from, to ir.DType) Func {
	switch {
	case ClassOf(from) == ClassF32 && to == ir.F64:
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].F32 {
				dst.F64[i] = float64(x)
			}
		}
	case ClassOf(from) == ClassOf(to):
		fix := Narrow(to)
		return func(dst *Vec, args []*Vec) {
			copyVec(dst, args)
			if fix != nil && from != to {
				fix(dst)
			}
		}
	case from == ir.F64:
		narrow := fromWide(to)
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].F64 {
				dst.F32[i] = narrow(x)
			}
		}
	}
	return castFromInt(from, to)
}

func castFromInt(from, to ir.DType) Func {
	wide := func(x int64) float64 { return float64(x) }
	single := func(x int64) float32 { return float32(x) }
	if from == ir.U64 {
		wide = func(x int64) float64 { return float64(uint64(x)) }
		single = func(x int64) float32 { return float32(uint64(x)) }
	}
	if to == ir.F64 {
		return func(dst *Vec, args []*Vec) {
			for i, x := range args[0].I64 {
				dst.F64[i] = wide(x)
			}
		}
	}
	if to != ir.F32 {
		narrow := fromWide(to)
		single = func(x int64) float32 { return narrow(wide(x)) }
	}
	return func(dst *Vec, args []*Vec) {
		for i, x := range args[0].I64 {
			dst.F32[i] = single(x)
		}
	}
}

// fromWide rounds a float64 to a shorter float.
func fromWide(to ir.DType) func(float64) float32 {
	switch to {
	case ir.F16:
		return func(x float64) float32 { return roundF16(roundOdd(x)) }
	case ir.BF16:
		return func(x float64) float32 { return roundBF16(roundOdd(x)) }
	}
	return func(x float64) float32 { return float32(x) }
}

func saturate(x float64, to ir.DType) int64 {
	bits := 8 * to.Size()
	if to.Kind() == ir.KindInt {
		limit := math.Ldexp(1, bits-1)
		switch {
		case x >= limit:
			return math.MaxInt64 >> (64 - bits)
		case x < -limit:
			return math.MinInt64 >> (64 - bits)
		case x != x:
			return 0
		}
		return int64(x)
	}
	switch {
	case x >= math.Ldexp(1, bits):
		return int64(uint64(math.MaxUint64) >> (64 - bits))
	case !(x >= 1):
		return 0
	}
	return int64(uint64(x))
}

// Value is v, a float, as an element of type t in a vector: what a literal means.
func Value(t ir.DType, v float64) float64 {
	if t == ir.F64 || !t.IsFloat() {
		return v
	}
	return float64(fromWide(t)(v))
}
