// Package opaque is the operators that are no tensor expressions: what a node of one calls
// (Call), and a Go function for each, which the interpreters and constant folding run. The C++
// functions of the same names are in runtime/dnn_opaque.h; both give the same elements.
//
// Operands and results are dense and row-major, and no such operator is fused.
package opaque

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Call is one node's call.
type Call struct {
	// Name of the function, and the element types that its C++ form is a template of.
	Name  string
	Types []ir.DType
	// Args are what the C++ function takes, in its order.
	Args []Arg
	// Operands are the node's, of type Invalid where absent, then Consts.
	Operands []Tensor
	Consts   []*ir.Tensor
	// Results are those of the operator, present or not.
	Results []Tensor
	// Whole reports that the function writes results that nothing reads, too: none may be null.
	Whole bool
	// Scratch is memory for the function's own use.
	Scratch []Memory
	// Computes are the symbols that the function computes.
	Computes []Symbol
	// Elements are those of result 0 that are known, by number: symbols that the function computes.
	Elements map[int]sym.Expr
	// Work is about how many operations on elements the function takes.
	Work sym.Expr
	// Run is the Go function: env gives the symbols' values, operands are nil where absent.
	// It returns every result and the values of Computes.
	Run func(env map[string]int64, operands []*ir.Tensor) ([]*ir.Tensor, []int64, error)
}

// Tensor is an operand's or result's type and shape.
type Tensor struct {
	Type  ir.DType
	Shape ir.Shape
}

// Memory is elements of a type.
type Memory struct {
	Type ir.DType
	Size sym.Expr
}

// Symbol is a number that a function computes: its name, and its bounds, as in ir.Symbol.
type Symbol struct {
	Name   string
	Lo, Hi int64
	Max    sym.Expr
	What   string // what it counts, as part of a name: "rows"
}

// Kind tells what an argument is.
type Kind uint8

// Kinds of arguments.
const (
	Operand  Kind = iota // a pointer to operand N, null where it is absent
	Result               // a pointer to result N, null where it is absent
	Scratch              // a pointer to scratch memory N
	Computed             // where symbol N goes
	Size                 // an int64_t
	Dims                 // a pointer to numbers
	Numbers              // a pointer to pointers to where the symbols go
	Flag                 // a bool
)

// Arg is an argument of a C++ function.
type Arg struct {
	Kind Kind
	N    int
	Size sym.Expr
	Dims []sym.Expr
	Flag bool
}

// Pointers are arguments of a kind, numbered from 0.
func Pointers(k Kind, n int) []Arg {
	out := make([]Arg, n)
	for i := range out {
		out[i] = Arg{Kind: k, N: i}
	}
	return out
}

// Sizes are arguments that are numbers.
func Sizes(es ...sym.Expr) []Arg {
	out := make([]Arg, len(es))
	for i, e := range es {
		out[i] = Arg{Kind: Size, Size: e}
	}
	return out
}

// Flags are arguments that are bools.
func Flags(bs ...bool) []Arg {
	out := make([]Arg, len(bs))
	for i, b := range bs {
		out[i] = Arg{Kind: Flag, Flag: b}
	}
	return out
}

// Error reports that an operand's elements are not what the operator allows.
type Error struct{ What string }

func (e *Error) Error() string { return e.What }

func errorf(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// product is the number of elements of a shape, which a tensor of it has.
func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// around is the product of the dimensions before an axis, and of those after it.
func around(dims []int64, axis int) (outer, inner int64) {
	return product(dims[:axis]), product(dims[axis+1:])
}

// MostBytes is the greatest size of a result, as far as the operands' shapes are constants.
func (c *Call) MostBytes() int64 {
	bounds := map[string]sym.Expr{}
	for _, s := range c.Computes {
		bounds[s.Name] = s.Max
	}
	most := int64(0)
	for _, r := range c.Results {
		size := sym.Const(int64(r.Type.Size()))
		for _, d := range r.Shape {
			size = sym.Mul(size, d)
		}
		bytes, ok := sym.Most(size, bounds, nil)
		n, static := bytes.Const()
		if !ok || !static {
			return math.MaxInt64
		}
		most = max(most, n)
	}
	return most
}
