// Package loop is the loop IR: what kernels are made of, before a printer
// turns them into C++, OpenCL C or HVX code. Expressions are those of package te
// with Mem (a load at a flat offset) and Ref (a local variable) as leaves.
package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
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
	// Image is the extent of a two-dimensional image; nil: elements lie one after the other.
	Image *Image
	// Holds reports that a result's memory holds an operand before: an element is read before it is written (see InPlace).
	Holds bool
	// Local tells a local array (Alloc), whose elements have the type of variables.
	Local bool
	// Packed reports that a local array stores f16 in 16 bits, as memory does.
	Packed bool
	// Const tells constants of the model: of those that are more than the caches hold, each run reads all.
	Const bool
}

// Widened reports whether elements of 16 bits are floats there.
func (b *Buffer) Widened() bool { return b.Local && !b.Packed }

// Image is an extent in texels, of layout.TexelLanes elements each.
type Image struct{ Width, Height sym.Expr }

// Kernel is a leaf function over buffers. It runs tasks, which write disjoint memory.
type Kernel struct {
	// Anchor names the lowering: "generic", "contraction", ...
	Anchor  string
	Buffers []*Buffer
	Syms    []string // dimension symbols that the body reads, sorted
	// Grid are the axes whose points are the tasks, outermost first. A point is a number of the
	// grid's own axes on some chips, one number on others: see Statements.
	Grid []te.Axis
	Body []Stmt
	// Facts are the ranges of symbols and loop variables.
	Facts sym.Facts
	// Scratch are buffers of one worker's memory that the body uses.
	Scratch []*Buffer
	// Shared is memory of a task's work-items, in which another task's find nothing. With loops of items a task is a
	// work-group, and else none of it is used.
	Shared []*Buffer
	// Sets are the symbols that the body computes.
	Sets []string
}

// Linear is a grid of n tasks whose body reads the task's number.
func Linear(n sym.Expr) []te.Axis { return []te.Axis{{Var: TaskVar, Extent: n}} }

// Tasks is the number of tasks.
func (k *Kernel) Tasks() sym.Expr {
	n := sym.Const(1)
	for _, a := range k.Grid {
		n = sym.Mul(n, a.Extent)
	}
	return n
}

// Statements are the body, and before it what recovers the variables of the grid's axes from the
// task's number, the innermost fastest.
func (k *Kernel) Statements() []Stmt {
	var out []Stmt
	rest := sym.Var(TaskVar)
	for i := len(k.Grid) - 1; i >= 0; i-- {
		a, v := k.Grid[i], rest
		if i > 0 {
			by := a.Extent
			if by.Is(0) {
				by = sym.Const(1) // there is no task
			}
			v, rest = sym.Mod(rest, by, nil), sym.FloorDiv(rest, by, nil)
		}
		if a.Var != TaskVar {
			out = append(out, Index{Var: a.Var, Value: v})
		}
	}
	return append(out, k.Body...)
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
	// Halves reports that vectors hold f16 as it is, and not as floats.
	Halves bool
	// Stride is how far apart a vector may be stored, besides side by side; 0: it may not.
	Stride int64
	// Items runs the iterations at once, one by each work-item of the task's group. Such loops stand right in one another; where
	// the innermost one ends, items wait for each other. What stands around them is the same for all items.
	Items bool
}

// Barrier lets the items of a group wait until all of them are here, and see what the others have stored. Printers' kernels have them
// (see ByItems); in others the ends of loops over items are such places.
type Barrier struct{}

// Index binds a variable to the value of an index expression.
type Index struct {
	Var   string
	Value sym.Expr
}

// Bind binds a variable to a loaded integer, clamped into [Lo, Hi]. A value out of these
// bounds is reported when the kernel ends (see Refuses). Known: the compiler made what is loaded, and there are none.
type Bind struct {
	Var    string
	Value  te.Expr
	Lo, Hi sym.Expr
	Known  bool
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

// Store writes an element: of a buffer at a flat offset, of an image in lane Index of a texel.
// Images are written by whole texels, in vectors (see Texels).
type Store struct {
	Buf   *Buffer
	Index sym.Expr
	Texel
	Value te.Expr
}

// Texel is where in an image an element lies, besides its lane.
type Texel struct{ X, Y sym.Expr }

// TurnedBytes is how many rows of as many bytes are turned at a time: they become columns.
const TurnedBytes = 16

// CacheLine is how many bytes come to a cache at a time, at least, and the most that one access reads.
const CacheLine = 64

// Claim tells the processor that an element is going to be stored soon, so that its cache line is there by then. The
// element may lie beyond the buffer, and printers may leave the statement out.
type Claim struct {
	Buf   *Buffer
	Index sym.Expr
	// Later is of an element that is read or stored some time later: its line comes to the second-level cache, where it displaces less.
	Later bool
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
	// Acc gets Rows x Vectors*Lanes accumulators from offset AccAt on: a local array, or
	// the worker's memory.
	Acc   *Buffer
	AccAt sym.Expr
	// Index and Ends are the channels of stored kernels and the ends of their runs, where Micro is Kept, from these offsets on.
	Index, Ends     *Buffer
	IndexAt, EndsAt sym.Expr
	// FetchAt is the offset in W of what the call fetches into the cache for later ones, if its Micro does.
	FetchAt sym.Expr
	// Finish, if not nil, is what the call stores. Then it does not write to Acc.
	Finish *Finish
}

// Call is a call of an opaque operator's function: its operands, results and scratch memory by
// their numbers, nil where absent. It computes the kernel's Sets.
type Call struct {
	*opaque.Call
	Operands, Results, Scratch []*Buffer
}

func (Barrier) stmt() {}
func (Call) stmt()    {}
func (For) stmt()     {}
func (Index) stmt()   {}
func (Bind) stmt()    {}
func (Def) stmt()     {}
func (Set) stmt()     {}
func (Alloc) stmt()   {}
func (Store) stmt()   {}
func (Claim) stmt()   {}
func (If) stmt()      {}
func (Tile) stmt()    {}

// Mem loads an element: of a buffer at a flat offset, of an image from lane Index of a texel.
type Mem struct {
	Buf   *Buffer
	Index sym.Expr
	Texel
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
