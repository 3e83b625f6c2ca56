package scalar

import "math"

// table is the scalar functions. Order is by theme; Table sorts by name.
var table = []Row{
	// Arithmetic.
	{Name: "add", Arity: 2, Kinds: Numbers, FLOPs: 1, lanes: Numbers, a64: "fadd $d, $a, $b", text: operator("+", "iadd"),
		float: impl{addF32, map2(func(a, b float64) float64 { return a + b })},
		whole: whole{i64: map2(func(a, b int64) int64 { return a + b })}},
	{Name: "sub", Arity: 2, Kinds: Numbers, FLOPs: 1, lanes: Numbers, a64: "fsub $d, $a, $b", text: operator("-", "isub"),
		float: impl{subF32, map2(func(a, b float64) float64 { return a - b })},
		whole: whole{i64: map2(func(a, b int64) int64 { return a - b })}},
	{Name: "mul", Arity: 2, Kinds: Numbers, FLOPs: 1, lanes: Numbers, a64: "fmul $d, $a, $b", text: operator("*", "imul"),
		float: impl{mulF32, map2(func(a, b float64) float64 { return float64(a * b) })},
		whole: whole{i64: map2(func(a, b int64) int64 { return a * b })}},
	{Name: "div", Arity: 2, Kinds: Numbers, FLOPs: 1, lanes: Floats, a64: "fdiv $d, $a, $b", text: operator("/", "idiv"),
		float: impl{divF32, map2(func(a, b float64) float64 { return a / b })},
		whole: whole{i64: map2(divInt), u64: unsigned(divUint)}},
	{Name: "mod", Arity: 2, Kinds: Numbers, FLOPs: 4, text: function("mod", "dnn_math::mod", "imod"),
		float: impl{map2(modFloat(fmod32)), map2(modFloat(math.Mod))},
		whole: whole{i64: map2(modInt), u64: unsigned(modUint), closed: true}},
	{Name: "fmod", Arity: 2, Kinds: Numbers, FLOPs: 3, text: function("fmod", "__builtin_fmod", "ifmod"),
		float: impl{map2(fmod32), map2(math.Mod)},
		whole: whole{i64: map2(fmodInt), u64: unsigned(modUint), closed: true}},
	{Name: "fma", Arity: 3, Kinds: Floats, ULP: 1, FLOPs: 2, lanes: Floats, text: text{f32: "($0 * $1 + $2)", f64: "($0 * $1 + $2)"},
		float: impl{map3(madd), map3(maddWide)}},
	// A product that is rounded before it is added to anything: no compiler contracts it.
	{Name: "product", Arity: 2, Kinds: Floats, FLOPs: 1, lanes: Floats, a64: "fmul $d, $a, $b", text: function("product", "dnn_math::product", ""),
		float: impl{mulF32, map2(func(a, b float64) float64 { return float64(a * b) })}},
	{Name: "neg", Arity: 1, Kinds: Numbers, Exact: true, FLOPs: 1, lanes: Numbers, a64: "fneg $d, $a", text: text{f32: "(-$0)", f64: "(-$0)", integer: "dnn_math::ineg<$T>($0)"},
		float: impl{map1(func(x float32) float32 { return -x }), map1(func(x float64) float64 { return -x })},
		whole: whole{i64: map1(func(x int64) int64 { return -x })}},
	{Name: "abs", Arity: 1, Kinds: Numbers, Exact: true, FLOPs: 1, lanes: Integers, a64: "fabs $d, $a", text: function("abs", "__builtin_fabs", "iabs"),
		float: impl{map1(abs32), map1(math.Abs)},
		whole: whole{i64: map1(absInt), u64: copyVec}},
	{Name: "sign", Arity: 1, Kinds: Numbers, Exact: true, FLOPs: 2, lanes: Integers, text: function("sign", "dnn_math::sign", "isign"),
		float: impl{map1(signOf[float32]), map1(signOf[float64])},
		whole: whole{i64: map1(signInt), u64: map1(func(x int64) int64 { return bit(x != 0) }), closed: true}},
	{Name: "min", Arity: 2, Kinds: Numbers, Exact: true, FLOPs: 1, lanes: Numbers, a64: "fmin $d, $a, $b", text: function("min", "dnn_math::min", "imin"),
		float: impl{minF32, map2(lesser[float64])},
		whole: whole{i64: map2(lesser[int64]), u64: unsigned(func(a, b uint64) uint64 { return min(a, b) }), closed: true}},
	{Name: "max", Arity: 2, Kinds: Numbers, Exact: true, FLOPs: 1, lanes: Numbers, a64: "fmax $d, $a, $b", text: function("max", "dnn_math::max", "imax"),
		float: impl{maxF32, map2(greater[float64])},
		whole: whole{i64: map2(greater[int64]), u64: unsigned(func(a, b uint64) uint64 { return max(a, b) }), closed: true}},
	// The greater one of a number and what may be NaN, which then is the number: one instruction on x86-64.
	{Name: "max_number", Arity: 2, Kinds: Floats, Exact: true, FLOPs: 1, lanes: Floats, text: function("max_number", "dnn_math::max_number", ""),
		float: impl{map2(greaterNumber[float32]), map2(greaterNumber[float64])}},
	{Name: "reciprocal", Arity: 1, Kinds: Floats, FLOPs: 1, lanes: Floats, text: text{f32: "(1.0f / $0)", f64: "(1.0 / $0)"},
		float: impl{map1(func(x float32) float32 { return 1 / x }), map1(func(x float64) float64 { return 1 / x })}},

	// Powers, exponentials and logarithms.
	{Name: "sqrt", Arity: 1, Kinds: Floats, FLOPs: 1, a64: "fsqrt $d, $a", text: function("sqrt", "__builtin_sqrt", ""),
		float: impl{map1(sqrt32), map1(math.Sqrt)}},
	{Name: "rsqrt", Arity: 1, Kinds: Floats, ULP: 2, FLOPs: 2, text: text{f32: "(1.0f / dnn_math::sqrt($0))", f64: "(1.0 / __builtin_sqrt($0))"},
		float: impl{map1(rsqrt32), map1(func(x float64) float64 { return 1 / math.Sqrt(x) })}},
	{Name: "pow", Arity: 2, Kinds: Numbers, ULP: 1, FLOPs: 40, text: function("pow", "dnn_math::pow", "ipow"),
		float: impl{map2(pow32), map2(pow64)},
		whole: whole{i64: map2(powInt), u64: unsigned(powUint)}},
	approximation("exp", 1.5, 18, exp32, exp64),
	approximation("expm1", 2, 20, expm1, expm164),
	// Kernels of chips that have it compute 1 / (1 + e^-x) so: see Target.Logistic.
	{Name: "logistic", Arity: 1, Kinds: Floats, ULP: 3, FLOPs: 20, HalfULP: 2, text: text{f32: "dnn_math::logistic($0)", f64: "(1.0 / (1.0 + __builtin_exp(-$0)))"},
		float: impl{map1(logistic32), map1(logistic64)}},
	{Name: "log", Arity: 1, Kinds: Floats, ULP: 2, FLOPs: 25, text: function("log", "dnn_math::log", ""),
		float: impl{map1(log32), map1(log64)}},
	approximation("log1p", 2, 29, log1p, log1p64),
	approximation("erf", 2, 30, erf32, erf64).inHalves(3),

	// Trigonometric and hyperbolic functions and their inverses.
	approximation("sin", 3, 22, sin32, sin64),
	approximation("cos", 3, 22, cos32, cos64),
	approximation("tan", 5, 30, tan32, tan64),
	approximation("asin", 3, 16, asin32, asin64),
	approximation("acos", 3, 16, acos32, acos64),
	approximation("atan", 2, 16, atan32, atan64),
	approximation("sinh", 2, 24, sinh32, sinh64),
	approximation("cosh", 2, 20, cosh32, cosh64),
	approximation("tanh", 2, 24, tanh32, tanh64).inHalves(4),
	approximation("asinh", 3, 35, asinh32, asinh64),
	approximation("acosh", 3, 35, acosh32, acosh64),
	approximation("atanh", 3, 32, atanh32, atanh64),

	// Rounding.
	{Name: "floor", Arity: 1, Kinds: Floats, Exact: true, FLOPs: 1, text: function("floor", "__builtin_floor", ""),
		float: impl{map1(floor32), map1(math.Floor)}},
	{Name: "ceil", Arity: 1, Kinds: Floats, Exact: true, FLOPs: 1, text: function("ceil", "__builtin_ceil", ""),
		float: impl{map1(ceil32), map1(math.Ceil)}},
	{Name: "round", Arity: 1, Kinds: Floats, Exact: true, FLOPs: 1, text: function("round", "dnn_math::round", ""),
		float: impl{map1(roundEven), map1(math.RoundToEven)}},
	{Name: "trunc", Arity: 1, Kinds: Floats, Exact: true, FLOPs: 1, text: function("trunc", "__builtin_trunc", ""),
		float: impl{map1(trunc32), map1(math.Trunc)}},

	// Comparison, logic and choice. In C++ the result is a bool, or a vector of masks.
	compare("eq", "==", Anything, eq[float32], eq[float64], eq[int64], nil),
	compare("ne", "!=", Anything, ne[float32], ne[float64], ne[int64], nil),
	compare("lt", "<", Numbers, lt[float32], lt[float64], lt[int64], func(a, b uint64) bool { return a < b }),
	compare("le", "<=", Numbers, le[float32], le[float64], le[int64], func(a, b uint64) bool { return a <= b }),
	compare("gt", ">", Numbers, gt[float32], gt[float64], gt[int64], func(a, b uint64) bool { return a > b }),
	compare("ge", ">=", Numbers, ge[float32], ge[float64], ge[int64], func(a, b uint64) bool { return a >= b }),
	{Name: "isnan", Arity: 1, Kinds: Floats, Result: Predicate, FLOPs: 1, lanes: Floats, text: text{boolean: "($0 != $0)"},
		float: impl{test1(func(x float32) bool { return x != x }), test1(math.IsNaN)}},
	{Name: "isinf", Arity: 1, Kinds: Floats, Result: Predicate, FLOPs: 2, text: text{boolean: "dnn_math::isinf($0)"},
		float: impl{test1(func(x float32) bool { return abs32(x) == inf32 }), test1(func(x float64) bool { return math.IsInf(x, 0) })}},
	{Name: "and", Arity: 2, Kinds: Bools, FLOPs: 1, lanes: Bools, text: text{boolean: "($0 & $1)"},
		whole: whole{i64: map2(func(a, b int64) int64 { return a & b }), closed: true}},
	{Name: "or", Arity: 2, Kinds: Bools, FLOPs: 1, lanes: Bools, text: text{boolean: "($0 | $1)"},
		whole: whole{i64: map2(func(a, b int64) int64 { return a | b }), closed: true}},
	{Name: "xor", Arity: 2, Kinds: Bools, FLOPs: 1, lanes: Bools, text: text{boolean: "($0 ^ $1)"},
		whole: whole{i64: map2(func(a, b int64) int64 { return a ^ b }), closed: true}},
	{Name: "not", Arity: 1, Kinds: Bools, FLOPs: 1, lanes: Bools, text: text{boolean: "(!$0)"},
		whole: whole{i64: map1(func(a int64) int64 { return a ^ 1 }), closed: true}},
	{Name: "select", Arity: 3, Kinds: Anything, Exact: true, Result: Choice, FLOPs: 1,
		lanes: Anything, text: text{f32: "($0 ? $1 : $2)", f64: "($0 ? $1 : $2)", integer: "($0 ? $1 : $2)", boolean: "($0 ? $1 : $2)"},
		float: impl{choose[float32], choose[float64]},
		whole: whole{i64: choose[int64], closed: true}},

	// Bits.
	{Name: "bitand", Arity: 2, Kinds: Integers, FLOPs: 1, lanes: Integers, text: text{integer: "($0 & $1)"},
		whole: whole{i64: map2(func(a, b int64) int64 { return a & b }), closed: true}},
	{Name: "bitor", Arity: 2, Kinds: Integers, FLOPs: 1, lanes: Integers, text: text{integer: "($0 | $1)"},
		whole: whole{i64: map2(func(a, b int64) int64 { return a | b }), closed: true}},
	{Name: "bitxor", Arity: 2, Kinds: Integers, FLOPs: 1, lanes: Integers, text: text{integer: "($0 ^ $1)"},
		whole: whole{i64: map2(func(a, b int64) int64 { return a ^ b }), closed: true}},
	{Name: "bitnot", Arity: 1, Kinds: Integers, FLOPs: 1, lanes: Integers, text: text{integer: "(~$0)"},
		whole: whole{i64: map1(func(a int64) int64 { return ^a })}},
	{Name: "shl", Arity: 2, Kinds: Integers, FLOPs: 1, text: text{integer: "dnn_math::shl<$T>($0, $1)"},
		whole: whole{i64: map2(shl)}},
	{Name: "shr", Arity: 2, Kinds: Integers, FLOPs: 1, text: text{integer: "dnn_math::shr<$T>($0, $1)"},
		whole: whole{i64: map2(shr), u64: unsigned(shrUint)}},

	{Name: "cast", Arity: 1, Kinds: Anything, Result: Target, lanes: Anything, text: text{
		f32: "dnn_math::cast<float>($0)", f64: "dnn_math::cast<double>($0)",
		integer: "dnn_math::cast<$T>($0)", boolean: "($0 != 0)"}},
	{Name: "narrow", Arity: 1, Result: Narrowed, FLOPs: 3},
	{Name: "bits", Arity: 1, Kinds: Numbers, Result: Reinterpret, lanes: Numbers, text: text{
		f32: "dnn_math::bits<float>($0)", f64: "dnn_math::bits<double>($0)", integer: "dnn_math::bits<$T>($0)"}},
	{Name: "quantize", Arity: 2, Result: Quantized, FLOPs: 6, text: text{integer: "dnn_math::quantize<$T>($0, $1)"}},
}

// approximation is a function of one float.
func approximation(name string, ulp float64, flops int, f32 func(float32) float32, f64 func(float64) float64) Row {
	return Row{Name: name, Arity: 1, Kinds: Floats, ULP: ulp, FLOPs: flops,
		text: function(name, "__builtin_"+name, ""), float: impl{map1(f32), map1(f64)}}
}

// inHalves returns the row with an error bound of its function of f16 (HalfULP).
func (r Row) inHalves(ulp float64) Row {
	r.HalfULP = ulp
	return r
}

func compare(name, op string, kinds Kinds, f32 func(a, b float32) bool, f64 func(a, b float64) bool,
	i64 func(a, b int64) bool, u64 func(a, b uint64) bool) Row {
	r := Row{Name: name, Arity: 2, Kinds: kinds, Result: Predicate, FLOPs: 1, lanes: Anything,
		text: text{boolean: "($0 " + op + " $1)"}, float: impl{test2(f32), test2(f64)},
		whole: whole{i64: test2(i64), closed: true}}
	if u64 != nil {
		r.whole.u64 = test2(func(a, b int64) bool { return u64(uint64(a), uint64(b)) })
	}
	return r
}

func eq[T number](a, b T) bool { return a == b }
func ne[T number](a, b T) bool { return a != b }
func lt[T number](a, b T) bool { return a < b }
func le[T number](a, b T) bool { return a <= b }
func gt[T number](a, b T) bool { return a > b }
func ge[T number](a, b T) bool { return a >= b }
