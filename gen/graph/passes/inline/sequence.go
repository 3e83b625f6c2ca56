package inline

import (
	"fmt"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// mostParts bounds the tensors of a sequence.
const mostParts = 1 << 12

// Sequences makes tensors of sequences whose lengths and positions are known, in g and in its regions, and reports whether it changed the graph.
// A sequence becomes the list of its tensors (SequenceConstruct); what reads it, these tensors.
// Nodes whose lengths inference may yet learn stay.
func Sequences(g *ir.Graph) (bool, error) {
	in := &inliner{graph: g, names: edit.OwnNames(g)}
	var nodes []*ir.Node
	for _, n := range g.Nodes {
		with, err := in.sequence(n)
		if err != nil {
			return false, n.Errorf("%w", err)
		}
		if with == nil {
			nodes = append(nodes, n)
			continue
		}
		nodes, in.changed = append(nodes, with...), true
	}
	g.Nodes = nodes
	for _, n := range g.Nodes {
		for _, r := range n.Regions {
			changed, err := Sequences(r)
			if err != nil {
				return false, err
			}
			in.changed = in.changed || changed
		}
	}
	return in.changed, nil
}

// sequence are the nodes that stand for n; nil where it has nothing to do with sequences, or not enough is known.
func (in *inliner) sequence(n *ir.Node) ([]*ir.Node, error) {
	switch n.Op {
	case "SplitToSequence":
		return in.splitToSequence(n)
	case "SequenceInsert", "SequenceErase", "SequenceAt":
		return in.atPosition(n)
	case "SequenceLength":
		parts, ok, err := in.parts(n)
		if !ok || err != nil {
			return nil, err
		}
		length := ir.ConstValue(in.names.Name(n.Outputs0()+".length"), edit.IntTensor(ir.I64, []int64{int64(len(parts))}))
		return []*ir.Node{in.identity(n, length, n.Outputs[0])}, nil
	case "ConcatFromSequence":
		return in.concatFromSequence(n)
	case "Identity":
		if parts, ok := tensors(n.Input(0)); ok && len(n.Outputs) == 1 && n.Outputs[0] != nil {
			return []*ir.Node{in.construct(n, n.Outputs[0], parts)}, nil
		}
	case "If", "Loop", "Scan":
		return in.sequencesOf(n)
	}
	return nil, nil
}

// tensors are those of a sequence that is a list of them.
func tensors(v *ir.Value) ([]*ir.Value, bool) {
	if v == nil || v.Def == nil || v.Def.Op != ops.SequenceConstruct && v.Def.Op != ops.SequenceEmpty {
		return nil, false
	}
	return v.Def.Inputs, true
}

// parts are the tensors of operand 0; false where they are not known yet.
func (in *inliner) parts(n *ir.Node) ([]*ir.Value, bool, error) {
	if len(n.Outputs) != 1 || n.Outputs[0] == nil || n.Input(0) == nil {
		return nil, false, fmt.Errorf("operand 0 or the result is absent, but required")
	}
	parts, ok := tensors(n.Inputs[0])
	if !ok && n.Inputs[0].Type != ir.Invalid {
		return nil, false, fmt.Errorf("operand 0 (%q) is a tensor; want a sequence", n.Inputs[0].Name)
	}
	return parts, ok, nil
}

// construct makes v the list of tensors.
func (in *inliner) construct(n *ir.Node, v *ir.Value, parts []*ir.Value) *ir.Node {
	op := ops.SequenceConstruct
	if len(parts) == 0 {
		op = ops.SequenceEmpty
	}
	x := in.node(n, op, v, slices.Clone(parts)...)
	x.Version = 11
	return x
}

// position is the element of a sequence that an operand names, from its end where it is negative, or def where the operand is absent.
func position(v *ir.Value, count, def int) (int, bool, error) {
	if v == nil {
		return def, true, nil
	}
	at, ok := constant(v)
	if !ok {
		return 0, false, nil
	}
	if at < -int64(count) || at >= int64(count) {
		return 0, false, fmt.Errorf("position %q is %d; the sequence has %d places: want %d to %d", v.Name, at, count, -count, count-1)
	}
	if at < 0 {
		at += int64(count)
	}
	return int(at), true, nil
}

// atPosition replaces what inserts a tensor into a sequence, erases one or takes one.
func (in *inliner) atPosition(n *ir.Node) ([]*ir.Node, error) {
	parts, ok, err := in.parts(n)
	if !ok || err != nil {
		return nil, err
	}
	if n.Op == "SequenceInsert" {
		if n.Input(1) == nil {
			return nil, fmt.Errorf("operand 1 (tensor) is absent, but required")
		}
		at, ok, err := position(n.Input(2), len(parts)+1, len(parts))
		if !ok || err != nil {
			return nil, err
		}
		if len(parts) == mostParts {
			return nil, fmt.Errorf("a sequence of more than %d tensors, which is the limit", mostParts)
		}
		return []*ir.Node{in.construct(n, n.Outputs[0], slices.Insert(slices.Clone(parts), at, n.Inputs[1]))}, nil
	}
	if n.Op == "SequenceAt" && n.Input(1) == nil {
		return nil, fmt.Errorf("operand 1 (position) is absent, but required")
	}
	at, ok, err := position(n.Input(1), len(parts), len(parts)-1)
	switch {
	case !ok || err != nil:
		return nil, err
	case at < 0:
		return nil, fmt.Errorf("the sequence is empty")
	case n.Op == "SequenceAt":
		return []*ir.Node{in.identity(n, parts[at], n.Outputs[0])}, nil
	}
	return []*ir.Node{in.construct(n, n.Outputs[0], slices.Delete(slices.Clone(parts), at, at+1))}, nil
}

// vector is a constant for a node.
func (in *inliner) vector(n *ir.Node, what string, xs ...int64) *ir.Value {
	return ir.ConstValue(in.names.Name(n.Outputs0()+what), edit.IntTensor(ir.I64, xs, int64(len(xs))))
}

// added is a node's only result under a name that is free.
func (in *inliner) added(n *ir.Node, op string, version int, operands ...*ir.Value) *ir.Node {
	x := in.node(n, op, &ir.Value{Name: in.names.Name(n.Outputs0() + "." + op)}, operands...)
	x.Version = version
	return x
}

// splitToSequence splits a tensor of which the extent along the axis is known.
func (in *inliner) splitToSequence(n *ir.Node) ([]*ir.Node, error) {
	x := n.Input(0)
	if x == nil || len(n.Outputs) != 1 || n.Outputs[0] == nil {
		return nil, fmt.Errorf("operand 0 or the result is absent, but required")
	}
	if !x.HasShape {
		return nil, nil
	}
	axis := int(n.Int("axis", 0))
	if axis < 0 {
		axis += len(x.Shape)
	}
	if axis < 0 || axis >= len(x.Shape) {
		return nil, fmt.Errorf("attribute axis is %d; the rank is %d", n.Int("axis", 0), len(x.Shape))
	}
	extent, ok := x.Shape[axis].Const()
	lengths, ok, err := lengthsOf(n.Input(1), extent, ok)
	if !ok || err != nil {
		return nil, err
	}
	if len(lengths) == 0 {
		return []*ir.Node{in.construct(n, n.Outputs[0], nil)}, nil
	}
	split := in.added(n, "Split", 13, x, in.vector(n, ".lengths", lengths...))
	split.Attrs["axis"] = int64(axis)
	split.Outputs = nil
	nodes, parts := []*ir.Node{split}, []*ir.Value(nil)
	for range lengths {
		v := &ir.Value{Name: in.names.Name(n.Outputs0() + ".part"), Def: split}
		split.Outputs = append(split.Outputs, v)
		parts = append(parts, v)
	}
	if n.Input(1) == nil && n.Int("keepdims", 1) == 0 {
		for i, v := range parts {
			squeeze := in.added(n, "Squeeze", 13, v, in.vector(n, ".axis", int64(axis)))
			nodes, parts[i] = append(nodes, squeeze), squeeze.Outputs[0]
		}
	}
	return append(nodes, in.construct(n, n.Outputs[0], parts)), nil
}

// lengthsOf are the parts of an axis: as an operand lists them, or of one length, which the last may be shorter than.
func lengthsOf(split *ir.Value, extent int64, known bool) ([]int64, bool, error) {
	each := int64(1)
	if split != nil {
		list, ok := constants(split)
		if !ok || !split.HasShape {
			return nil, false, nil
		}
		if len(split.Shape) == 1 {
			return list, len(list) <= mostParts, tooMany(int64(len(list)))
		}
		if len(list) != 1 || len(split.Shape) > 1 {
			return nil, false, fmt.Errorf("operand 1 (split) has shape %v; want a number, or a list of lengths", split.Shape)
		}
		if each = list[0]; each < 1 {
			return nil, false, fmt.Errorf("operand 1 (split) is %d; want at least 1", each)
		}
	}
	if !known {
		return nil, false, nil
	}
	if err := tooMany((extent + each - 1) / each); err != nil {
		return nil, false, err
	}
	var out []int64
	for at := int64(0); at < extent; at += each {
		out = append(out, min(each, extent-at))
	}
	return out, true, nil
}

func tooMany(n int64) error {
	if n > mostParts {
		return fmt.Errorf("a sequence of %d tensors; supported are at most %d", n, mostParts)
	}
	return nil
}

// constants are the elements of a value that are known.
func constants(v *ir.Value) ([]int64, bool) {
	if v.Const != nil {
		xs, err := v.Const.Ints()
		return xs, err == nil
	}
	out := make([]int64, len(v.Elems))
	for i, e := range v.Elems {
		x, ok := e.Const()
		if !ok {
			return nil, false
		}
		out[i] = x
	}
	return out, v.Elems != nil
}

// concatFromSequence joins the tensors of a sequence, along a new axis if attribute new_axis says so.
func (in *inliner) concatFromSequence(n *ir.Node) ([]*ir.Node, error) {
	parts, ok, err := in.parts(n)
	if !ok || err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("the sequence is empty, so the joined result has no shape")
	}
	if !n.Has("axis") {
		return nil, fmt.Errorf("attribute axis is absent, but required")
	}
	axis, nodes := n.Int("axis", 0), []*ir.Node(nil)
	switch stack := n.Int("new_axis", 0); stack {
	case 0:
	case 1:
		parts = slices.Clone(parts)
		for i, v := range parts {
			x := in.added(n, "Unsqueeze", 13, v, in.vector(n, ".axis", axis))
			nodes, parts[i] = append(nodes, x), x.Outputs[0]
		}
	default:
		return nil, fmt.Errorf("attribute new_axis is %d; want 0 or 1", stack)
	}
	join := in.node(n, "Concat", n.Outputs[0], slices.Clone(parts)...)
	join.Version, join.Attrs["axis"] = 13, axis
	return append(nodes, join), nil
}
