package ops

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir/te"
)

// activationRows are the operators composed of a few scalar functions of one operand.
func activationRows() []*Row {
	return []*Row{
		unaryRow("Relu", []int{6, 13, 14}, slices.Concat(signed, floats), func(_ *Ctx, x []te.Expr) (te.Expr, error) {
			return call("max", x[0], num(x[0], 0)), nil
		}),
		unaryRow("LeakyRelu", []int{6, 16}, floats, activation(leaky), floatAttr("alpha")),
		unaryRow("HardSigmoid", []int{6, 22}, floats, activation(func(c *Ctx, x te.Expr) te.Expr {
			return clamp01(add(mul(c.num("alpha", 0.2, x), x), c.num("beta", 0.5, x)))
		}), floatAttr("alpha"), floatAttr("beta")),
		unaryRow("HardSwish", []int{14, 22}, floats, activation(func(_ *Ctx, x te.Expr) te.Expr {
			return mul(x, clamp01(add(mul(x, num(x, 1.0/6)), num(x, 0.5))))
		})),
		unaryRow("Elu", []int{6, 22}, floats, activation(func(c *Ctx, x te.Expr) te.Expr {
			return sel(test("lt", x, num(x, 0)), mul(c.num("alpha", 1, x), expm1(x)), x)
		}), floatAttr("alpha")),
		unaryRow("Selu", []int{6, 22}, floats, activation(func(c *Ctx, x te.Expr) te.Expr {
			below := mul(c.num("alpha", 1.67326319217681884765625, x), expm1(x))
			return mul(c.num("gamma", 1.05070102214813232421875, x), sel(test("gt", x, num(x, 0)), x, below))
		}), floatAttr("alpha"), floatAttr("gamma")),
		unaryRow("Celu", []int{12, 28}, floats, activation(func(c *Ctx, x te.Expr) te.Expr {
			alpha := c.num("alpha", 1, x)
			return sel(test("lt", x, num(x, 0)), mul(alpha, expm1(div(x, alpha))), x)
		}), floatAttr("alpha")),
		unaryRow("ThresholdedRelu", []int{10, 22}, floats, activation(func(c *Ctx, x te.Expr) te.Expr {
			return sel(test("gt", x, c.num("alpha", 1, x)), x, num(x, 0))
		}), floatAttr("alpha")),
		unaryRow("Sigmoid", []int{6, 13}, floats, activation(func(_ *Ctx, x te.Expr) te.Expr { return sigmoid(x) })),
		unaryRow("Softplus", []int{1, 22}, floats, activation(func(_ *Ctx, x te.Expr) te.Expr { return softplus(x) })),
		unaryRow("Softsign", []int{1, 22}, floats, activation(func(_ *Ctx, x te.Expr) te.Expr {
			return div(x, add(call("abs", x), num(x, 1)))
		})),
		unaryRow("Mish", []int{18, 22}, floats, activation(func(_ *Ctx, x te.Expr) te.Expr {
			return mul(x, mish(x))
		})),
		unaryRow("Swish", []int{24}, floats, activation(swish), floatAttr("alpha")),
		unaryRow("Gelu", []int{20}, floats, gelu, strAttr("approximate")),
		unaryRow("Shrink", []int{9}, oldNumbers, shrink, floatAttr("bias"), floatAttr("lambd")),
		clipRow(),
		{
			Name: "PRelu", Versions: []int{7, 9, 16}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", wideNumbers), in("slope", wideNumbers)},
			Build: elementwiseLike(func(_ *Ctx, x []te.Expr) (te.Expr, error) {
				return sel(test("lt", x[0], num(x[0], 0)), mul(x[1], x[0]), x[0]), nil
			}),
		},
		{
			Name: "SwiGLU", Versions: []int{28}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("A", floats), in("B", floats)}, Attrs: []AttrSpec{floatAttr("alpha")},
			Build: swiGLU,
		},
	}
}

// activation computes in the wide type, so that half types are rounded once.
func activation(f func(c *Ctx, x te.Expr) te.Expr) body {
	return func(c *Ctx, x []te.Expr) (te.Expr, error) {
		return widened(x[0], func(w te.Expr) te.Expr { return f(c, w) }), nil
	}
}

// num is a float attribute as a literal of the type of like.
func (c *Ctx) num(attr string, def float32, like te.Expr) te.Expr {
	return num(like, float64(c.Node.Float(attr, def)))
}

func leaky(c *Ctx, x te.Expr) te.Expr {
	return sel(test("lt", x, num(x, 0)), mul(c.num("alpha", 0.01, x), x), x)
}

func clamp01(x te.Expr) te.Expr { return call("max", call("min", x, num(x, 1)), num(x, 0)) }

func expm1(x te.Expr) te.Expr { return call("expm1", x) }

func sigmoid(x te.Expr) te.Expr {
	return div(num(x, 1), add(num(x, 1), call("exp", call("neg", x))))
}

func swish(c *Ctx, x te.Expr) te.Expr { return mul(x, sigmoid(mul(c.num("alpha", 1, x), x))) }

// swiGLU is Swish of the gate A times B, neither of which extends to the other's shape.
func swiGLU(c *Ctx) (*Meaning, error) {
	shape, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if err := c.hasShape(1, shape); err != nil {
		return nil, err
	}
	as, t := axes(shape), wide(c.Type(0))
	operand := func(i int) te.Expr { return cast(t, te.Operand(i, c.Type(i), te.AxisVars(as)...)) }
	return one("SwiGLU", as, cast(c.Type(0), mul(swish(c, operand(0)), operand(1)))), nil
}

// softplus is log(1 + exp(x)) without overflow for great x.
func softplus(x te.Expr) te.Expr {
	tail := call("log1p", call("exp", call("neg", call("abs", x))))
	return add(call("max", x, num(x, 0)), tail)
}

// mish is tanh(ln(1 + e^x)): with n = e^x (e^x + 2), it is n/(n+2). From mostMish on it is 1 in every type, and
// below it nothing overflows.
func mish(x te.Expr) te.Expr {
	e := call("exp", call("min", x, num(x, mostMish)))
	n := mul(e, add(e, num(x, 2)))
	return div(n, add(n, num(x, 2)))
}

const mostMish = 20

func gelu(c *Ctx, x []te.Expr) (te.Expr, error) {
	mode, err := c.choice("approximate", "none", "tanh")
	if err != nil {
		return nil, err
	}
	return widened(x[0], func(w te.Expr) te.Expr {
		var inner te.Expr
		if mode == "tanh" {
			cubic := mul(num(w, 0.044715), mul(w, mul(w, w)))
			inner = call("tanh", mul(num(w, math.Sqrt(2/math.Pi)), add(w, cubic)))
		} else {
			inner = call("erf", mul(w, num(w, math.Sqrt2/2)))
		}
		return mul(mul(num(w, 0.5), w), add(num(w, 1), inner))
	}), nil
}

func shrink(c *Ctx, x []te.Expr) (te.Expr, error) {
	t := floating(x[0].DType())
	w := cast(t, x[0])
	bias, lambd := c.num("bias", 0, w), c.Node.Float("lambd", 0.5)
	above := sel(test("gt", w, num(w, float64(lambd))), sub(w, bias), num(w, 0))
	return cast(x[0].DType(), sel(test("lt", w, num(w, -float64(lambd))), add(w, bias), above)), nil
}

func clipRow() *Row {
	bound := func(name string) Param { return opt(since(11, in(name, numbers))) }
	return &Row{
		Name: "Clip", Versions: []int{6, 11, 12, 13}, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{in("input", numbers), bound("min"), bound("max")},
		Attrs:  []AttrSpec{floatAttr("min").until(10), floatAttr("max").until(10)},
		Build:  elementwiseLike(clip),
	}
}

// clip gives max where min > max, as ONNX states.
func clip(c *Ctx, x []te.Expr) (te.Expr, error) {
	e := x[0]
	if c.Version < 11 {
		if !e.DType().IsFloat() {
			return nil, fmt.Errorf("its bounds are attributes, so they are floats, but its input is %s; from opset 12 on, bounds have the input's type", e.DType())
		}
		e = call("max", e, c.num("min", -math.MaxFloat32, e))
		return call("min", e, c.num("max", math.MaxFloat32, e)), nil
	}
	if x[1] != nil {
		e = call("max", e, x[1])
	}
	if x[2] != nil {
		e = call("min", e, x[2])
	}
	return e, nil
}
