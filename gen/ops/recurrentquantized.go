package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Numbers of the operands that DynamicQuantizeLSTM has behind LSTM's; a zero point is behind each scale.
const (
	recurrentWScale = recurrentP + 1
	recurrentRScale = recurrentP + 3
)

// quantizedLSTMRow is ONNX Runtime's LSTM whose weights are bytes: what its quantizer makes of an LSTM where activations are quantized as
// they come. All steps' inputs are quantized at once, and each step's state by itself, as DynamicQuantizeLinear does.
func quantizedLSTMRow() *Row {
	bytes := func(name, like string) Param { return Param{Name: name, Types: quantized8, Like: like} }
	float := func(name string) Param { return in(name, single) }
	return &Row{
		Name: Microsoft + "DynamicQuantizeLSTM", Versions: []int{1}, Form: Composition, MinOutputs: 0, MaxOutputs: 3,
		Inputs: []Param{
			float("X"), bytes("W", "T2"), bytes("R", "T2"), opt(float("B")), opt(Param{Name: "sequence_lens", Types: []ir.DType{ir.I32}}),
			opt(float("initial_h")), opt(float("initial_c")), opt(float("P")),
			float("W_scale"), bytes("W_zero_point", "T2"), float("R_scale"), bytes("R_zero_point", "T2"),
		},
		Attrs: []AttrSpec{
			intAttr("input_forget"), floatsAttr("activation_alpha"), floatsAttr("activation_beta"), strsAttr("activations"),
			floatAttr("clip"), strAttr("direction"), intAttr("hidden_size"),
		},
		Compose: func(b *composer) ([]*ir.Value, error) {
			c, err := lstmCell(b.Ctx)
			if err != nil {
				return nil, err
			}
			c.quantized = true
			r, err := newRecurrent(b, c)
			if err != nil {
				return nil, err
			}
			if err := r.checkScales(); err != nil {
				return nil, err
			}
			return r.results(), nil
		},
	}
}

// checkScales wants one scale and zero point of each direction, or one of each column of its weights.
func (r *recurrent) checkScales() error {
	directions := sym.Const(int64(len(r.directions)))
	for i := recurrentWScale; i < recurrentWScale+4; i++ {
		s, err := r.Shape(i)
		if err != nil {
			return err
		}
		want := ir.Shape{directions, sym.Scale(r.hidden, int64(r.gates))}
		if len(s) == 1 {
			want = want[:1]
		}
		if err := r.hasShape(i, want); err != nil {
			return fmt.Errorf("%s: %w", r.Row.Inputs[i].Name, err)
		}
	}
	return nil
}

// bytesOf are the quantized weights of a direction.
type bytesOf struct{ weights, scale, zero *ir.Value }

func (r *recurrent) bytesOf(weights, scale, d int) *bytesOf {
	part := func(i int) *ir.Value { return r.squeeze(r.split(r.operands[i], 0, len(r.directions))[d], 0) }
	return &bytesOf{part(weights), part(scale), part(scale + 1)}
}

// product is that with x, which becomes bytes first. It may be in a body of the graph in which the weights are.
func (w *bytesOf) product(b *composer, x *ir.Value) *ir.Value {
	q := b.ops("DynamicQuantizeLinear", 3, nil, x)
	return b.floatProduct(q[0], w.weights, q[2], w.zero, b.mul(q[1], w.scale), nil, ir.F32)
}
