package bnfold

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// intoWeights changes the weights and the bias of n so that it computes a of its
// former result. It reports whether n is an operator that can.
func (f *folder) intoWeights(n *ir.Node, a affine) (bool, error) {
	w := ops.WeightsOf(n)
	if w == nil || !w.Linear || w.Bias == 0 {
		return false, nil
	}
	for _, i := range []int{w.Operand, w.Bias} {
		if v := n.Input(i); v != nil && v.Const == nil {
			return false, nil
		}
	}
	if of := n.Input(w.Operand); of == nil || len(of.Const.Shape) < 2 || slices.Contains(of.Const.Shape, 0) || !of.Const.Type.IsFloat() {
		return false, nil
	}
	return f.contraction(n, a, w)
}

// inner is the number of elements below axis.
func inner(shape []int64, axis int) int64 {
	p := int64(1)
	for _, d := range shape[axis+1:] {
		p *= d
	}
	return p
}

// channels are how many output channels weights have, and which one element i belongs to.
type channels struct {
	n  int64
	of func(i int64) int64
}

// filtersOf returns the number of filters of weights, and the filter of an element. It returns false if
// groups do not divide the weights.
func filtersOf(n *ir.Node, w *ops.Weights, shape []int64) (channels, bool) {
	axis, groups := 0, int64(1)
	if axis, _ = w.Axes(n, len(shape)); w.Split(n) {
		groups = n.Int("group", 1)
	}
	if groups < 1 || shape[0]%groups != 0 {
		return channels{}, false
	}
	return channels{groups * shape[axis], func(i int64) int64 {
		group := i / inner(shape, 0) / (shape[0] / groups)
		return group*shape[axis] + i/inner(shape, axis)%shape[axis]
	}}, true
}

// contraction scales the weights of a node that computes alpha*(x*w) + beta*bias.
func (f *folder) contraction(n *ir.Node, a affine, of *ops.Weights) (bool, error) {
	w := n.Inputs[of.Operand]
	alpha, beta := float64(n.Float("alpha", 1)), float64(n.Float("beta", 1)) // of Gemm
	outs, fits := filtersOf(n, of, w.Const.Shape)
	if !fits || alpha == 0 {
		return false, nil
	}
	bias, ok, err := biasOf(n.Input(of.Bias), len(a.scale))
	if err != nil || !ok {
		return false, err
	}
	if outs.n > int64(len(a.scale)) {
		return false, nil // the shapes do not fit; the operator's own check says so
	}
	for c := range bias {
		bias[c] = float64(beta*bias[c]*a.scale[c]) + a.shift[c]
	}
	if n.Attrs["beta"] != nil {
		n.Attrs["beta"] = float32(1)
	}
	name := n.Outputs[0].Name
	for len(n.Inputs) <= of.Bias {
		n.Inputs = append(n.Inputs, nil)
	}
	n.Inputs[of.Operand] = ir.ConstValue(f.namer.Name(name+".weight"), scaled(w.Const, a.scale, outs))
	n.Inputs[of.Bias] = ir.ConstValue(f.namer.Name(name+".bias"), edit.FloatTensor(w.Type, bias, int64(len(bias))))
	return true, nil
}

// scaled is weights times what their channels are scaled by, computed when they are read.
func scaled(w *ir.Tensor, scale []float64, outs channels) *ir.Tensor {
	size := int64(w.Type.Size())
	return ir.Computed(w.Type, w.Shape, 1, func(b []byte, first int64) error {
		if err := w.ReadBytes(b, first*size); err != nil {
			return err
		}
		xs, err := edit.Floats(&ir.Tensor{Type: w.Type, Data: b})
		if err != nil {
			return err
		}
		for i := range xs {
			xs[i] *= scale[outs.of(first+int64(i))]
		}
		copy(b, edit.FloatTensor(w.Type, xs, int64(len(xs))).Data)
		return nil
	})
}

// biasOf returns the bias by channel, or zeros if v is nil. It returns false if the bias differs by row,
// as Gemm's C may.
func biasOf(v *ir.Value, channels int) (bias []float64, ok bool, err error) {
	bias = make([]float64, channels)
	if v == nil {
		return bias, true, nil
	}
	for i, d := range v.Const.Shape {
		if d != 1 && i < len(v.Const.Shape)-1 {
			return nil, false, nil
		}
	}
	xs, err := edit.Floats(v.Const)
	if err != nil {
		return nil, false, err
	}
	if len(xs) != channels && len(xs) != 1 {
		return nil, false, nil
	}
	for c := range bias {
		bias[c] = xs[c%len(xs)]
	}
	return bias, true, nil
}
