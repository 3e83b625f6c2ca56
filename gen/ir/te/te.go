// Package te is tensor expressions: what an operator means, element by element.
//
// A stage computes one tensor: for every point of its axes it evaluates a scalar
// expression of loads, reduced over its reduction axes. Indices are logical;
// layouts are none of a stage's business. Operators that only move data are
// stages whose body is one load: an index map.
package te

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Axis is a loop of a stage: Var runs over [0, Extent).
type Axis struct {
	Var    string
	Extent sym.Expr
}

// Stage computes one tensor, or several of one shape (arg-max and maximum).
type Stage struct {
	Name string
	// Axes are the axes of the result, in logical order.
	Axes []Axis
	// Reduce are the reduction axes; empty when Combine is nil.
	Reduce []Axis
	// Combine and Values: for each point of the reduction axes the tuple Values is
	// combined into the accumulators, in the axes' row-major order.
	Combine *Combiner
	Values  []Expr
	// Results are the elements of the stage's tensors; after a reduction they read
	// the accumulators by Acc. The stage's types are theirs.
	Results []Expr
	// Update, where there is one, changes the only result after that.
	Update *Update
}

// Combiner joins tuples associatively. Init is the neutral tuple; Join computes
// the new accumulators from Acc(k) (the old ones) and In(k) (the values).
type Combiner struct {
	Name string // "sum", "max", "min", "prod", "argmax", ...
	Init []Expr
	Join []Expr
}

// Expr is a scalar expression; its concrete types are the structs below.
type Expr interface{ DType() ir.DType }

// Const is a literal. Bits holds an integer's value, or a float's as math.Float64bits.
type Const struct {
	Type ir.DType
	Bits uint64
}

// Index is the value of an index expression as a scalar.
type Index struct {
	Type ir.DType
	E    sym.Expr
}

// Load reads element Index of a tensor: the block's operand or stage number Source.
// When Guard does not hold, the value is Default and memory is not read.
type Load struct {
	Source  Source
	Type    ir.DType
	Index   []sym.Expr
	Guard   []Within
	Default Expr // nil when there is no guard
}

// Source names what a load reads.
type Source struct {
	Stage bool // another stage of the block, else an operand
	N     int  // its number
	Part  int  // which of a stage's results
}

// Within is the condition Lo <= E < Hi.
type Within struct{ E, Lo, Hi sym.Expr }

// Call applies a row of the table of scalar functions (package scalar).
type Call struct {
	Fn   string
	Type ir.DType
	Args []Expr
}

// MaxVariables is how many loops and bound variables the interpreter holds for one stage.
const MaxVariables = 64

// Let binds an integer value to a variable that indices within Body may use:
// an index that is itself loaded (Gather).
type Let struct {
	Var   string
	Value Expr
	// Lo and Hi are inclusive bounds. A value out of them is an error of the run; code that
	// goes on after it reads at the nearer bound.
	Lo, Hi sym.Expr
	// Known: the compiler made what is loaded, and no value is out of the bounds.
	Known bool
	Body  Expr
}

// Select is Then where the condition holds, else Else; the other is not evaluated.
type Select struct {
	Cond       []Within
	Then, Else Expr
}

// Acc reads accumulator N (in Results and Join), In reads the incoming value N (in Join).
type Acc struct {
	N    int
	Type ir.DType
}

// In is the incoming value N of a Join.
type In struct {
	N    int
	Type ir.DType
}

// DType is the type of the value.
func (x Const) DType() ir.DType { return x.Type }

// DType is the type of the value.
func (x Index) DType() ir.DType { return x.Type }

// DType is the type of the value.
func (x Load) DType() ir.DType { return x.Type }

// DType is the type of the value.
func (x Call) DType() ir.DType { return x.Type }

// DType is the type of the value.
func (x Let) DType() ir.DType { return x.Body.DType() }

// DType is the type of the value.
func (x Select) DType() ir.DType { return x.Then.DType() }

// DType is the type of the value.
func (x Acc) DType() ir.DType { return x.Type }

// DType is the type of the value.
func (x In) DType() ir.DType { return x.Type }

// Shape is the stage's logical shape.
func (s *Stage) Shape() ir.Shape {
	out := make(ir.Shape, len(s.Axes))
	for i, a := range s.Axes {
		out[i] = a.Extent
	}
	return out
}
