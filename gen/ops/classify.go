package ops

import (
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// MappingType is DNNFusion's relation of an operand's elements to a result's
// (dissertation, table 3.2), ordered by complexity.
type MappingType uint8

// Mapping types. Unread: no element of the operand is read.
const (
	Unread MappingType = iota
	OneToOne
	Reorganize
	Shuffle
	OneToMany
	ManyToMany
)

// String is the name that the paper prints.
func (t MappingType) String() string {
	return [...]string{"Unread", "One-to-One", "Reorganize", "Shuffle", "One-to-Many", "Many-to-Many"}[t]
}

// Mapping derives the mapping type of an operand to a result from the stages'
// accesses: reading elements along a reduction is Many-to-Many, reading one element
// for several of the result One-to-Many, and otherwise what tells the types apart is
// where an element goes.
// An opaque operator reads whatever it likes.
func Mapping(n *ir.Node, m *Meaning, operand, result int) MappingType {
	if m.Call != nil {
		return ManyToMany
	}
	return mappingTo(m, m.Outputs[result], operand, n.Inputs[operand].Shape)
}

func mappingTo(m *Meaning, result te.Source, operand int, shape ir.Shape) MappingType {
	return together(byOperand(m, result)[operand], shape)
}

// byOperand are the accesses of a result to each operand.
func byOperand(m *Meaning, result te.Source) map[int][]access {
	out := map[int][]access{}
	for _, a := range accesses(m, result) {
		out[a.operand] = append(out[a.operand], a)
	}
	return out
}

// together is the mapping type of all accesses of a result to one operand of the shape.
func together(as []access, shape ir.Shape) MappingType {
	t := Unread
	maps := map[string]bool{}
	for _, a := range as {
		if key := a.key(); !maps[key] {
			maps[key] = true
			t = max(t, a.mapping(shape))
		}
	}
	if len(maps) > 1 && t != OneToMany {
		return ManyToMany // several elements for each of the result
	}
	return t
}

// NodeMapping is the most complex mapping type of the node's operands and results.
// Constants do not count, as far as others are read: they are part of the operator
// (the paper has BatchNormalization as One-to-One, whose parameters broadcast).
func NodeMapping(n *ir.Node, m *Meaning) MappingType {
	var data, constants MappingType
	for r, out := range n.Outputs {
		if out == nil {
			continue
		}
		var reads map[int][]access // once for all operands
		if m.Call == nil {
			reads = byOperand(m, m.Outputs[r])
		}
		for i, v := range n.Inputs {
			if v == nil {
				continue
			}
			t := ManyToMany
			if m.Call == nil {
				t = together(reads[i], v.Shape)
			}
			if v.Const != nil {
				constants = max(constants, t)
			} else {
				data = max(data, t)
			}
		}
	}
	if data == Unread {
		return constants
	}
	return data
}

// Dynamism is SoD2's degree to which results depend on values (table 5.2).
type Dynamism uint8

// Degrees of dynamism.
const (
	// ShapeDeterminesOutput: the operands' shapes give the elements of the results.
	ShapeDeterminesOutput Dynamism = iota
	// ShapeDeterminesShape: they give the results' shapes.
	ShapeDeterminesShape
	// ValueDeterminesShape: some operands' elements are needed too.
	ValueDeterminesShape
	// ExecutionDetermines: the results' shapes are known only after the operator ran.
	ExecutionDetermines
)

// String is the name that the paper prints.
func (d Dynamism) String() string {
	return [...]string{
		"Input Shape Determined Output", "Input Shape Determined Output Shape",
		"Input Shape & Value Determined Output Shape", "Execution Determined Output",
	}[d]
}

// DynamismOf is the degree of a node. It falls where structural operands are known:
// constants, or elements that shape inference followed.
func DynamismOf(n *ir.Node, facts sym.Facts) (Dynamism, error) {
	c, err := newCtx(n, facts)
	if err != nil {
		return 0, n.Errorf("%w", err)
	}
	if c.Row.Executed {
		return ExecutionDetermines, nil
	}
	if c.Row.Form == Control {
		return ShapeDeterminesShape, nil
	}
	ps := c.params()
	for i, v := range n.Inputs {
		if v != nil && ps[min(i, len(ps)-1)].Structural && v.Const == nil && v.Elems == nil {
			return ValueDeterminesShape, nil
		}
	}
	m, err := Build(n, facts)
	if err != nil {
		return 0, err
	}
	if m.Call != nil {
		return ShapeDeterminesShape, nil
	}
	for r := range n.Outputs {
		if len(accesses(m, m.Outputs[r])) > 0 {
			return ShapeDeterminesShape, nil
		}
	}
	return ShapeDeterminesOutput, nil
}

// LayoutClass is SmartMem's quadrant of an operator (table 3).
type LayoutClass struct {
	// InputDependent: how fast it computes depends on the operands' layouts.
	InputDependent bool
	// OutputFixed: it only moves elements, so the result's layout follows from the
	// operand's and the operator can be eliminated.
	OutputFixed bool
}

// String is as the paper prints it: "ILD & Variable".
func (l LayoutClass) String() string {
	in, out := "ILI", "Variable"
	if l.InputDependent {
		in = "ILD"
	}
	if l.OutputFixed {
		out = "Fixed"
	}
	return in + " & " + out
}

// LayoutClassOf derives the class: reuse of elements and moves across axes depend on
// the operands' layouts; what only moves elements has a fixed result.
func LayoutClassOf(n *ir.Node, m *Meaning) LayoutClass {
	t := NodeMapping(n, m)
	if m.Call != nil {
		return LayoutClass{InputDependent: true}
	}
	reads, moves := t != Unread, true
	for r, out := range n.Outputs {
		if out != nil && len(accesses(m, m.Outputs[r])) > 0 {
			moves = moves && movesOnly(m, m.Outputs[r])
		}
	}
	return LayoutClass{
		InputDependent: t == ManyToMany || t == Shuffle || t == Reorganize,
		OutputFixed:    reads && moves,
	}
}

// movesOnly reports whether a result's elements are elements of operands, or literals.
func movesOnly(m *Meaning, src te.Source) bool {
	if !src.Stage {
		return true
	}
	s := m.Stages[src.N]
	return s.Combine == nil && s.Update == nil && moved(m, s.Results[src.Part])
}

// GivesOn reports whether the elements of all results are elements of operands: no literals are among them, as where a Pad puts some.
func GivesOn(m *Meaning) bool {
	for _, src := range m.Outputs {
		if !movesOnly(m, src) {
			return false
		}
	}
	for _, s := range m.Stages {
		for _, e := range s.Results {
			if hasLiteral(e) {
				return false
			}
		}
	}
	return true
}

// Chooses reports whether the elements of all results are the greatest or least of some elements of operands, as a pool's: what grows with each
// element may be computed behind it as well as before.
func Chooses(m *Meaning) bool {
	if len(m.Stages) != 1 || m.Call != nil {
		return false
	}
	s := m.Stages[0]
	if s.Update != nil || s.Combine == nil || s.Combine.Name != "max" && s.Combine.Name != "min" {
		return false
	}
	loads := func(e te.Expr) bool { l, ok := e.(te.Load); return ok && !l.Source.Stage }
	chosen := func(e te.Expr) bool { _, ok := e.(te.Acc); return ok }
	return every(s.Values, loads) && every(s.Results, chosen)
}

func every(es []te.Expr, f func(te.Expr) bool) bool {
	return !slices.ContainsFunc(es, func(e te.Expr) bool { return !f(e) })
}

func hasLiteral(e te.Expr) bool {
	found := false
	te.Walk(e, func(e te.Expr) {
		_, ok := e.(te.Const)
		found = found || ok
	})
	return found
}

func moved(m *Meaning, e te.Expr) bool {
	switch x := e.(type) {
	case te.Const:
		return true
	case te.Load:
		return movesOnly(m, x.Source) && (x.Default == nil || moved(m, x.Default))
	case te.Let:
		return moved(m, x.Body)
	case te.Select:
		return moved(m, x.Then) && moved(m, x.Else)
	}
	return false
}

// key tells accesses with different index maps apart.
func (a access) key() string {
	parts := make([]string, len(a.index))
	for i, e := range a.index {
		parts[i] = e.String()
	}
	return strings.Join(parts, "; ")
}
