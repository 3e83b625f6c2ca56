// Package islands makes integer operators of the islands of networks that say in floats what is quantized: operators whose operands come from
// DequantizeLinear with constant scales and zero points. A convolution or a product of matrices becomes one of integers, with a bias of 32 bits, and
// its sums become floats, or integers of 8 bits, by one factor for each channel: round(float32(sum) * factor) + zero point, saturated. What moves
// elements, or chooses the greatest, does so with integers. Bounds are integers, functions of one quantized tensor tables of 256 entries, and means
// have sums of integers.
//
// Types and shapes must be inferred before. What a rule replaces stays until nothing reads it (package dce). The results are those of
// floats up to one step of the last quantization, for floats round sums; all but those of contractions and means are the same.
package islands

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// rule replaces a node by others, the last of which computes its result; nil where it does not apply.
type rule struct {
	name  string
	apply func(p *pass, n *ir.Node) []*ir.Node
}

// rounds are applied one after the other, each to a fixed point: what moves stands between operators and their quantization.
var rounds = [][]rule{
	{{"pair", dropPair}, {"dequantize later", moveDequantize}, {"quantize earlier", moveQuantize}},
	{{"contraction", quantizedContraction}},
	{{"contraction of floats", floatContraction}, {"sum", summed}, {"table", table}},
}

// Run replaces all that it can in the graph and its regions and reports whether it did.
func Run(g *ir.Graph) bool {
	if !has(g) {
		return false
	}
	return run(g, edit.NewNamer(g), shape.Facts(g))
}

func run(g *ir.Graph, names *ir.Names, facts sym.Facts) bool {
	changed := false
	if slices.ContainsFunc(g.Nodes, dequantizes) {
		p := &pass{g: g, names: names, facts: facts}
		for _, rules := range rounds {
			for p.round(rules) {
				changed = true
			}
		}
	}
	edit.EachRegion(g, func(r *ir.Graph) { changed = run(r, names, facts) || changed })
	return changed
}

// Keeps reports whether a node makes floats of constant integers: weights that stay integers until it is known whether these are multiplied.
func Keeps(n *ir.Node) bool {
	return n.Op == "DequantizeLinear" && len(n.Inputs) > 0 && n.Inputs[0] != nil && n.Inputs[0].Const != nil
}

// Kept reports whether there is such a node in the graph or its regions.
func Kept(g *ir.Graph) bool {
	kept := slices.ContainsFunc(g.Nodes, Keeps)
	edit.EachRegion(g, func(r *ir.Graph) { kept = kept || Kept(r) })
	return kept
}

// has reports whether a node of the graph or its regions makes floats of integers.
func has(g *ir.Graph) bool {
	found := slices.ContainsFunc(g.Nodes, dequantizes)
	edit.EachRegion(g, func(r *ir.Graph) { found = found || has(r) })
	return found
}

func dequantizes(n *ir.Node) bool { return n.Op == "DequantizeLinear" }

// pass is a run on one graph.
type pass struct {
	g     *ir.Graph
	names *ir.Names
	facts sym.Facts
	uses  map[*ir.Value]int
	// same are values that others stand for.
	same map[*ir.Value]*ir.Value
}

// round applies rules to every node, and to what they make of it, and reports whether one did something.
func (p *pass) round(rules []rule) bool {
	p.sweep()
	p.same = map[*ir.Value]*ir.Value{}
	changed := false
	var nodes []*ir.Node
	for _, n := range p.g.Nodes {
		for i, v := range n.Inputs {
			n.Inputs[i] = edit.Resolve(p.same, v)
		}
		for left := []*ir.Node{n}; len(left) > 0; {
			n, left = left[len(left)-1], left[:len(left)-1]
			with := p.apply(rules, n)
			if with == nil {
				nodes = append(nodes, n)
				continue
			}
			changed = true
			slices.Reverse(with)
			left = append(left, with...)
		}
	}
	p.g.Nodes = nodes
	edit.Replace(p.g, p.same)
	return changed
}

// apply is what the first rule that applies makes of a node; nil where none does.
func (p *pass) apply(rules []rule, n *ir.Node) []*ir.Node {
	for _, r := range rules {
		if result(n) == nil {
			return nil
		}
		if with := r.apply(p, n); with != nil {
			return with
		}
	}
	return nil
}

// sweep counts uses, and drops what is left of islands.
func (p *pass) sweep() {
	p.uses = edit.Uses(p.g)
	var kept []*ir.Node
	for _, n := range slices.Backward(p.g.Nodes) {
		if v := result(n); v == nil || p.uses[v] > 0 || n.Op == ops.Bind {
			kept = append(kept, n)
			continue
		}
		for _, v := range n.Inputs {
			p.uses[v]--
		}
	}
	slices.Reverse(kept)
	p.g.Nodes = kept
}

// result is the only result of a node; nil where it has several.
func result(n *ir.Node) *ir.Value {
	if len(n.Outputs) != 1 || len(n.Regions) > 0 {
		return nil
	}
	return n.Outputs[0]
}

// builder makes the nodes that stand for another one.
type builder struct {
	*pass
	of    *ir.Node
	nodes []*ir.Node
}

func (p *pass) replace(n *ir.Node) *builder { return &builder{pass: p, of: n} }

// add appends a node whose result is of a type and a shape.
func (b *builder) add(op string, version int, t ir.DType, shape ir.Shape, attrs ir.Attrs, inputs ...*ir.Value) *ir.Value {
	for len(inputs) > 0 && inputs[len(inputs)-1] == nil {
		inputs = inputs[:len(inputs)-1]
	}
	v := &ir.Value{Name: b.names.Name(b.of.Outputs[0].Name + "." + op), Type: t, Shape: shape, HasShape: true}
	n := &ir.Node{Op: op, Version: version, Name: b.of.Name, Inputs: inputs, Outputs: []*ir.Value{v}, Attrs: attrs, Origins: b.of.Origins}
	v.Def = n.MadeFor(b.of)
	b.nodes = append(b.nodes, v.Def)
	return v
}

// done makes the last node compute the node's result.
func (b *builder) done() []*ir.Node {
	last := b.nodes[len(b.nodes)-1]
	last.Outputs[0] = b.of.Outputs[0]
	last.Outputs[0].Def = last
	return b.nodes
}

func (b *builder) constant(what string, t *ir.Tensor) *ir.Value {
	return ir.ConstValue(b.names.Name(b.of.Outputs[0].Name+"."+what), t)
}

// integer is a constant of one number.
func (b *builder) integer(what string, t ir.DType, n int64) *ir.Value {
	return b.constant(what, edit.IntTensor(t, []int64{n}))
}

// floats are a constant of one number, or of a vector of them.
func (b *builder) floats(what string, xs []float32) *ir.Value {
	wide := make([]float64, len(xs))
	for i, x := range xs {
		wide[i] = float64(x)
	}
	if len(xs) == 1 {
		return b.constant(what, edit.FloatTensor(ir.F32, wide))
	}
	return b.constant(what, edit.FloatTensor(ir.F32, wide, int64(len(xs))))
}
