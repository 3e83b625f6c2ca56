package quant

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// rule says which of an operator's operands are quantized.
type rule struct {
	// data are operands that are activations; every is that all are.
	data  []int
	every bool
	// moves is that the result has elements of the operands alone: it has their scale.
	moves bool
	// weight describes the operand whose constants are quantized by filter. The function of sets it.
	weight *ops.Weights
}

// rules are the operators that are computed in integers, or from and to them. All others stay float.
var rules = map[string]rule{
	// Products.
	"Conv":          {data: []int{0}},
	"ConvTranspose": {data: []int{0}},
	"Gemm":          {data: []int{0}},
	"MatMul":        {data: []int{0, 1}},

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

// of is the rule of a node, and whether it has one: nodes whose factors or groups integers cannot express stay float.
func of(n *ir.Node) (rule, bool) {
	r, ok := rules[n.Op]
	r.weight = ops.WeightsOf(n)
	return r, ok && (r.weight == nil || !r.weight.Scaled(n) && !r.weight.Split(n))
}

// activations are the operands of a node that have a scale for the whole tensor, constants among them.
func (r rule) activations(n *ir.Node) []*ir.Value {
	var out []*ir.Value
	for i, v := range n.Own() {
		if v != nil && v.Type == ir.F32 && (r.every || slices.Contains(r.data, i)) && (r.weight == nil || i != r.weight.Operand || v.Const == nil) {
			out = append(out, v)
		}
	}
	return out
}

// weights is the constant operand that is quantized by channel, or nil.
func (r rule) weights(n *ir.Node) *ir.Value {
	if r.weight == nil {
		return nil
	}
	if w := n.Input(r.weight.Operand); w != nil && w.Const != nil && w.Type == ir.F32 {
		return w
	}
	return nil
}

// added is the constant bias of a node with an element for each of so many channels, or nil.
func (r rule) added(n *ir.Node, channels int64) *ir.Value {
	if r.weight == nil || r.weight.Bias == 0 {
		return nil
	}
	if b := n.Input(r.weight.Bias); b != nil && b.Const != nil && len(b.Const.Shape) == 1 && b.Const.Shape[0] == channels {
		return b
	}
	return nil
}
