package quant

import (
	"math"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// editor writes scales into a graph.
type editor struct {
	*plan
	names *ir.Names
	nodes []*ir.Node
	pairs map[*ir.Value]*ir.Value // of an activation, what it is once it was quantized
	quantizers
}

// quantizers are the versions of both operators.
type quantizers struct{ quantize, dequantize int }

// insert makes the graph one of QuantizeLinear and DequantizeLinear around the planned nodes.
func (p *plan) insert(layers []*layer, r *Report) error {
	e := &editor{plan: p, names: edit.NewNamer(p.g), pairs: map[*ir.Value]*ir.Value{}}
	e.quantizers = quantizers{edit.Version("QuantizeLinear", p.g), edit.Version("DequantizeLinear", p.g)}
	by := map[*ir.Node]*layer{}
	for _, l := range layers {
		by[l.node] = l
	}
	for _, v := range p.g.Inputs {
		e.pair(v)
	}
	for _, n := range p.g.Nodes {
		if err := e.node(n, by[n]); err != nil {
			return n.Errorf("%w", err)
		}
	}
	r.results = map[*ir.Value]int{}
	for i, n := range p.g.Nodes {
		if to := e.pairs[result(n)]; to != nil {
			r.results[to] = i
		}
	}
	p.g.Nodes = e.nodes
	for i, v := range p.g.Outputs {
		if to := e.pairs[v]; to != nil && v.Def != nil {
			// The output keeps its name; one that is an input stays as it is.
			v.Name, to.Name = to.Name, v.Name
			p.g.Outputs[i] = to
		}
	}
	return nil
}

func (e *editor) node(n *ir.Node, l *layer) error {
	r, quantized := e.plan.nodes[n]
	if quantized {
		for i, v := range n.Own() {
			if v != nil && v.Const != nil && e.group[v] != nil {
				n.Inputs[i] = e.constant(v)
			}
		}
	}
	for i, v := range n.Inputs {
		if to := e.pairs[v]; to != nil && (quantized || e.fromQuantized(v)) {
			n.Inputs[i] = to
		}
	}
	if l != nil {
		if err := e.weights(n, r, l); err != nil {
			return err
		}
	}
	e.nodes = append(e.nodes, n)
	for _, v := range n.Outputs {
		if v != nil {
			e.pair(v)
		}
	}
	return nil
}

// pair adds both operators after a value that has a scale.
func (e *editor) pair(v *ir.Value) {
	g := e.group[v]
	if g == nil || v.Const != nil {
		return
	}
	scale, zero := e.param(v.Name, g.param)
	q := e.apply("QuantizeLinear", e.quantize, v.Name+"_quantized", g.param.t, nil, v, scale, zero)
	e.pairs[v] = e.apply("DequantizeLinear", e.dequantize, v.Name+"_dequantized", ir.F32, nil, q, scale, zero)
}

// constant is a constant activation's numbers, dequantized.
func (e *editor) constant(v *ir.Value) *ir.Value {
	if to := e.pairs[v]; to != nil {
		return to
	}
	p := e.group[v].param
	values, err := edit.Floats(v.Const)
	if err != nil {
		return v // calibration has read it before
	}
	numbers := make([]int64, len(values))
	for i, x := range values {
		numbers[i] = p.quantized(x)
	}
	scale, zero := e.param(v.Name, p)
	q := ir.ConstValue(e.names.Name(v.Name+"_quantized"), edit.IntTensor(p.t, numbers, v.Const.Shape...))
	e.pairs[v] = e.apply("DequantizeLinear", e.dequantize, v.Name+"_dequantized", ir.F32, nil, q, scale, zero)
	return e.pairs[v]
}

func (e *editor) param(name string, p param) (scale, zero *ir.Value) {
	return ir.ConstValue(e.names.Name(name+"_scale"), edit.FloatTensor(ir.F32, []float64{float64(p.scale)})),
		ir.ConstValue(e.names.Name(name+"_zero_point"), edit.IntTensor(p.t, []int64{p.zero}))
}

// apply adds a node of one result.
func (e *editor) apply(op string, version int, name string, t ir.DType, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	name = e.names.Name(name)
	n := &ir.Node{Op: op, Version: version, Name: name, Inputs: in, Attrs: attrs}
	v := &ir.Value{Name: name, Type: t, Shape: in[0].Shape, HasShape: in[0].HasShape, Def: n}
	n.Outputs = []*ir.Value{v}
	e.nodes = append(e.nodes, n)
	return v
}

// weights gives a product its quantized weights and bias.
func (e *editor) weights(n *ir.Node, r rule, l *layer) error {
	w := n.Input(r.weight.Operand)
	scales := floatsOf(l.weights.scales)
	axis := ir.Attrs{"axis": int64(l.weights.axis)}
	shape := []int64{int64(len(scales))}
	if len(scales) == 1 {
		axis, shape = nil, nil
	}
	q := ir.ConstValue(e.names.Name(w.Name+"_quantized"), l.weights.tensor())
	scale := ir.ConstValue(e.names.Name(w.Name+"_scale"), edit.FloatTensor(ir.F32, scales, shape...))
	zero := ir.ConstValue(e.names.Name(w.Name+"_zero_point"), edit.IntTensor(ir.I8, make([]int64, len(scales)), shape...))
	n.Inputs[r.weight.Operand] = e.apply("DequantizeLinear", e.dequantize, w.Name+"_dequantized", ir.F32, axis, q, scale, zero)
	if l.bias == nil {
		return nil
	}
	numbers, products := l.weights.biases(l.bias, l.activation)
	for _, s := range products {
		if math.IsInf(float64(s), 0) {
			return errScale
		}
	}
	name := e.names.Name(w.Name + "_bias")
	if b := n.Input(r.weight.Bias); b != nil {
		name = b.Name
	}
	length := int64(len(numbers))
	qb := ir.ConstValue(e.names.Name(name+"_quantized"), edit.IntTensor(ir.I32, numbers, length))
	sb := ir.ConstValue(e.names.Name(name+"_scale"), edit.FloatTensor(ir.F32, floatsOf(products), length))
	zb := ir.ConstValue(e.names.Name(name+"_zero_point"), edit.IntTensor(ir.I32, make([]int64, length), length))
	b := e.apply("DequantizeLinear", e.dequantize, name+"_dequantized", ir.F32, ir.Attrs{"axis": int64(0)}, qb, sb, zb)
	for len(n.Inputs) <= r.weight.Bias {
		n.Inputs = append(n.Inputs, nil)
	}
	n.Inputs[r.weight.Bias] = b
	return nil
}

func floatsOf(xs []float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}
