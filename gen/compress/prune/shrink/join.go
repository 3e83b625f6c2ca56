package shrink

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// pointwise are operators of one operand that compute each element of itself. Further operands are constants of one element.
var pointwise = []string{"Abs", "Cast", "Celu", "Clip", "Dropout", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Mish",
	"Neg", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Swish", "Tanh", "ThresholdedRelu"}

// paired are operators of two operands that compute each element of those at its place.
var paired = []string{"Add", "Div", "Max", "Min", "Mul", "PRelu", "Pow", "Sub"}

// pools are operators that keep channels apart.
var pools = []string{"AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"}

// join says which channels a node's operands and results have in common; those of which it is not known stay.
func (s *shrinker) join(n *ir.Node) {
	if len(n.Outputs) == 0 || n.Outputs[0] == nil || n.Captures > 0 || len(n.Regions) > 0 || slices.ContainsFunc(n.Outputs[1:], func(v *ir.Value) bool { return v != nil && s.uses[v] > 0 }) {
		s.fixAll(n)
		return
	}
	x, y := n.Input(0), n.Outputs[0]
	switch {
	case n.Op == "Conv":
		s.joinConv(n, x, y)
	case ops.WeightsOf(n).Factor():
		s.joinProduct(n, x, y)
	case ops.NormalisesByChannel(n) && n.Int("training_mode", 0) == 0 && len(n.Inputs) == 5:
		s.same(x, y)
		for i := 1; i < 5; i++ {
			s.along(y, part{n, i, 0, 1})
		}
	case n.Op == "Flatten":
		s.joinFlatten(n, x, y)
	case slices.Contains(pools, n.Op):
		s.same(x, y)
	case slices.Contains(pointwise, n.Op) && othersAreScalars(n):
		s.same(x, y)
	case slices.Contains(paired, n.Op) && len(n.Inputs) == 2:
		s.joinBinary(n, y)
	default:
		s.fixAll(n)
	}
}

func (s *shrinker) fixAll(n *ir.Node) {
	for _, v := range append(slices.Clone(n.Inputs), n.Outputs...) {
		s.fix(v)
	}
}

func othersAreScalars(n *ir.Node) bool {
	for _, v := range n.Inputs[1:] {
		if v != nil && (v.Const == nil || v.Const.Len() != 1) {
			return false
		}
	}
	return true
}

// joinConv: filters give the result's channels, kernels read the operand's; of a depthwise one both are the same.
func (s *shrinker) joinConv(n *ir.Node, x, y *ir.Value) {
	w, groups := n.Input(1), n.Int("group", 1)
	depthwise := w.Const != nil && groups > 1 && w.Const.Shape[0] == groups && w.Const.Shape[1] == 1
	if w.Const == nil || groups != 1 {
		if !depthwise || s.find(x) == nil || s.find(x).n != int(groups) {
			s.fixAll(n)
			return
		}
		// The attribute group follows the weights.
		s.same(x, y)
	} else {
		s.reads(x, part{n, 1, 1, 1})
	}
	s.along(y, part{n, 1, 0, 1})
	if n.Input(2) != nil {
		s.along(y, part{n, 2, 0, 1})
	}
}

// reads says that weights read a value's channels.
func (s *shrinker) reads(x *ir.Value, p part) {
	s.along(x, p)
	if f := s.find(x); f != nil {
		f.readers = append(f.readers, reading{p, x})
	}
}

// joinProduct: of a product of a matrix and constant weights, rows give the result's channels and columns read the operand's.
func (s *shrinker) joinProduct(n *ir.Node, x, y *ir.Value) {
	of := ops.WeightsOf(n)
	w := n.Input(of.Operand)
	if of.Scaled(n) || n.Int("transA", 0) != 0 || !isMatrix(w) || x.Rank() != 2 {
		s.fixAll(n)
		return
	}
	filters, channels := of.Axes(n, 2)
	s.reads(x, part{n, of.Operand, channels, 1})
	s.along(y, part{n, of.Operand, filters, 1})
	if c := n.Input(2); c != nil {
		switch {
		case c.Const == nil || len(c.Const.Shape) > 2:
			s.fixAll(n)
		case c.Const.Len() > 1 || s.find(y) != nil && s.find(y).n == 1:
			s.along(y, part{n, 2, len(c.Const.Shape) - 1, 1})
		}
	}
}

// isMatrix reports whether a value is a constant matrix of floats.
func isMatrix(v *ir.Value) bool {
	return v.Const != nil && v.Const.Type.IsFloat() && len(v.Const.Shape) == 2
}

// joinFlatten: a channel of the operand is one or more of the result, side by side. What reads the result reads the operand's channels.
func (s *shrinker) joinFlatten(n *ir.Node, x, y *ir.Value) {
	f, h := s.find(x), s.find(y)
	if n.Int("axis", 1) != 1 || f == nil || h == nil || h.n%f.n != 0 {
		s.fixAll(n)
		return
	}
	if h.n == f.n {
		s.same(x, y)
		return
	}
	s.spread(x, y, h.n/f.n)
}

// spread takes the result's readers over, if nothing else has its channels. Each of the operand's channels is so many of theirs.
func (s *shrinker) spread(x, y *ir.Value, each int) {
	users := 0
	for _, n := range s.g.Nodes {
		for i, v := range n.Inputs {
			if v != y {
				continue
			}
			users++
			of := ops.WeightsOf(n)
			if i != 0 || !of.Factor() || !isMatrix(n.Input(of.Operand)) || n.Int("transA", 0) != 0 {
				s.fix(x)
				s.fix(y)
				return
			}
			_, channels := of.Axes(n, 2)
			s.reads(x, part{n, of.Operand, channels, each})
		}
	}
	s.fix(y) // its readers belong to x
	if users != s.uses[y] {
		s.fix(x)
	}
}

// joinBinary: operands of equal channels have the same ones; one without channels, or with one for all, has none of them.
func (s *shrinker) joinBinary(n *ir.Node, y *ir.Value) {
	for i, v := range n.Inputs {
		if v == nil {
			s.fixAll(n)
			return
		}
		if v.Const == nil {
			if c, ok := channels(v); ok && v.Rank() == y.Rank() && s.find(y) != nil && c == s.find(y).n {
				s.same(v, y)
			} else {
				s.fixAll(n)
			}
			continue
		}
		axis := len(v.Const.Shape) - (y.Rank() - 1)
		switch {
		case axis >= 0 && axis > 1:
			s.fixAll(n)
		case axis >= 0 && (v.Const.Shape[axis] > 1 || s.find(y) != nil && s.find(y).n == 1):
			s.along(y, part{n, i, axis, 1})
		}
	}
}
