// Package ckernel prints the statements of kernels in C: what C++ and OpenCL C have in common. In what
// they differ is a Dialect.
package ckernel

import (
	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Dialect is how a language writes what C has no one way for. Texts of expressions are primary
// expressions: they may be an operand anywhere.
type Dialect interface {
	// Name is the language's, for messages.
	Name() string
	// IndexType is the type of index variables.
	IndexType() string
	// Type is the type of variables of an element type, in vectors of so many lanes; 0: a scalar.
	Type(t ir.DType, lanes int64) string
	// Broadcast is a vector with a number of a type in every lane.
	Broadcast(t ir.DType, x string, lanes int64) string
	// Literal is a constant, so that its type is exact.
	Literal(c te.Const) string
	// Load and Store read and write the elements of an access.
	Load(a Access) string
	Store(a Access, value string) string
	// Call applies a scalar function to arguments that may be printed twice (see Row).
	Call(c te.Call, args []string, lanes int64) (string, error)
	// Array declares a local array.
	Array(b *loop.Buffer, size string) string
	// Held is what the scalar function narrow rounds to a type of 16 bits: a number, or vector, within its range.
	Held(t ir.DType, x string) string
	// Bounded is an integer within bounds; one out of them sets the variable `bad` to 1.
	Bounded(value, lo, hi string) string
	// Tile calls a micro-kernel.
	Tile(t loop.Tile, at TileAt) (string, error)
}

// TileAt is where a micro-kernel's operands begin: offsets in the buffers of X and W, the
// accumulators' address, the offset in W of what it fetches ahead, and the offsets of a finish.
type TileAt struct {
	X, W, Acc, Fetch, Index, Ends string
	Pointers                      []string
}

// Claimer is a dialect that can ask for a cache line ahead.
type Claimer interface {
	// Claim asks for the line of an element that is stored next, or, later, for one in the second-level cache.
	Claim(a Access, later bool) string
}

// Counter is a dialect that has vectors of integers that count along the lanes.
type Counter interface {
	// Counted are as many numbers of a type as there are lanes, each more than the one before by a step.
	Counted(t ir.DType, first string, step, lanes int64) string
}

// Neighbours is a dialect whose work-items read what others of their sub-group have.
type Neighbours interface {
	// Near is what the neighbour of a number has, of which the item's own is given.
	Near(x loop.Near, own, lane string) string
}

// Turner is a dialect that stores vectors whose lanes lie apart together, where these are neighbours.
type Turner interface {
	// Turns reports whether it has a way to store n such vectors.
	Turns(a Access, n int) bool
	// StoreTurned stores vectors, each one element behind the one before, from an access on.
	StoreTurned(a Access, values []string) string
}

// Grouper is a dialect whose tasks may be groups of work-items.
type Grouper interface {
	// Barrier is a statement in which the items of a group wait for each other.
	Barrier() string
}

// Tabler is a dialect that reads tables in vectors.
type Tabler interface {
	// Table reads a table of 256 bytes at those of a vector of so many lanes.
	Table(b *loop.Buffer, at string, lanes int64) string
}

// Vectorer is a dialect whose vectors depend on the loop that runs in them.
type Vectorer interface {
	// Vectors is the dialect within such a loop.
	Vectors(l loop.For) Dialect
}

// Halver is a dialect whose vectors may hold f16 as it is, so that stores do not round.
type Halver interface {
	// HoldsHalves reports whether they do.
	HoldsHalves() bool
}

// Copier is a dialect that copies elements of 16 bits as they are, where others make floats of them in between.
type Copier interface {
	// Bits are those of an element, and StoreBits stores them.
	Bits(a Access) string
	StoreBits(a Access, bits string) string
}

// Looper is a dialect that writes some loops in a way of its own.
type Looper interface {
	// Loop prints a loop, or reports that it is to be printed as every other.
	Loop(w *Kernel, x loop.For) bool
}

// Access is one or more elements of memory: with Lanes, as many from Index on, each Stride behind the one before.
type Access struct {
	Buf   *loop.Buffer
	Lanes int64
	// Stride is 1 but for stores of loops that have one.
	Stride int64
	// Index is the flat offset in a buffer, or the lane in the texel (X, Y) of an image.
	Index, X, Y string
	// Exact: what is stored is a number of the buffer's type already, though it is in a wider one in registers.
	Exact bool
	// At is Index before it is printed. Whole: the loop is vectors alone, of which none overlap; First is At in the vector's number.
	At, First sym.Expr
	Whole     bool
}

// Row is the scalar function of a call: one that divides integers by what may be 0 sets `bad` where it is.
func Row(x te.Call) *scalar.Row {
	row := scalar.Lookup(x.Fn)
	if x.Divides() {
		return row.Checked()
	}
	return row
}

// Variable is the name of a symbol or of a variable of the kernel's own: a symbol may be a
// keyword ("int") or a name that C++ reserves ("a__b").
func Variable(s string) string {
	if ctext.IsIdent(s) {
		return s
	}
	return "sym_" + s
}

// UsesTask reports whether statements read the task's number.
func UsesTask(body []loop.Stmt) bool {
	used := false
	loop.Exprs(body, func(e sym.Expr) { used = used || e.Uses(loop.TaskVar) })
	return used
}
