// Package ir is the compiler's graph: values in single assignment, nodes with
// attributes, and regions (graphs inside nodes: the branches of If, the body of Loop).
// Shapes are symbolic: a static model is merely one whose dimensions are constants.
package ir

import (
	"fmt"
	"strconv"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir/sym"
)

// Graph is a list of nodes in topological order.
type Graph struct {
	Name    string
	Inputs  []*Value
	Outputs []*Value
	Nodes   []*Node
	// Symbols are the dimensions' symbols in order of first use, with what is known of them.
	Symbols []Symbol
	// Bounded are bounds that the user gives to symbols that nodes compute; the text form does not
	// have them, the symbols do.
	Bounded map[string]sym.Range
	// Warnings are what the model says and its library does otherwise; users are told when it is compiled.
	Warnings []Warning
	// Opset is the version of ai.onnx that the nodes' attributes follow.
	Opset int
}

// Kinds of a graph's warnings.
const (
	// Declared is a shape that the model declares for an output, which another one is computed for.
	Declared = "declared"
	// Default is an input with a default value, which is a constant of the library.
	Default = "default"
)

// Warning is of a kind, by which users accept it.
type Warning struct{ Kind, Text string }

// Symbol is a dimension that is known only at run time: the inputs' shapes give it, or a
// node computes it (Node.Computes).
type Symbol struct {
	Name   string
	Lo, Hi int64 // inclusive bounds; Hi is sym.MaxDim when unbounded
	// Computed symbols stand after those that the inputs give. Max bounds them by these;
	// it is sym.MaxDim where nothing does.
	Computed bool
	Max      sym.Expr
}

// Bound is what a computed symbol never exceeds, by the symbols that the inputs give; false
// where nothing bounds it.
func (s Symbol) Bound() (sym.Expr, bool) {
	if s.Max.Is(sym.MaxDim) {
		return sym.Const(s.Hi), s.Hi < sym.MaxDim
	}
	if s.Hi == sym.MaxDim {
		return s.Max, true
	}
	return sym.Min(s.Max, sym.Const(s.Hi), nil), true
}

// Most is what an expression is at most in any run, by the symbols that the inputs give; false where
// nothing bounds a symbol that it grows with.
func Most(e sym.Expr, symbols []Symbol, f sym.Facts) (sym.Expr, bool) {
	used := map[string]bool{}
	if e.Vars(used); len(used) == 0 {
		return e, !e.Overflow()
	}
	limit := func(open int64) (sym.Expr, bool) {
		m := map[string]sym.Expr{}
		for _, s := range symbols {
			if !s.Computed || !used[s.Name] {
				continue
			}
			var ok bool
			if m[s.Name], ok = s.Bound(); !ok {
				m[s.Name] = sym.Const(open)
			}
		}
		return sym.Most(e, m, f)
	}
	// What depends on an open symbol changes with what stands for it.
	most, ok := limit(sym.MaxDim)
	other, _ := limit(sym.MaxDim + 1)
	return most, ok && most.Equal(other)
}

// Shape is a list of dimensions; each is an expression over the graph's symbols.
type Shape []sym.Expr

// Value is an operand or a result.
type Value struct {
	Name  string
	Type  DType
	Shape Shape // nil with HasShape false: unknown rank
	// HasShape reports that Shape is known (a scalar has an empty, known one).
	HasShape bool
	// Declared reports that Shape is only what the model declares: nothing has inferred it yet.
	Declared bool
	// Const holds the elements when the value is a constant (an initializer or folded).
	Const *Tensor
	// Elems are the elements of a small integer tensor as far as they are known
	// (SoD2's V-map); nil when nothing is known.
	Elems []sym.Expr
	// Def is the node that computes the value, nil for inputs and constants.
	Def *Node
}

// Node applies an operator. An absent optional operand or result is nil.
type Node struct {
	Op      string // an ONNX operator's name, or one of the compiler's own in lower case ("block")
	Version int    // since-version of the operator's definition, resolved by the importer's opset
	Name    string // the ONNX node's name, for messages and comments in generated code
	Inputs  []*Value
	Outputs []*Value
	Attrs   Attrs
	Regions []*Graph
	// Captures is the number of last operands that are not the operator's own but
	// values of the enclosing graph that regions use: a region is closed but for
	// constants, and its last Captures inputs stand for them, in the same order.
	Captures int
	// Computes are the symbols that the node gives their values when it runs, in the order
	// in which its operator computes them. Those that are a dimension of an input of its region it
	// gives a value before each run of the region, and a last one: what a Loop carries may change.
	Computes []string
	// Saturates reports that the compiler stores the node's results in 16 bits by itself: no finite number becomes infinite there.
	Saturates bool
	// Origins are the names of the ONNX nodes that this node stands for, itself included.
	Origins []string
	// For is the label of the model's node that this one was made for, where its own label is another.
	For string
}

// Input is operand i, or nil where the operand is absent.
func (n *Node) Input(i int) *Value {
	if i < 0 || i >= len(n.Inputs) {
		return nil
	}
	return n.Inputs[i]
}

// Own are the operands of the operator's definition: all but the captures.
func (n *Node) Own() []*Value { return n.Inputs[:max(len(n.Inputs)-n.Captures, 0)] }

// carried are the symbols that the node gives values before its region runs.
func (n *Node) carried() map[string]bool {
	out := map[string]bool{}
	if len(n.Computes) == 0 {
		return out
	}
	computes := map[string]bool{}
	for _, name := range n.Computes {
		computes[name] = true
	}
	for _, r := range n.Regions {
		if r == nil {
			continue
		}
		for _, v := range r.Inputs {
			if v == nil {
				continue
			}
			for _, d := range v.Shape {
				if name, ok := d.AsVar(); ok && computes[name] {
					out[name] = true
				}
			}
		}
	}
	return out
}

// Outputs0 names the first result that is present.
func (n *Node) Outputs0() string {
	for _, v := range n.Outputs {
		if v != nil {
			return v.Name
		}
	}
	return n.Name
}

// Label names the node in messages: operator and name.
func (n *Node) Label() string {
	if n.Name == "" && len(n.Outputs) > 0 && n.Outputs[0] != nil {
		return fmt.Sprintf("%s (result %s)", n.Op, Show(n.Outputs[0].Name))
	}
	return fmt.Sprintf("%s %s", n.Op, Show(n.Name))
}

// Model is the label of the model's node: that of the node itself, or of the one that it was made for. What a run
// refuses is told by it.
func (n *Node) Model() string {
	if n.For != "" {
		return n.For
	}
	return n.Label()
}

// MadeFor records that n was made for another node, and returns n. A node without an operator stands
// for an input of the network: n then keeps its own label.
func (n *Node) MadeFor(of *Node) *Node {
	if label := of.Model(); of.Op != "" && label != n.Label() {
		n.For = label
	}
	return n
}

// Show quotes a name, which may be any bytes, for a message or a comment; of a long one it shows
// the beginning.
func Show(name string) string {
	if len(name) > limit.Shown {
		return fmt.Sprintf("%q...", name[:limit.Shown])
	}
	return strconv.Quote(name)
}

// Errorf is an error that names the node.
func (n *Node) Errorf(format string, args ...any) error {
	return fmt.Errorf("node %s: %w", n.Model(), fmt.Errorf(format, args...))
}

// Rank is the number of dimensions.
func (v *Value) Rank() int { return len(v.Shape) }

// Static is the shape as numbers, and whether all dimensions are constants.
func (v *Value) Static() ([]int64, bool) {
	if v == nil || !v.HasShape {
		return nil, false
	}
	return v.Shape.Static()
}

// Static is the shape as numbers, and whether all dimensions are constants.
func (s Shape) Static() ([]int64, bool) {
	out := make([]int64, len(s))
	for i, d := range s {
		c, ok := d.Const()
		if !ok {
			return nil, false
		}
		out[i] = c
	}
	return out, true
}

// Dims is a shape of constants.
func Dims(d ...int64) Shape {
	s := make(Shape, len(d))
	for i, x := range d {
		s[i] = sym.Const(x)
	}
	return s
}

// ConstValue is a constant value.
func ConstValue(name string, t *Tensor) *Value {
	return &Value{Name: name, Type: t.Type, Shape: Dims(t.Shape...), HasShape: true, Const: t}
}
