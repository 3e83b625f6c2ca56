package hostile

import "math"

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

func softplus(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

func nonNegative(x, other float64) float64 {
	if x >= 0 || math.IsNaN(x) {
		return x
	}
	return other
}

// logarithm is math.Log, which is wrong of denormals on some machines.
func logarithm(x float64) float64 {
	if x > 0 && x < 0x1p-1000 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}

func clamp01(x float64) float64 { return min(max(x, 0), 1) } // NaN stays NaN

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// unaryFloats are ONNX's definitions of its functions of one number.
var unaryFloats = []unaryFloat{
	{op: "Abs", f: math.Abs},
	{op: "Neg", f: func(x float64) float64 { return -x }},
	{op: "Relu", f: func(x float64) float64 { return nonNegative(x, 0) }},
	{op: "Exp", f: math.Exp},
	{op: "Log", f: logarithm},
	{op: "Sqrt", f: math.Sqrt},
	{op: "Reciprocal", f: func(x float64) float64 { return 1 / x }},
	{op: "Sigmoid", f: sigmoid},
	{op: "Tanh", f: math.Tanh},
	{op: "Erf", f: math.Erf},
	{op: "Floor", f: math.Floor},
	{op: "Ceil", f: math.Ceil},
	{op: "Round", f: math.RoundToEven},
	{op: "Sign", f: sign},
	{op: "Sin", f: math.Sin},
	{op: "Cos", f: math.Cos},
	{op: "Tan", f: math.Tan},
	{op: "Asin", f: math.Asin},
	{op: "Acos", f: math.Acos},
	{op: "Atan", f: math.Atan},
	{op: "Sinh", f: math.Sinh},
	{op: "Cosh", f: math.Cosh},
	{op: "Asinh", f: math.Asinh},
	{op: "Acosh", f: math.Acosh},
	{op: "Atanh", f: math.Atanh},
	{op: "Softplus", f: softplus},
	{op: "Softsign", f: func(x float64) float64 { return x / (1 + math.Abs(x)) }},
	{op: "Elu", f: func(x float64) float64 { return nonNegative(x, math.Expm1(x)) }},
	{op: "LeakyRelu", attrs: []any{"alpha", float32(0.25)}, f: func(x float64) float64 { return nonNegative(x, 0.25*x) }},
	{op: "HardSigmoid", attrs: []any{"alpha", float32(0.25), "beta", float32(0.5)}, f: func(x float64) float64 { return clamp01(0.25*x + 0.5) }},
	{op: "HardSwish", f: func(x float64) float64 { return x * clamp01(x/6+0.5) }},
	{op: "Celu", f: func(x float64) float64 { return nonNegative(x, math.Expm1(x)) }},
	{op: "ThresholdedRelu", attrs: []any{"alpha", float32(1)}, f: func(x float64) float64 {
		if x > 1 {
			return x
		}
		return 0 // also for NaN, by ONNX's words
	}},
	{op: "IsNaN", bools: true, f: func(x float64) float64 { return truth(math.IsNaN(x)) }},
	{op: "IsInf", bools: true, f: func(x float64) float64 { return truth(math.IsInf(x, 0)) }},
	{op: "Identity", f: func(x float64) float64 { return x }},
}

func either(x, y, one float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return one
}

// binaryFloats are ONNX's definitions of its functions of two numbers: IEEE 754's, and C's pow and fmod.
var binaryFloats = []binaryFloat{
	{op: "Add", f: func(x, y float64) float64 { return x + y }},
	{op: "Sub", f: func(x, y float64) float64 { return x - y }},
	{op: "Mul", f: func(x, y float64) float64 { return x * y }},
	{op: "Div", f: func(x, y float64) float64 { return x / y }},
	{op: "Pow", f: math.Pow},
	{op: "Mod", attrs: []any{"fmod", 1}, f: math.Mod},
	{op: "Min", f: func(x, y float64) float64 { return either(x, y, math.Min(x, y)) }},
	{op: "Max", f: func(x, y float64) float64 { return either(x, y, math.Max(x, y)) }},
	{op: "PRelu", f: func(x, y float64) float64 { return nonNegative(x, x*y) }},
	{op: "Less", bools: true, f: func(x, y float64) float64 { return truth(x < y) }},
	{op: "LessOrEqual", bools: true, f: func(x, y float64) float64 { return truth(x <= y) }},
	{op: "Greater", bools: true, f: func(x, y float64) float64 { return truth(x > y) }},
	{op: "GreaterOrEqual", bools: true, f: func(x, y float64) float64 { return truth(x >= y) }},
	{op: "Equal", bools: true, f: func(x, y float64) float64 { return truth(x == y) }},
}
