package precision

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

const whySummand = "an input that is only added, like a mask, and may leave the range of 16 bits"

// keepSummands leaves inputs f32 that are only added to what is computed, or chosen instead: masks of attention, whose least numbers may be far beyond
// the range. One that is narrowed would be the type's least number, and a sum with it infinite: a row that is masked whole would have no weights.
func (h *halves) keepSummands() {
	readers := map[*ir.Value][]*ir.Node{}
	for _, n := range h.g.Nodes {
		for _, v := range n.Inputs {
			readers[v] = append(readers[v], n)
		}
	}
	for _, v := range h.g.Inputs {
		if v.Type == ir.F32 && h.onlyAdded(v, readers) {
			h.kept[v] = whySummand
		}
	}
}

// onlyAdded reports whether a value is read by some node, and by none but sums and choices, and those that move it to one.
func (h *halves) onlyAdded(v *ir.Value, readers map[*ir.Value][]*ir.Node) bool {
	return len(readers[v]) > 0 && !slices.ContainsFunc(readers[v], func(n *ir.Node) bool { return !h.adds(n, v) && !h.movesToSum(n, readers) })
}

// adds reports whether a node adds a value to others, or chooses among them.
func (h *halves) adds(n *ir.Node, v *ir.Value) bool {
	if !slices.ContainsFunc(n.Inputs, func(x *ir.Value) bool { return x != nil && x != v && x.Const == nil && x.Type == ir.F32 }) {
		return false
	}
	m, err := ops.Build(n, h.facts)
	return err == nil && ops.OnlyAdds(m)
}

// movesToSum reports whether a node's results are elements of its one operand that is no constant, and are only added.
func (h *halves) movesToSum(n *ir.Node, readers map[*ir.Value][]*ir.Node) bool {
	of := slices.DeleteFunc(slices.Clone(n.Inputs), func(x *ir.Value) bool { return x == nil || x.Type != ir.F32 })
	if len(of) != 1 || len(n.Regions) > 0 {
		return false
	}
	m, err := ops.Build(n, h.facts)
	if err != nil || m.Call != nil || !ops.GivesOn(m) {
		return false
	}
	return !slices.ContainsFunc(n.Outputs, func(x *ir.Value) bool { return x != nil && !h.onlyAdded(x, readers) })
}
