package shrink

import (
	"slices"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// fact is what is known of a channel: whether all its elements are one number in every run.
type fact struct {
	known bool
	value float64
}

// learn finds which channels of a node's result are constant.
func (s *shrinker) learn(n *ir.Node) error {
	if len(n.Outputs) == 0 || s.find(n.Outputs[0]) == nil {
		return nil
	}
	x, y := n.Input(0), n.Outputs[0]
	switch {
	case n.Op == "Conv" || ops.WeightsOf(n).Factor():
		axis, _ := ops.WeightsOf(n).Axes(n, 2)
		return s.learnFilters(n, x, y, axis)
	case slices.Contains(pools, n.Op):
		s.known[y] = onlyZeros(s.known[x])
	case n.Op == "Flatten" && s.find(x) == s.find(y):
		s.known[y] = s.known[x]
	case ops.NormalisesByChannel(n) || slices.Contains(paired, n.Op) || slices.Contains(pointwise, n.Op) && n.Op != "Dropout":
		return s.compute(n, y)
	}
	return nil
}

// onlyZeros are the facts of channels that are zero: padding and rounding leave them so.
func onlyZeros(x []fact) []fact {
	out := make([]fact, len(x))
	for i, f := range x {
		out[i].known = f.known && f.value == 0
	}
	return out
}

// learnFilters: a filter without kernels on what is not zero gives its bias.
func (s *shrinker) learnFilters(n *ir.Node, x, y *ir.Value, axis int) error {
	w := n.Input(1)
	plain := n.Int("transA", 0) == 0 && n.Float("beta", 1) == 1
	if !plain || w.Const == nil || len(w.Const.Shape) < 2 || axis == 1 && len(w.Const.Shape) > 2 || w.Const.Shape[axis] != int64(s.find(y).n) || !w.Const.Type.IsFloat() {
		return nil
	}
	weights, err := s.constant(w)
	if err != nil {
		return err
	}
	var bias []float64
	if b := n.Input(2); b != nil {
		if b.Const == nil || b.Const.Len() != w.Const.Shape[axis] {
			return nil
		}
		if bias, err = edit.Floats(b.Const); err != nil {
			return err
		}
	}
	filters, channels := int(w.Const.Shape[axis]), int(w.Const.Shape[1-axis])
	size := w.Const.Type.Size()
	taps := len(weights) / size / max(filters*channels, 1)
	each := filters / int(max(n.Int("group", 1), 1))
	facts := s.known[x]
	out := make([]fact, filters)
	for f := range out {
		out[f].known = true
		for c := range channels {
			at := (f*channels + c) * taps
			if axis == 1 {
				at = c*filters + f
			}
			in := f/max(each, 1)*channels + c
			isZero := in < len(facts) && facts[in].known && facts[in].value == 0
			if !isZero && !zeros(weights[at*size:(at+taps)*size], size) {
				out[f].known = false
			}
		}
		if bias != nil {
			out[f].value = bias[f]
		}
	}
	s.known[y] = out
	return nil
}

// compute runs a node on one element of each channel: the interpreter rounds as the network does.
func (s *shrinker) compute(n *ir.Node, y *ir.Value) error {
	count := s.find(y).n
	out := make([]fact, count)
	operands := make([]*ir.Tensor, len(n.Inputs))
	for i := range out {
		out[i].known = true
	}
	for i, v := range n.Inputs {
		if v == nil {
			continue
		}
		if operands[i] = v.Const; v.Const != nil {
			if i == 0 || !oneEach(v.Const, n, y, count) {
				return nil
			}
			continue
		}
		if !v.Type.IsFloat() || s.known[v] == nil || len(s.known[v]) != count {
			return nil
		}
		shape := make([]int64, y.Rank())
		for k := range shape {
			shape[k] = 1
		}
		shape[1] = int64(count)
		values := make([]float64, count)
		for c, f := range s.known[v] {
			values[c], out[c].known = f.value, out[c].known && f.known
		}
		operands[i] = edit.FloatTensor(v.Type, values, shape...)
	}
	results, err := interp.Interp{}.Node(n, operands)
	if err != nil {
		return err
	}
	values, err := edit.Floats(results[0])
	if err != nil || len(values) != count {
		return nil // another type or shape: nothing is known
	}
	for c := range out {
		out[c].value = values[c]
		out[c].known = out[c].known && values[c]-values[c] == 0 // a finite number
	}
	s.known[y] = out
	return nil
}

// oneEach reports whether a constant operand has one element for each channel, or one for all.
func oneEach(t *ir.Tensor, n *ir.Node, y *ir.Value, count int) bool {
	if n.Op == "BatchNormalization" || t.Len() == 1 {
		return true
	}
	axis := len(t.Shape) - (y.Rank() - 1)
	return axis >= 0 && t.Shape[axis] == int64(count) && t.Len() == int64(count)
}
