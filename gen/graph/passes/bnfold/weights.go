package bnfold

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// intoWeights changes the weights and the bias of n so that it computes a of its
// former result. It reports whether n is an operator that can.
func (f *folder) intoWeights(n *ir.Node, a affine) (bool, error) {
	if len(n.Inputs) < 2 || len(n.Inputs) > 3 {
		return false, nil
	}
	for _, v := range n.Inputs[1:] {
		if v != nil && v.Const == nil {
			return false, nil
		}
	}
	switch n.Op {
	case "Conv":
		return f.contraction(n, a, 1, 1, func(shape []int64) channels {
			return channels{shape[0], func(i int64) int64 { return i / inner(shape, 0) }}
		})
	case "ConvTranspose":
		group := n.Int("group", 1)
		if w := n.Inputs[1]; w == nil || group < 1 || w.Const.Shape[0]%group != 0 || w.Const.Shape[0] == 0 {
			return false, nil
		}
		return f.contraction(n, a, 1, 1, func(shape []int64) channels {
			return channels{group * shape[1], func(i int64) int64 {
				in, rest := i/inner(shape, 0), i%inner(shape, 0)
				return in/(shape[0]/group)*shape[1] + rest/inner(shape, 1)
			}}
		})
	case "Gemm":
		axis := 1
		if n.Int("transB", 0) != 0 {
			axis = 0
		}
		return f.contraction(n, a, float64(n.Float("alpha", 1)), float64(n.Float("beta", 1)), func(shape []int64) channels {
			return channels{shape[axis], func(i int64) int64 { return i / inner(shape, axis) % shape[axis] }}
		})
	}
	return false, nil
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

// contraction scales the weights of a node that computes alpha*(x*w) + beta*bias.
func (f *folder) contraction(n *ir.Node, a affine, alpha, beta float64, of func(shape []int64) channels) (bool, error) {
	w := n.Inputs[1]
	if w == nil || !w.Const.Type.IsFloat() || len(w.Const.Shape) < 2 || slices.Contains(w.Const.Shape, 0) || alpha == 0 {
		return false, nil
	}
	bias, ok, err := biasOf(n, len(a.scale))
	if err != nil || !ok {
		return false, err
	}
	outs := of(w.Const.Shape)
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
	n.Inputs = append(n.Inputs, nil, nil)[:3]
	n.Inputs[1] = ir.ConstValue(f.namer.Name(name+".weight"), scaled(w.Const, a.scale, outs))
	n.Inputs[2] = ir.ConstValue(f.namer.Name(name+".bias"), edit.FloatTensor(w.Type, bias, int64(len(bias))))
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

// biasOf is the bias by channel; zeros where it is absent. One that differs by row
// (Gemm's C may be a matrix) is none.
func biasOf(n *ir.Node, channels int) (bias []float64, ok bool, err error) {
	bias = make([]float64, channels)
	v := n.Input(2)
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
