package islands

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// Report is what computes integers in a quantized network, and what floats.
type Report struct {
	// Nodes is how many nodes give integers of quantized tensors, or sums of them.
	Nodes int
	// Kept are the nodes that give floats, but for those that make these of integers.
	Kept []Float
}

// Float is a node that computes floats, and the reason.
type Float struct{ Node, Why string }

// Floats says what stays float in a network in which something is quantized; nil in others.
func Floats(g *ir.Graph) *Report {
	if !quantizedAt(g) {
		return nil
	}
	r := &Report{}
	r.add(g, shape.Facts(g))
	return r
}

// quantizedAt reports whether a node of the graph or its regions quantizes.
func quantizedAt(g *ir.Graph) bool {
	found := slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool { return integer(n) || n.Op == "QuantizeLinear" })
	edit.EachRegion(g, func(r *ir.Graph) { found = found || quantizedAt(r) })
	return found
}

// integer reports whether a node multiplies or adds quantized integers.
func integer(n *ir.Node) bool {
	return strings.HasPrefix(n.Op, ops.Summed) || strings.HasPrefix(n.Op, "QLinear") || strings.HasSuffix(n.Op, "Integer")
}

func (r *Report) add(g *ir.Graph, facts sym.Facts) {
	readers := readersOf(g)
	for _, n := range g.Nodes {
		switch {
		case len(n.Outputs) == 0 || n.Outputs[0] == nil || n.Op == ops.Bind:
		case integer(n) || n.Op == "QuantizeLinear" || len(n.Regions) == 0 && ofBytes(n):
			r.Nodes++
		case len(n.Regions) == 0 && n.Outputs[0].Type.IsFloat() && !dequantizes(n) && slices.ContainsFunc(n.Inputs, computed):
			r.Kept = append(r.Kept, Float{n.Label(), why(g, n, readers, facts)})
		}
	}
	edit.EachRegion(g, func(inner *ir.Graph) { r.add(inner, facts) })
}

// ofBytes reports whether a node gives integers of 8 bits, of such.
func ofBytes(n *ir.Node) bool { return n.Outputs[0].Type == ir.U8 || n.Outputs[0].Type == ir.I8 }

func computed(v *ir.Value) bool { return v != nil && v.Const == nil }

// readersOf are the nodes that read each value.
func readersOf(g *ir.Graph) map[*ir.Value][]*ir.Node {
	out := map[*ir.Value][]*ir.Node{}
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			if v != nil {
				out[v] = append(out[v], n)
			}
		}
	}
	return out
}

// why is the reason why a node computes floats: first what it reads, then who reads it, and then what it does.
func why(g *ir.Graph, n *ir.Node, readers map[*ir.Value][]*ir.Node, facts sym.Facts) string {
	if reason := ofOperands(n); reason != "" {
		return reason
	}
	if contractions[n.Op] != nil {
		return "its sums may exceed 32 bits, or integer products do not support its scales or factors"
	}
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		if edit.IsOutput(g, v) {
			return fmt.Sprintf("its result %s is a float output", ir.Show(v.Name))
		}
		for _, r := range readers[v] {
			if r.Op != "QuantizeLinear" {
				return fmt.Sprintf("%s reads its result as float", r.Label())
			}
		}
	}
	return ofMeaning(n, facts)
}

// ofOperands says which operand is none of integers with a scale and a zero point that are constants; "" where all are.
func ofOperands(n *ir.Node) string {
	for i, v := range n.Own() {
		switch q, a := dequantized(v); {
		case v == nil || !v.Type.IsFloat():
		case v.Const != nil:
			if contractions[n.Op] != nil && i < 2 {
				return fmt.Sprintf("operand %d (%s) is a float constant", i, ir.Show(v.Name))
			}
		case v.Def == nil:
			return fmt.Sprintf("operand %d (%s) is a float input", i, ir.Show(v.Name))
		case !dequantizes(v.Def):
			return fmt.Sprintf("operand %d is the float result of %s", i, v.Def.Label())
		case a == nil:
			return fmt.Sprintf("operand %d has a scale or a zero point that is not constant, is for blocks, or is not between 2^-100 and 2^100", i)
		case !a.isBytes():
			return fmt.Sprintf("operand %d has elements of type %s, which tables and products do not support", i, q.Type)
		case !a.sole():
			return fmt.Sprintf("operand %d has several scales or zero points", i)
		}
	}
	return ""
}

// ofMeaning says what a node does whose operands and results are quantized.
func ofMeaning(n *ir.Node, facts sym.Facts) string {
	m, err := ops.Build(n, facts)
	if err != nil || m.Call != nil {
		return "it has no integer form"
	}
	tensors := map[*ir.Value]bool{}
	for _, v := range n.Inputs {
		if computed(v) {
			tensors[v] = true
		}
	}
	switch t := ops.NodeMapping(n, m); {
	case len(m.Stages) > 1 || t == ops.ManyToMany || slices.ContainsFunc(m.Stages, joins):
		return "each result combines several elements with float functions"
	case len(tensors) > 1:
		return fmt.Sprintf("each result combines %d tensors: bytes are read and written, floats stay in registers", len(tensors))
	case work(m) < leastWork:
		return "a table would be slower than floats in registers, between reads and writes of bytes"
	}
	return "it has parameters of several elements, so a table of one operand cannot compute it"
}
