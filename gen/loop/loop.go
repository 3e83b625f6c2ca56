// Package loop is the loop IR: what kernels are made of, before a printer
// turns them into C++, OpenCL C or HVX code. Expressions are those of package te
// with Mem (a load at a flat offset) and Ref (a local variable) as leaves.
package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// TaskVar is the variable that a kernel's body sees as its task's number.
const TaskVar = "task"

// Buffer is memory a kernel reads or writes: a parameter, or a local array.
type Buffer struct {
	Name  string
	Type  ir.DType
	Write bool
	// Size is the number of elements.
	Size sym.Expr
	// Local tells a local array (Alloc), whose elements have the type of variables.
	Local bool
}

// Kernel is a leaf function over buffers. It runs tasks 0 <= task < Tasks, which
// write disjoint memory.
type Kernel struct {
	// Anchor names the lowering: "generic", "contraction", ...
	Anchor string
	// Doc says what the kernel computes, for the comment above it.
	Doc     []string
	Buffers []*Buffer
	Syms    []string // dimension symbols that the body reads, sorted
	Tasks   sym.Expr
	Body    []Stmt
	// Facts are the ranges of symbols and loop variables.
	Facts sym.Facts
	// Scratch are buffers of one worker's memory that the body uses.
	Scratch []*Buffer
}

// Stmt is a statement.
type Stmt interface{ stmt() }

// For runs Body for Var in [0, Extent). With Lanes, as many iterations are one
// step of vectors as long as there are so many, and the rest run one by one (see Vectorise).
type For struct {
	Var    string
	Extent sym.Expr
	Body   []Stmt
	Lanes  int64
}

// Index binds a variable to the value of an index expression.
type Index struct {
	Var   string
	Value sym.Expr
}

// Bind binds a variable to a loaded integer, clamped into [Lo, Hi]. A value out of these
// bounds is reported when the kernel ends (see Binds).
type Bind struct {
	Var    string
	Value  te.Expr
	Lo, Hi sym.Expr
}

// Def declares a local scalar variable.
type Def struct {
	Name string
	Init te.Expr
}

// Set assigns to a variable made by Def.
type Set struct {
	Name  string
	Value te.Expr
}

// Alloc declares a local array of constant size.
type Alloc struct{ Buf *Buffer }

// Store writes an element.
type Store struct {
	Buf   *Buffer
	Index sym.Expr
	Value te.Expr
}

// If runs Then where the conditions hold.
type If struct {
	Cond       []te.Within
	Then, Else []Stmt
}

// Tile is a call of a micro-kernel: see MicroKernel.
type Tile struct {
	Micro   *MicroKernel
	X, W    *Buffer
	XAt, At sym.Expr // offsets of X and W, in elements
	Acc     *Buffer  // local array of Rows x Vectors*Lanes accumulators, written
}

func (For) stmt()   {}
func (Index) stmt() {}
func (Bind) stmt()  {}
func (Def) stmt()   {}
func (Set) stmt()   {}
func (Alloc) stmt() {}
func (Store) stmt() {}
func (If) stmt()    {}
func (Tile) stmt()  {}

// Mem loads the element at a flat offset.
type Mem struct {
	Buf   *Buffer
	Index sym.Expr
}

// Ref reads a variable made by Def.
type Ref struct {
	Name string
	Type ir.DType
}

// DType is the type of the value.
func (x Mem) DType() ir.DType { return x.Buf.Type }

// DType is the type of the value.
func (x Ref) DType() ir.DType { return x.Type }
