package train

import (
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// trained is the definition of BatchNormalization that has attribute training_mode.
const trained = 15

// statisticsOf are the operands of a node that training moves: mean and variance of a normalisation by batch.
func statisticsOf(node *ir.Node) []int {
	if ops.NormalisesByChannel(node) && !ops.NormalisesByBatch(node) && len(node.Inputs) == 5 {
		return []int{3, 4}
	}
	return nil
}

// normaliseByBatch makes nodes take the statistics of the batch, and gives the moved ones as further results, by the names
// of those that they replace.
func normaliseByBatch(g *ir.Graph) map[string]*ir.Value {
	moved := map[string]*ir.Value{}
	for _, node := range g.Nodes {
		at := statisticsOf(node)
		if at == nil {
			continue
		}
		node.Attrs = maps.Clone(node.Attrs)
		if node.Attrs == nil {
			node.Attrs = ir.Attrs{}
		}
		delete(node.Attrs, "spatial") // of old definitions; it is 1
		node.Attrs["training_mode"], node.Version = int64(1), trained
		node.Outputs = node.Outputs[:1]
		for _, i := range at {
			in := node.Inputs[i]
			v := &ir.Value{Name: node.Outputs[0].Name + " moves " + in.Name, Type: in.Type, Def: node}
			moved[in.Name] = v
			node.Outputs = append(node.Outputs, v)
		}
	}
	return moved
}

// logits end a network that ends with a softmax before it: the loss has one of its own.
func logits(g *ir.Graph) {
	for i, node := range g.Nodes {
		if node.Op == "Softmax" && node.Outputs[0] == g.Outputs[0] {
			g.Outputs[0] = node.Inputs[0]
			g.Nodes = append(append([]*ir.Node{}, g.Nodes[:i]...), g.Nodes[i+1:]...)
			return
		}
	}
}
