package quant

import (
	"errors"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
)

var errScale = errors.New("the product of the scales of its activation and its weights is not finite: leave the node float")

// layer is a product with constant weights.
type layer struct {
	node       *ir.Node
	rule       rule
	weights    *weights
	activation float32 // the scale of its data
	channels   int64
	result     int       // the result's axis of channels
	bias       []float64 // nil: none, or one that stays float
}

// layers are the products of the plan whose weights are constants, with scales.
func (p *plan) layers() ([]*layer, error) {
	var out []*layer
	for _, n := range p.g.Nodes {
		r, ok := p.nodes[n]
		if !ok || r.weights(n) == nil {
			continue
		}
		l, err := p.layer(n, r)
		if err != nil {
			return nil, n.Errorf("%w", err)
		}
		out = append(out, l)
	}
	return out, nil
}

func (p *plan) layer(n *ir.Node, r rule) (*layer, error) {
	t := r.weights(n).Const
	l := &layer{node: n, rule: r, result: 1, activation: p.group[n.Inputs[0]].param.scale}
	axis, _ := r.weight.Axes(n, len(t.Shape))
	w, finite, err := newWeights(t, axis, p.settings.PerChannel && len(t.Shape) > 1)
	switch {
	case err != nil:
		return nil, err
	case !finite:
		return nil, errors.New("its weights are not all finite: leave the node float")
	}
	l.weights, l.channels = w, t.Shape[axis]
	b := r.added(n, l.channels)
	switch {
	case b != nil:
		if l.bias, err = edit.Floats(b.Const); err != nil {
			return nil, err
		}
	case r.weight.Bias != 0 && n.Input(r.weight.Bias) == nil:
		l.bias = make([]float64, l.channels)
	}
	l.weights.fit(l.bias, l.activation)
	return l, nil
}

// correct subtracts from each layer's bias the mean error of its results' channels when data and weights are quantized (Nagel et al.,
// "Data-Free Quantization Through Weight Equalization and Bias Correction", 4.2, with what calibration sees in place of assumed distributions).
func (p *plan) correct(layers []*layer, inputs []samples.Input) error {
	by := map[*ir.Node]*layer{}
	sums := map[*layer][]float64{}
	counts := map[*layer]float64{}
	quantized := map[*layer]*ir.Tensor{}
	for _, l := range layers {
		if l.bias == nil {
			continue
		}
		by[l.node], sums[l] = l, make([]float64, l.channels)
		t, err := l.weights.values()
		if err != nil {
			return err
		}
		quantized[l] = t
	}
	for _, in := range inputs {
		if _, err := samples.Run(p.g, in, func(n *ir.Node, operands, results []*ir.Tensor) error {
			l := by[n]
			if l == nil {
				return nil
			}
			x, err := p.group[n.Inputs[0]].param.rounded(operands[0])
			if err != nil {
				return err
			}
			with := append([]*ir.Tensor{}, operands...)
			with[0], with[l.rule.weight.Operand] = x, quantized[l]
			ys, err := interp.Interp{Workers: workers()}.Node(n, with)
			if err != nil {
				return err
			}
			return l.errors(ys[0], results[0], sums[l], counts)
		}); err != nil {
			return err
		}
	}
	for l, s := range sums {
		for c := range l.bias {
			l.bias[c] -= s[c] / max(counts[l], 1)
		}
		l.weights.fit(l.bias, l.activation)
	}
	return nil
}

// errors adds the differences of two results by channel.
func (l *layer) errors(got, want *ir.Tensor, sums []float64, counts map[*layer]float64) error {
	a, err := edit.Floats(got)
	if err != nil {
		return err
	}
	b, err := edit.Floats(want)
	if err != nil {
		return err
	}
	channel := channelOf(want, l.result)
	for i := range a {
		sums[channel(int64(i))] += a[i] - b[i]
	}
	counts[l] += float64(want.Len()) / float64(l.channels)
	return nil
}

// values are the weights that the numbers stand for.
func (w *weights) values() (*ir.Tensor, error) {
	numbers := w.tensor()
	b, err := numbers.Bytes()
	if err != nil {
		return nil, err
	}
	channel, out := channelOf(w.of, w.axis), make([]float64, len(b))
	for i, q := range b {
		out[i] = float64(float32(int8(q)) * w.scale(channel(int64(i))))
	}
	return edit.FloatTensor(ir.F32, out, w.of.Shape...), nil
}

// rounded is a tensor as its numbers stand for.
func (p param) rounded(t *ir.Tensor) (*ir.Tensor, error) {
	xs, err := edit.Floats(t)
	if err != nil {
		return nil, err
	}
	for i, x := range xs {
		xs[i] = p.value(p.quantized(x))
	}
	return edit.FloatTensor(ir.F32, xs, t.Shape...), nil
}
