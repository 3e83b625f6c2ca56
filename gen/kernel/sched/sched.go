// Package sched is schedules: where, and in what order, the stages of a block are computed, and where their values lie. A
// schedule is data. Algorithms rewrite stages (a transform, a packed copy, a running maximum are stages of their own); a
// schedule only places them, and lowering follows it and decides nothing.
//
// What it computes is what its loops say, one after the other, whatever their kinds: a loop of tasks, vectors or work-items
// promises that its iterations may run at once, which Verify proves. Where items of a group wait for each other follows from what they
// share (loop.Kernel.ByItems).
//
// What lives from one iteration to the next has no form of its own. A stage may read itself, or later stages, at an earlier
// point of an axis, under a guard for the first one: a running maximum m[k] = max(m[k-1], ...). That a maximum is all that is kept
// of them is a matter of storage: a value may be folded along an axis, to as many of its last points as are read again
// (Value.Fold). So are lines of a sliding window, and double buffers.
package sched

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/target/instr"
)

// Schedule is of all stages of a block, in their order, and of the values that are not as they are by default: operands and
// results of the block row-major in the arena, those of stages that are placed at a loop row-major in the worker's memory.
type Schedule struct {
	Stages []Stage
	Values []Value
}

// Stage is how a stage is computed.
type Stage struct {
	// At is the loop of a later stage in each iteration of which it is computed, before the loops within; Root: before them all. Where that is a loop of
	// tasks around others, the first of those that a worker runs one after the other computes it, for all of them.
	At Ref
	// Regions are the part of its axes that is computed there; an axis that has none is computed whole.
	Regions []Region
	// Splits are axes that run as two, and Joins axes that run as one, the last one fastest.
	Splits []Split
	Joins  []Join
	// Loops, outermost first, cover each axis of the stage and of its reduction, or a join of them.
	Loops []Loop
	// Tile computes the points of the loops that it binds by calls of one micro-kernel; nil: one point after the other.
	Tile *Tile
	// Sums is where the accumulators lie of a reduction that has loops of results within, each of whose points has its own: in Register a task has
	// them, and in Worker, for many, the worker's memory. Arena, which others see, stands for Register.
	Sums Space
	// Inside gives code of its own, without conditions, to regions all of whose points meet the guards of what the stage reads.
	Inside bool
	// Ahead has the items of a group fetch what the stage copies for the next iteration of the loop where it is placed, into registers, while they
	// compute the one at hand.
	Ahead bool
}

// Ref is a loop of a stage, by the name of its variable.
type Ref struct {
	Stage int
	Loop  string
}

// Root is no loop.
var Root = Ref{Stage: -1}

// Region is Extent points of an axis from First on, which is over the variables of the loops around the stage. Var, if it is given, is
// the variable that holds First in the code of the stage: a quotient is computed once then.
type Region struct {
	Axis   string
	First  sym.Expr
	Extent int64
	Var    string
}

// Split makes two axes of one: Inner has Size neighbours, which loops round up by themselves, and Outer counts such parts. Where the last
// part has fewer, the loop over Inner is clipped.
type Split struct {
	Axis, Outer, Inner string
	Size               int64
}

// Join makes one axis of neighbouring ones, or of the outer parts of such as are split, which are bound to variables of their names.
type Join struct {
	Name string
	Axes []string
}

// Loop is over points of an axis: Size of them, each of which stands for all points of the axis' loops within, or, where Size
// is 0, over all that is left, which is the axis' outermost loop.
type Loop struct {
	Kind Kind
	Var  string
	Axis string
	Size int64
	Edge Edge
	// Stored iterations are not over the extent of the axis but over what is stored of a constant, in the order in which it is
	// stored (Nonzeros).
	Stored bool
}

// Kind is how the iterations of a loop run.
type Kind uint8

// Kinds of loops. Those from Rows on are a tile's: they are its innermost ones.
const (
	Serial  Kind = iota
	Task         // by any thread: each is a task, or an axis of the grid of them
	Unroll       // written out: the innermost loop; what its iterations have in common is computed once
	Vector       // as lanes of vectors
	Group        // by a work-group
	Item         // by a work-item of the group
	Rows         // rows of accumulators, which share W
	Columns      // registers of W, which share X
	Lanes        // lanes of a register of W
	Sum          // points of the reduction
	Dot          // neighbours along the reduction that an instruction takes in at a time
)

var kinds = [...]string{"serial", "task", "unroll", "vector", "group", "item", "rows", "columns", "lanes", "sum", "dot"}

func (k Kind) String() string { return kinds[k] }

// Tile reports whether loops of the kind belong to a tile.
func (k Kind) Tile() bool { return k >= Rows }

// Edge is what becomes of the last iteration of the loops around, of which the axis has only a part.
type Edge uint8

// Edges.
const (
	Exact   Edge = iota // there is no part
	Clip                // the loop ends with the axis
	Peel                // the part has code of its own: the loops within, for so many points
	RoundUp             // it is computed whole, in storage that goes on as far; tiles store what is there
	Last                // the last iteration of the loop around computes it besides its own
)

var edges = [...]string{"", "clip", "peel", "roundup", "last"}

func (e Edge) String() string { return edges[e] }

// Tile is a tile instruction and how its operand X reaches it.
type Tile struct {
	Row string // of package instr
	X   instr.Operand
	// Ahead is how many elements ahead W is fetched into the cache, and AheadX whether what the next iteration of the last loop but
	// one of the sum reads of X is.
	Ahead  int64
	AheadX bool
	// Next is how many elements of W after those that a call reads come to the second-level cache while calls that read the same ones compute,
	// a part with each: without, the first call that reads them waits for memory, which has nothing to do while others compute. 0: none.
	Next int64
	// Narrow is how many points' products are added in 16 bits at a time, of an instruction that does so: whoever proposes the tile knows that they have
	// room there.
	Narrow int64
	// Block is the maximum number of products in a block of a sum in f16; 0: one block has all.
	Block int64
	// Alone: rows do not share what they load, of sums over stored kernels whose lanes are in X.
	Alone bool
	// Early: what products read of X is loaded some products before (instr.EarlyLoads), of such sums, for processors that would wait for it.
	Early bool
	// Held is how many weights of a kernel stay in registers, of such sums; products read the others where they lie. 0: all stay.
	Held int64
	// Skips, where it is not 0, lets a call leave out the iterations of the sum's loops at which all that it reads of X is zeros that a stage has copied as padding
	// (Work.CopiedZeros). Of each condition of the copy there is code for at most so many sets of iterations, each of which leaves one at least.
	Skips int64
	// Claims: lines of the results are asked for before a tile sums, as stores to what lies in no cache wait for it.
	Claims bool
}

// MostSkips is how many sets of iterations there may be code for.
const MostSkips = 16

// Value is where a value lies.
type Value struct {
	Of    te.Source
	Parts layout.Parts
	Space Space
	// Encoding is how a constant is stored, "" where it is as the network has it: an encoding of package fkw, or a transform of package winograd,
	// whose results the stages read.
	Encoding string
	// Fold keeps only the last points of an axis: as many as Points.
	Fold Fold
	// Claim is how many elements before they are stored cache lines are asked for; 0: they are not. Where stores go to many places,
	// a processor does not do so by itself.
	Claim int64
	// Fetch is how many elements before they are read or stored cache lines come to the second-level cache; 0: the processor finds them
	// by itself, which it does not where many streams are read or stored in turns.
	Fetch int64
	// Margin is memory around what a stage stores.
	Margin Margin
}

// Margin is how many elements of memory lie before the first one, so that others lie where registers begin, and how many beyond the last axis
// lanes of tiles may read, of which nothing is stored: what follows there, and zeros after the last of all.
type Margin struct{ Before, After int64 }

// Fold is along an axis of the value; of 0 points: all are kept.
type Fold struct{ Axis, Points int }

// Space is a kind of memory.
type Space uint8

// Spaces.
const (
	Arena    Space = iota // of the run: operands and results of blocks
	Worker                // of a thread, for a task
	Register              // of a task, a few elements
	Local                 // of a work-group
	Image                 // of textures
)

var spaces = [...]string{"arena", "worker", "register", "local", "image"}

func (s Space) String() string { return spaces[s] }

// Place is where a value lies, by default too.
func (s *Schedule) Place(w *Work, of te.Source) Value {
	for _, v := range s.Values {
		if v.Of == of {
			return v
		}
	}
	v := Value{Of: of, Space: Arena}
	if !of.Stage {
		v.Parts = layout.PartsOf(layout.RowMajor, len(w.Operands[of.N].Shape))
		return v
	}
	if v.Parts = layout.PartsOf(layout.RowMajor, len(w.Stages[of.N].Axes)); of.N < len(w.Stages)-1 {
		v.Space = Worker
	}
	return v
}

// loop is the stage's loop of a variable, or nil.
func (s *Stage) loop(name string) *Loop {
	for i := range s.Loops {
		if s.Loops[i].Var == name {
			return &s.Loops[i]
		}
	}
	return nil
}

// region is the part of an axis, or nil.
func (s *Stage) region(axis string) *Region {
	for i := range s.Regions {
		if s.Regions[i].Axis == axis {
			return &s.Regions[i]
		}
	}
	return nil
}

// outer is the split that has an outer part of this name, or nil.
func (s *Stage) outer(part string) *Split {
	for i := range s.Splits {
		if s.Splits[i].Outer == part {
			return &s.Splits[i]
		}
	}
	return nil
}

// inner is the split that has an inner part of this name, or nil.
func (s *Stage) inner(part string) *Split {
	for i := range s.Splits {
		if s.Splits[i].Inner == part {
			return &s.Splits[i]
		}
	}
	return nil
}

// split is that of an axis, or nil.
func (s *Stage) split(axis string) *Split {
	for i := range s.Splits {
		if s.Splits[i].Axis == axis {
			return &s.Splits[i]
		}
	}
	return nil
}
