// Package instr is the table of tile instructions: what micro-kernels are made of.
//
// A tile instruction multiplies an operand X with a register W and adds the products to
// accumulators that lie side by side in a register, one for each lane of W. Where it takes in
// several products at a time, a group of them lies side by side in X and in each lane of W. A row
// says what it needs, how X may reach it, what it means and how each dialect writes it. Chips list
// the rows that they offer by name, and one generator makes every micro-kernel
// from a row and the number of registers.
package instr

import (
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Operand is how X reaches the lanes of an instruction.
type Operand uint8

// Kinds of X.
const (
	Vector   Operand = iota // an element of its own for each lane, as in depthwise convolutions
	Memory                  // one element for all lanes, which the instruction itself reads from memory
	Register                // one element for all lanes, copied to each of a register first
	Lane                    // one lane, or group of them, of a register of neighbours along the reduction
	Scalar                  // one group of elements for all lanes, in a register that holds no vector
)

// String is the operand's part of a micro-kernel's name.
func (o Operand) String() string { return [...]string{"vec", "mem", "bcast", "lane", "scalar"}[o] }

// Row is a tile instruction.
type Row struct {
	Name string
	// CPU and Feature are what a chip must be to offer it; Feature is one of its cpu_features,
	// or "" where every such processor has the instruction.
	CPU, Feature string
	// X and W are the types of the operands' elements.
	X, W ir.DType
	// Acc is the type of an accumulator; Lanes of them, of neighbouring channels in order, are a register.
	Acc   ir.DType
	Lanes int64
	// Group is how many elements of the reduction, neighbours, one lane takes at a time: 4 of vrmpy_i8i8.
	Group int64
	// Broadcast are the kinds of an X that all lanes share, cheapest first; a Vector is always allowed.
	Broadcast []Operand
	// PerLoad is how many lanes a load brings, of an X that all lanes share and of the W beside it; 0 where loads are of whole registers.
	PerLoad int64
	// Halves reports that loads of assembly bring half of a register (package neon), for
	// processors that start them beside a product.
	Halves bool
	// Blocks reports that one application computes two rows for two lanes: accumulators of a pair of rows are 2x2 blocks until they are stored, a register of W
	// is two machine registers, of two lanes each, and of an odd number of rows the last one stands for two.
	Blocks bool
	// Matrix is how many rows of X, and how many points of the innermost loop of the sum, neighbours in X, one application takes in at most: it multiplies
	// matrices in tile registers, of which there are TileRegisters. 0: one of each.
	Matrix int64
	// Down by Across are the neighbouring items of a sub-group that apply it together, as one product of matrices: each has rows of X of its own, which those
	// across share, and columns of W, which those down share. 0: each item, or processor, by itself.
	Down, Across int64
	// Aligned reports that loads of X are of whole groups at multiples of their size.
	Aligned bool
	// FoldsLoad reports that a vector X may be read by the instruction itself.
	FoldsLoad bool
	// Ops is how many machine instructions one application takes, Temps how many registers
	// besides its operands.
	Ops, Temps int64
	// Copies is how many instructions of the unit that multiplies bring a loaded X to all lanes, and
	// Units how many of these units one application takes; 0 counts as 1.
	Copies int64
	Units  float64
	// Narrow is how many products of the type of X and W an application adds in a lane of 16 bits, 0 where it adds them in Acc's: what they come to
	// is added to accumulators before it can overflow. Widens is how many units that takes for each point where it is done after each,
	// Sums how many such sums it takes at a time, and Points how many points of the sum an application takes; 0 counts as 1.
	Narrow, Sums, Points int64
	Widens               float64
	// Order has, of an accumulator of several registers, the first lane of each of these: register i has the lanes Order[i], Order[i] + n,
	// Order[i] + 2n, ... of n registers. nil: one register has all, in order.
	Order []int64
	// Latency in cycles from an accumulator to its next value.
	Latency float64
	// Meaning is a lane's next value after one product: Acc(0) is the accumulator, In(0) is of X
	// and In(1) of W. The products of a group are taken in in turn.
	Meaning te.Expr
	// Fused reports that Meaning's products are not rounded before they are added.
	Fused bool
	// LastFirst reports that of a group's products the last one is taken in first, Apart that an application sums those with each neighbour of a group by
	// themselves, from 0 on: accumulators take in what both sums come to. Of integers the order makes no difference.
	LastFirst, Apart bool
	// Parts is the number of equal parts of a group that an application takes in sequentially; 0
	// counts as 1.
	Parts int64
	// Odd reports that sums that are not exact round to the neighbour whose last bit is 1.
	Odd bool

	text map[string]string // by dialect: $a is the accumulator, $x and $w the operands
}

// InPairs reports whether the instruction sums products of floats of which it takes several in at a time: results differ from those of products that are
// rounded and added one after the other by the order of the sum, and as denormal numbers count as zeros: operands, accumulators and results.
func (r *Row) InPairs() bool { return r.Acc.IsFloat() && r.Group > 1 && r.Down == 0 }

// InHalves reports whether the instruction adds products of f16 in f16.
func (r *Row) InHalves() bool { return r.Acc == ir.F16 }

// Adds reports whether tiles of the instruction compute sums of type t: the type of accumulators,
// or f32, which accumulators of f16 approximate.
func (r *Row) Adds(t ir.DType) bool { return t == r.Acc || r.InHalves() && t == ir.F32 }

// WidensHalves reports whether the instruction adds products of f16 in f32, one at a time in each lane.
func (r *Row) WidensHalves() bool { return r.X == ir.F16 && r.Acc == ir.F32 && r.Group == 1 }

// TakesVectors reports whether X may be a vector, at any address.
func (r *Row) TakesVectors() bool { return !r.Blocks && !r.Aligned && r.Matrix == 0 }

// Allows reports whether X may be of this kind.
func (r *Row) Allows(x Operand) bool {
	if x == Vector {
		return r.Matrix == 0
	}
	for _, o := range r.Broadcast {
		if o == x {
			return true
		}
	}
	return false
}

// Broadcaster is the cheapest kind of an X that all lanes share. Along K, steps neighbours of X
// lie side by side: lanes of a register serve where they are a whole number of registers.
func (r *Row) Broadcaster(steps int64) Operand {
	for _, o := range r.Broadcast {
		if o != Lane || steps > 0 && steps%r.Lanes == 0 {
			return o
		}
	}
	panic("tile instruction " + r.Name + " has no operand that needs no neighbours")
}

// Scheduled reports whether micro-kernels are assembly in which each load has its place (package neon).
func (r *Row) Scheduled() bool { return r.text[Assembly] != "" }

// Assembly is the dialect of instructions as assemblers of 64-bit ARM read them.
const Assembly = "aarch64"

// BeginsSums reports whether assembly has an instruction that begins a sum, without an addition.
func (r *Row) BeginsSums() bool { return r.text[Assembly+First] != "" }

// InTwos reports whether assembly loads the lanes of two neighbouring vectors of W in a register:
// the first vector's products read its lower half, and the second's its upper half.
func (r *Row) InTwos() bool { return r.text[Assembly+Upper] != "" }

// Bytes is the size of a register of W.
func (r *Row) Bytes() int64 { return r.Lanes * r.Group * int64(r.W.Size()) }

// These name further texts of an instruction in a dialect.
const (
	First = " first" // the first application of a sum
	Widen = " widen" // of one that adds in 16 bits: adds sums $x and $w to the pairs of accumulators $a and $b
	Upper = " upper" // reads the upper half of W's register
)

// WidenText adds sums in 16 bits to accumulators, in a dialect.
func (r *Row) WidenText(dialect string, acc, sums []string) string {
	at := func(all []string, i int) string { return all[min(i, len(all)-1)] }
	return strings.NewReplacer("$a", at(acc, 0), "$b", at(acc, 1), "$x", at(sums, 0), "$w", at(sums, 1)).Replace(r.text[dialect+Widen])
}

// Text is the instruction in a dialect, or "" where the dialect has none.
func (r *Row) Text(dialect, acc, x, w string) string {
	return strings.NewReplacer("$a", acc, "$x", x, "$w", w).Replace(r.text[dialect])
}

// Lookup is the row of that name, or nil.
func Lookup(name string) *Row {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

// Table is all rows.
func Table() []*Row {
	out := make([]*Row, len(table))
	for i := range table {
		out[i] = &table[i]
	}
	return out
}

// Names are the names of all rows, for messages.
func Names() string {
	var out []string
	for _, r := range table {
		out = append(out, r.Name)
	}
	return strings.Join(out, ", ")
}
