package dce

import (
	"reflect"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// Share removes nodes that count what a node before them counts, as exporters write a NonZero for each use of one mask, and reports whether there were any.
// Each count is a symbol of its own: of two that are equal nothing else says so, and what is made of both has a shape in terms of both.
// It is called before shapes are inferred, since they have no such symbols then.
func Share(g *ir.Graph) bool {
	changed := false
	edit.EachRegion(g, func(r *ir.Graph) { changed = Share(r) || changed })
	first := map[*ir.Value][]*ir.Node{} // that count, by their first operand
	instead := map[*ir.Value]*ir.Value{}
	dead := map[*ir.Node]bool{}
	for _, n := range g.Nodes {
		row := ops.Lookup(n.Op)
		if row == nil || !row.Executed || row.Form != ops.Opaque || len(n.Inputs) == 0 {
			continue
		}
		for i, v := range n.Inputs {
			n.Inputs[i] = edit.Resolve(instead, v)
		}
		of := n.Inputs[0]
		i := slices.IndexFunc(first[of], func(f *ir.Node) bool { return alike(f, n) })
		if i < 0 || slices.ContainsFunc(n.Outputs, func(v *ir.Value) bool { return v != nil && (v.HasShape || edit.IsOutput(g, v)) }) {
			first[of] = append(first[of], n)
			continue
		}
		for k, v := range n.Outputs {
			if v != nil {
				instead[v] = first[of][i].Outputs[k]
			}
		}
		dead[n] = true
	}
	edit.Replace(g, instead)
	return edit.RemoveNodes(g, func(n *ir.Node) bool { return dead[n] }) || changed
}

// alike reports whether a node computes all that another one does.
func alike(f, n *ir.Node) bool {
	has := func(k int) bool { return k < len(f.Outputs) && f.Outputs[k] != nil }
	for k, v := range n.Outputs {
		if v != nil && !has(k) {
			return false
		}
	}
	return f.Op == n.Op && f.Version == n.Version && slices.Equal(f.Inputs, n.Inputs) && reflect.DeepEqual(f.Attrs, n.Attrs)
}
