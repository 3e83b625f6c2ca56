package ops

import "rules_dnn/gen/ir"

// Weights describes the operand that holds an operator's weights. These are filters. A filter sums
// over channels of another operand.
type Weights struct {
	// Operand is the number of the operand.
	Operand int
	// Bias is the number of the operand that is added to sums, a number for each filter. 0: no
	// operand.
	Bias int
	// Kernel: axes of a window follow the axes of filters and channels. Otherwise these are the
	// last two.
	Kernel bool
	// Linear: the operator multiplies floats by the weights, sums, and adds the bias.
	Linear bool
	// channelsFirst reports whether the axis of channels is before that of filters. Nil: it is not.
	channelsFirst func(n *ir.Node) bool
}

// WeightsOf returns the description of a node's weights, or nil if its operator has no weights.
func WeightsOf(n *ir.Node) *Weights {
	if row := lookup(n.Op); row != nil {
		return row.Weights
	}
	return nil
}

// Axes returns the axes of weights of a rank along which filters and channels lie.
func (w *Weights) Axes(n *ir.Node, rank int) (filters, channels int) {
	if !w.Kernel {
		filters = rank - 2
	}
	channels = filters + 1
	if w.channelsFirst != nil && w.channelsFirst(n) {
		return channels, filters
	}
	return filters, channels
}

// Factor reports whether the weights are a factor of a matrix product of floats. It is false if w
// is nil.
func (w *Weights) Factor() bool { return w != nil && w.Linear && !w.Kernel }

// Split reports whether the weights have a group's filters along the axis of filters, and the
// groups along the axis of channels.
func (w *Weights) Split(n *ir.Node) bool {
	filters, _ := w.Axes(n, 2)
	return w.Kernel && filters > 0 && n.Int("group", 1) != 1
}

// Scaled reports whether attributes scale the node's sums or its bias.
func (w *Weights) Scaled(n *ir.Node) bool {
	return w.Linear && (n.Float("alpha", 1) != 1 || n.Float("beta", 1) != 1)
}

func always(*ir.Node) bool { return true }

func unlessTransposed(n *ir.Node) bool { return n.Int("transB", 0) == 0 }
