package ops

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
)

// recurrentActivation is a function that recurrent operators may be given by name.
type recurrentActivation struct {
	name string
	// alpha and beta are the defaults, those of the operator of the name; nil where the
	// function has no such number.
	alpha, beta *float64
	// needs reports that alpha and beta must be given: no operator has the name.
	needs bool
	write func(b *composer, f activationOf, t ir.DType, x *ir.Value) *ir.Value
}

// activationOf is an activation with its numbers.
type activationOf struct {
	*recurrentActivation
	a, b float64
}

func (f activationOf) write(b *composer, t ir.DType, x *ir.Value) *ir.Value {
	return f.recurrentActivation.write(b, f, t, x)
}

// recurrentActivations are the functions that ONNX lists.
func recurrentActivations() []*recurrentActivation {
	n := func(x float64) *float64 { return &x }
	plain := func(op string) *recurrentActivation {
		return &recurrentActivation{name: op, write: func(b *composer, _ activationOf, _ ir.DType, x *ir.Value) *ir.Value {
			return b.op(op, nil, x)
		}}
	}
	withAlpha := func(op string, alpha float64) *recurrentActivation {
		return &recurrentActivation{name: op, alpha: n(alpha), write: func(b *composer, f activationOf, _ ir.DType, x *ir.Value) *ir.Value {
			return b.op(op, ir.Attrs{"alpha": float32(f.a)}, x)
		}}
	}
	return []*recurrentActivation{
		plain("Relu"), plain("Tanh"), plain("Sigmoid"), plain("Softsign"), plain("Softplus"),
		withAlpha("LeakyRelu", 0.01), withAlpha("Elu", 1),
		{name: "Affine", alpha: n(1), beta: n(0), write: func(b *composer, f activationOf, t ir.DType, x *ir.Value) *ir.Value {
			return b.add(b.mul(b.float(t, f.a), x), b.float(t, f.b))
		}},
		{name: "HardSigmoid", alpha: n(0.2), beta: n(0.5), write: func(b *composer, f activationOf, _ ir.DType, x *ir.Value) *ir.Value {
			return b.op("HardSigmoid", ir.Attrs{"alpha": float32(f.a), "beta": float32(f.b)}, x)
		}},
		{name: "ScaledTanh", alpha: n(0), beta: n(0), needs: true, write: func(b *composer, f activationOf, t ir.DType, x *ir.Value) *ir.Value {
			return b.mul(b.float(t, f.a), b.op("Tanh", nil, b.mul(b.float(t, f.b), x)))
		}},
		// unlike the operator of the name, it keeps what is alpha
		{name: "ThresholdedRelu", alpha: n(1), write: func(b *composer, f activationOf, t ir.DType, x *ir.Value) *ir.Value {
			return b.op("Where", nil, b.op("GreaterOrEqual", nil, x, b.float(t, f.a)), x, b.float(t, 0))
		}},
	}
}

// readActivations reads the activations of all directions, in whose order the numbers of
// those that have some are given.
func (r *recurrent) readActivations() ([]activationOf, error) {
	names := slices.Repeat(r.functions, len(r.directions))
	if r.Node.Has("activations") {
		given, _ := r.Node.Attrs["activations"].([]string)
		if len(given) != len(names) {
			return nil, fmt.Errorf("attribute activations names %d functions; want %d for each of %d directions", len(given), len(r.functions), len(r.directions))
		}
		names = given
	}
	alphas, betas := r.Node.Floats("activation_alpha"), r.Node.Floats("activation_beta")
	var out []activationOf
	for _, name := range names {
		f, err := findActivation(name)
		if err != nil {
			return nil, err
		}
		a := activationOf{recurrentActivation: f}
		if a.a, err = f.number("activation_alpha", f.alpha, &alphas); err != nil {
			return nil, err
		}
		if a.b, err = f.number("activation_beta", f.beta, &betas); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	if len(alphas) > 0 || len(betas) > 0 {
		return nil, fmt.Errorf("attributes activation_alpha and activation_beta have %d and %d numbers too many for the activations %q", len(alphas), len(betas), names)
	}
	return out, nil
}

// findActivation finds a function whose name is so spelled but for case.
func findActivation(name string) (*recurrentActivation, error) {
	var names []string
	for _, f := range recurrentActivations() {
		if strings.EqualFold(f.name, name) {
			return f, nil
		}
		names = append(names, f.name)
	}
	return nil, fmt.Errorf("attribute activations names %q; supported are %q", name, names)
}

// number takes the next number of a list, or the default.
func (f *recurrentActivation) number(attr string, def *float64, list *[]float32) (float64, error) {
	switch {
	case def == nil:
		return 0, nil
	case len(*list) > 0:
		x := (*list)[0]
		*list = (*list)[1:]
		return float64(x), nil
	case f.needs:
		return 0, fmt.Errorf("attribute %s has no number for %s, which has no default", attr, f.name)
	}
	return *def, nil
}
