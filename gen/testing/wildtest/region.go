package wildtest

import "rules_dnn/gen/ir"

// region adds a region to a node whose operands are known. Its inputs and outputs are as many as
// the operator asks for, mostly.
func (b *builder) region(n *ir.Node) ir.RegionRef {
	r := &builder{Source: b.Source, g: &ir.Graph{Name: "r", Opset: b.g.Opset}, outer: b, names: b.names, depth: b.depth + 1}
	inputs, outputs := 0, len(n.Outputs)
	switch n.Op {
	case "Loop":
		inputs, outputs = max(2, len(n.Own())), 1+len(n.Outputs)
	case "Scan":
		inputs = len(n.Own())
		if n.Version == 8 {
			inputs = max(0, inputs-1)
		}
	}
	if b.Rarely(30) {
		inputs++
	}
	for i := range inputs {
		v := &ir.Value{Name: r.name()}
		if own := n.Own(); i < len(own) && own[i] != nil {
			v.Type = own[i].Type
		}
		r.g.Inputs = append(r.g.Inputs, v)
		r.pool = append(r.pool, v)
	}
	b.captures(n, r)
	r.nodes(1 + b.N(4))
	for range outputs {
		r.g.Outputs = append(r.g.Outputs, r.output())
	}
	n.Regions = append(n.Regions, r.g)
	return ir.RegionRef(len(n.Regions) - 1)
}

// captures gives the region the captures of the node: the first region of a node chooses them, and
// the others have the same.
func (b *builder) captures(n *ir.Node, r *builder) {
	if len(n.Regions) == 0 {
		for range b.N(3) {
			if len(b.pool) > 0 {
				v := Among(b.Source, b.pool)
				n.Inputs = append(n.Inputs, v)
				n.Captures++
				b.use(v)
			}
		}
	}
	for _, v := range n.Inputs[len(n.Inputs)-n.Captures:] {
		in := &ir.Value{Name: r.name(), Type: v.Type, Shape: v.Shape, HasShape: v.HasShape}
		r.g.Inputs = append(r.g.Inputs, in)
		r.pool = append(r.pool, in)
	}
}

func (b *builder) output() *ir.Value {
	if len(b.pool) == 0 || b.Rarely(6) {
		return b.constant(Among(b.Source, types), false)
	}
	return b.pool[len(b.pool)-1-b.N(len(b.pool))]
}
