// Package ops is the table of operators: one row each, and every pass reads it.
//
// A row's Build gives an operator's meaning for one node as stages of tensor
// expressions. Result types and shapes, the interpreter, constant folding,
// mapping types, FLOPs and all generated code derive from that meaning; nothing
// else in the compiler knows what an operator does.
package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// Form tells how a row gives an operator's meaning.
type Form uint8

// Forms of meaning; see docs of the table.
const (
	Expression  Form = iota // stages of tensor expressions
	Update                  // ScatterND and its kin
	Scan                    // CumSum, RNN
	Composition             // a graph of other operators of the table: see Expand
	Opaque                  // one Go function and one C++ function
	Control                 // regions that run once, repeatedly or not at all: If, Loop, Scan
)

// Meaning is what a node computes: stages that load the node's operands and
// each other, and which of them are the node's results.
type Meaning struct {
	Stages  []*te.Stage
	Outputs []te.Source // one for each of the node's results, absent ones included
	// Call gives the results instead of stages, where the operator is opaque.
	Call *opaque.Call
	// Checks must hold for the dimensions of a run, or the node is malformed; those
	// that follow from the facts are left out.
	Checks []Check
}

// CheckKind is a relation of two dimensions.
type CheckKind uint8

// Relations that a run's dimensions must satisfy.
const (
	SameDim       CheckKind = iota // A == B
	Broadcastable                  // A == B, or one is 1 and the other at least 0
	AtLeast                        // A >= B
)

// Check is a condition on symbols under which the stages have meaning.
type Check struct {
	Kind CheckKind
	A, B sym.Expr
	What string // what the condition is about, for messages
}

// Relation is the condition for people: "N >= 16".
func (c Check) Relation() string {
	relation := map[CheckKind]string{SameDim: "==", Broadcastable: "broadcasts with", AtLeast: ">="}[c.Kind]
	return fmt.Sprintf("%s %s %s", c.A, relation, c.B)
}

// Param describes an operand.
type Param struct {
	Name     string
	Optional bool
	Variadic bool
	// Types are the element types ONNX allows.
	Types []ir.DType
	// Like names the type variable of the definition ("T"): operands that share it
	// have one type. Empty: not constrained.
	Like string
	// Since and Until bound the definitions that have the operand (0: no bound).
	Since, Until int
	// Structural operands (axes, shapes, repeats) decide the result's shape or the
	// structure of the loops: their elements must be known when code is generated.
	Structural bool
	// Shape is the signature of the operand's shapes (signature.go); empty: Build checks them.
	Shape string
}

// AttrSpec describes an attribute: its Go type by an example value, and since
// and until which opset it exists (0: always).
type AttrSpec struct {
	Name         string
	Zero         any // int64(0), float32(0), "", []int64(nil), []float32(nil), []string(nil), (*ir.Tensor)(nil), ir.RegionRef(0)
	Required     bool
	Since, Until int
}

// Row is an operator.
type Row struct {
	Name string
	// Versions are the since-versions of the definitions that Build covers, ascending.
	// A node of an opset beyond the newest known one is refused by the importer.
	Versions []int
	Form     Form
	Inputs   []Param
	Attrs    []AttrSpec
	// MinOutputs and MaxOutputs are the least and greatest number of results;
	// MaxOutputs < 0: any number.
	MinOutputs, MaxOutputs int
	// Weights describes the operand of weights. Nil: the operator has no weights.
	Weights *Weights
	// Executed reports that the results' shapes are known only after the operator ran
	// (SoD2's Execution Determined Output).
	Executed bool
	// Sizes binds the names in signatures that attributes decide, which it checks; nil: there are none.
	Sizes func(b *binding) error
	// Build gives the meaning of one node; nil for Control, whose meaning is its regions',
	// and for Composition.
	Build func(c *Ctx) (*Meaning, error)
	// Compose writes the nodes that a Composition stands for and gives the results that
	// the node wants, nil for the others.
	Compose func(b *composer) ([]*ir.Value, error)
}

// Ctx is a node with what is known where it stands.
type Ctx struct {
	Node  *ir.Node
	Facts sym.Facts
	// Row and Version are the operator and the definition that the node follows.
	Row     *Row
	Version int
	checks  []Check
}

// UnknownError reports that a structural fact (a rank, a structural operand's
// elements) is not known yet; shape inference may learn it later.
type UnknownError struct{ What string }

func (e *UnknownError) Error() string { return e.What + " is not known when code is generated" }

// UseError reports a node that its operator does not allow, whatever the shapes are: the number or types of its operands,
// its attributes or the number of its results.
type UseError struct{ Err error }

func (e *UseError) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e *UseError) Unwrap() error { return e.Err }

// Type is the element type of operand i.
func (c *Ctx) Type(i int) ir.DType { return c.Node.Inputs[i].Type }

// Has reports whether operand i is present.
func (c *Ctx) Has(i int) bool { return c.Node.Input(i) != nil }

// Shape is the shape of operand i.
func (c *Ctx) Shape(i int) (ir.Shape, error) {
	v := c.Node.Input(i)
	if v == nil {
		return nil, fmt.Errorf("operand %d is absent", i)
	}
	if !v.HasShape {
		return nil, &UnknownError{fmt.Sprintf("the rank of operand %d (%q)", i, v.Name)}
	}
	return v.Shape, nil
}

// Elems are the elements of a structural integer operand as expressions.
func (c *Ctx) Elems(i int) ([]sym.Expr, error) {
	v := c.Node.Input(i)
	if v == nil {
		return nil, fmt.Errorf("operand %d is absent", i)
	}
	if v.Const != nil {
		return constElems(v)
	}
	if v.HasShape && product(v.Shape...).Is(0) {
		return nil, nil
	}
	if v.Elems == nil {
		return nil, &UnknownError{fmt.Sprintf("the value of operand %d (%q)", i, v.Name)}
	}
	return v.Elems, nil
}

// Ints are the elements of a structural integer operand as numbers.
func (c *Ctx) Ints(i int) ([]int64, error) {
	es, err := c.Elems(i)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(es))
	for k, e := range es {
		x, ok := e.Const()
		if !ok {
			return nil, &UnknownError{fmt.Sprintf("element %d (%s) of operand %d (%q)", k, e, i, c.Node.Inputs[i].Name)}
		}
		out[k] = x
	}
	return out, nil
}

func constElems(v *ir.Value) ([]sym.Expr, error) {
	xs, err := v.Const.Ints()
	if err != nil {
		return nil, fmt.Errorf("operand %q: %w", v.Name, err)
	}
	out := make([]sym.Expr, len(xs))
	for i, x := range xs {
		out[i] = sym.Const(x)
	}
	return out, nil
}
