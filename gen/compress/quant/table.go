package quant

import (
	"slices"

	"rules_dnn/gen/ir"
)

// rule says which of an operator's operands are quantized.
type rule struct {
	// data are operands that are activations; every is that all are.
	data  []int
	every bool
	// moves is that the result has elements of the operands alone: it has their scale.
	moves bool
	// weight is an operand whose constants are quantized by channel, 0: none; channels is its axis of result channels. bias is added to their
	// sums, 0: none.
	weight   int
	channels func(n *ir.Node, rank int) int
	bias     int
}

// rules are the operators that are computed in integers, or from and to them. All others stay float.
var rules = map[string]rule{
	// Products.
	"Conv":          {data: []int{0}, weight: 1, channels: axis(0), bias: 2},
	"ConvTranspose": {data: []int{0}, weight: 1, channels: axis(1), bias: 2},
	"Gemm":          {data: []int{0}, weight: 1, channels: gemmChannels, bias: 2},
	"MatMul":        {data: []int{0, 1}, weight: 1, channels: lastAxis},

	// Element by element, and means.
	"Add":               {data: []int{0, 1}},
	"Sub":               {data: []int{0, 1}},
	"Mul":               {data: []int{0, 1}},
	"Div":               {data: []int{0, 1}},
	"Relu":              {data: []int{0}},
	"Clip":              {data: []int{0}},
	"LeakyRelu":         {data: []int{0}},
	"PRelu":             {data: []int{0}},
	"Elu":               {data: []int{0}},
	"Gelu":              {data: []int{0}},
	"HardSigmoid":       {data: []int{0}},
	"HardSwish":         {data: []int{0}},
	"Mish":              {data: []int{0}},
	"Sigmoid":           {data: []int{0}},
	"Softmax":           {data: []int{0}},
	"Tanh":              {data: []int{0}},
	"AveragePool":       {data: []int{0}},
	"GlobalAveragePool": {data: []int{0}},
	"ReduceMean":        {data: []int{0}},

	// Moves.
	"Concat":        {every: true, moves: true},
	"DepthToSpace":  {data: []int{0}, moves: true},
	"Expand":        {data: []int{0}, moves: true},
	"Flatten":       {data: []int{0}, moves: true},
	"Gather":        {data: []int{0}, moves: true},
	"GlobalMaxPool": {data: []int{0}, moves: true},
	"MaxPool":       {data: []int{0}, moves: true},
	"ReduceMax":     {data: []int{0}, moves: true},
	"Reshape":       {data: []int{0}, moves: true},
	"Slice":         {data: []int{0}, moves: true},
	"SpaceToDepth":  {data: []int{0}, moves: true},
	"Split":         {data: []int{0}, moves: true},
	"Squeeze":       {data: []int{0}, moves: true},
	"Tile":          {data: []int{0}, moves: true},
	"Transpose":     {data: []int{0}, moves: true},
	"Unsqueeze":     {data: []int{0}, moves: true},
}

// follows are operators that bound what the one before them gives: both are computed at once, and only the last result is quantized.
var follows = []string{"Relu", "Clip"}

func axis(a int) func(*ir.Node, int) int { return func(*ir.Node, int) int { return a } }

func lastAxis(_ *ir.Node, rank int) int { return rank - 1 }

func gemmChannels(n *ir.Node, _ int) int {
	if n.Int("transB", 0) != 0 {
		return 0
	}
	return 1
}

// of is the rule of a node, and whether it has one: nodes whose factors or groups integers cannot express stay float.
func of(n *ir.Node) (rule, bool) {
	r, ok := rules[n.Op]
	switch {
	case !ok:
		return r, false
	case n.Op == "Gemm" && (n.Float("alpha", 1) != 1 || n.Float("beta", 1) != 1):
		return r, false
	case n.Op == "ConvTranspose" && n.Int("group", 1) != 1:
		return r, false // the axis of result channels is split among weights and groups
	}
	return r, true
}

// activations are the operands of a node that have a scale for the whole tensor, constants among them.
func (r rule) activations(n *ir.Node) []*ir.Value {
	var out []*ir.Value
	for i, v := range n.Own() {
		if v != nil && v.Type == ir.F32 && (r.every || slices.Contains(r.data, i)) && (r.weight == 0 || i != r.weight || v.Const == nil) {
			out = append(out, v)
		}
	}
	return out
}

// weights is the constant operand that is quantized by channel, or nil.
func (r rule) weights(n *ir.Node) *ir.Value {
	if r.weight == 0 {
		return nil
	}
	if w := n.Input(r.weight); w != nil && w.Const != nil && w.Type == ir.F32 {
		return w
	}
	return nil
}

// added is the constant bias of a node with an element for each of so many channels, or nil.
func (r rule) added(n *ir.Node, channels int64) *ir.Value {
	if r.bias == 0 {
		return nil
	}
	if b := n.Input(r.bias); b != nil && b.Const != nil && len(b.Const.Shape) == 1 && b.Const.Shape[0] == channels {
		return b
	}
	return nil
}
