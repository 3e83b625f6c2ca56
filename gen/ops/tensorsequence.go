package ops

import (
	"slices"

	"rules_dnn/gen/ir"
)

// Sequences of tensors are no values of compiled code: what is done with one is known when code is generated, if its length and the positions in it
// are. Package inline makes tensors of them. Until then a sequence is a value without a type, whose node is one of these.
const (
	SequenceConstruct = "SequenceConstruct" // of tensors: what all others become
	SequenceEmpty     = "SequenceEmpty"
)

// sequenceRow is an operator of sequences: what an error says of one that is left, whether the result is a sequence, too, how many operands it
// has at most (-1: any number), and its attributes.
type sequenceRow struct {
	unknown  string
	gives    bool
	operands int
	attrs    []AttrSpec
}

var sequences = map[string]sequenceRow{
	"ConcatFromSequence": {"the length of the sequence, operand 0,", false, 1, []AttrSpec{intAttr("axis"), intAttr("new_axis")}},
	"SequenceAt":         {"the length of the sequence, operand 0, or the position, operand 1,", false, 2, nil},
	SequenceConstruct:    {"", true, -1, nil},
	SequenceEmpty:        {"", true, 0, []AttrSpec{intAttr("dtype")}},
	"SequenceErase":      {"the length of the sequence, operand 0, or the position, operand 1,", true, 2, nil},
	"SequenceInsert":     {"the length of the sequence, operand 0, or the position, operand 2,", true, 3, nil},
	"SequenceLength":     {"the length of the sequence, operand 0,", false, 1, nil},
	"SplitToSequence": {
		"the number of tensors into which it splits operand 0 (from the dimension along the axis, and operand 1)", true, 2,
		[]AttrSpec{intAttr("axis"), intAttr("keepdims")},
	},
}

// sequenceNames are the operators of sequences, sorted.
func sequenceNames() []string {
	var out []string
	for name := range sequences {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// OfSequences reports whether a node is an operator of sequences.
func OfSequences(n *ir.Node) bool {
	_, ok := sequences[n.Op]
	return ok
}

// CheckSequence checks the number of operands and results, and the attributes, of an operator of sequences.
func CheckSequence(n *ir.Node) error {
	row := sequences[n.Op]
	if row.operands >= 0 && len(n.Inputs) > row.operands {
		return &UseError{n.Errorf("%d operands; the operator has at most %d", len(n.Inputs), row.operands)}
	}
	if len(n.Outputs) != 1 {
		return &UseError{n.Errorf("%d results; the operator has 1", len(n.Outputs))}
	}
	if n.Op == SequenceConstruct && slices.Contains(n.Inputs, nil) {
		return &UseError{n.Errorf("an operand is absent, but required")}
	}
	for _, name := range n.Attrs.Names() {
		i := slices.IndexFunc(row.attrs, func(a AttrSpec) bool { return a.Name == name })
		if i < 0 {
			return &UseError{n.Errorf("attribute %q is unknown to the operator", name)}
		}
		if found, want := ir.AttrType(n.Attrs[name]), ir.AttrType(row.attrs[i].Zero); found != want {
			return &UseError{n.Errorf("attribute %q has type %s, want %s", name, found, want)}
		}
	}
	return nil
}

// IsSequence reports whether a value is a sequence, as far as the nodes say that lead to it.
func IsSequence(v *ir.Value) bool {
	if v == nil || v.Def == nil {
		return false
	}
	switch d := v.Def; {
	case d.Op == "Identity" && len(d.Inputs) == 1:
		return IsSequence(d.Inputs[0])
	case d.Op == "If":
		s, err := IfOf(d)
		i := slices.Index(d.Outputs, v)
		return err == nil && i >= 0 && i < len(s.Then.Outputs) && i < len(s.Else.Outputs) && (IsSequence(s.Then.Outputs[i]) || IsSequence(s.Else.Outputs[i]))
	case d.Op == "Loop":
		s, err := LoopOf(d)
		i := slices.Index(d.Outputs, v)
		return err == nil && i >= 0 && i < len(s.Carried) && IsSequence(s.Carried[i])
	default:
		return sequences[d.Op].gives
	}
}

// TakesSequence reports whether a node with regions has a sequence as an operand, captured ones included, or as a result.
func TakesSequence(n *ir.Node) bool {
	return slices.ContainsFunc(n.Inputs, IsSequence) || slices.ContainsFunc(n.Outputs, IsSequence)
}

// SequenceUnknown says why a node that works on sequences is left: nil of a sequence that only consists of tensors.
func SequenceUnknown(n *ir.Node) error {
	if what := sequences[n.Op].unknown; what != "" {
		return &UnknownError{what}
	}
	if IsControl(n) {
		return &UnknownError{"the length of a sequence that its graphs use, or the number of their iterations,"}
	}
	return nil
}
