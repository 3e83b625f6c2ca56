package loop

import (
	"fmt"
	"math"
	"strings"

	"rules_dnn/gen/ir/sym"
)

// Finish describes what a tile stores in place of its accumulators: for each register of them, the
// same function of it and of other operands. Only kernels of printers have it (package neon). In
// other kernels, statements after a tile read its accumulators.
type Finish struct {
	// Pointers are the addresses that a call passes.
	Pointers []Pointer
	// Nodes are numbers for each lane, each a function of those before it. The last one is stored.
	Nodes []FinishNode
	To    FinishPlace
}

// Pointer is the address of an element.
type Pointer struct {
	Buf *Buffer
	At  sym.Expr
}

// FinishNode is a number for each lane of a register.
type FinishNode struct {
	Kind FinishKind
	// Op is the instruction of a computed node, in which $d, $a and $b are registers. Args are the
	// numbers of the nodes $a and $b.
	Op    string
	Args  []int
	Value float32     // of a constant
	From  FinishPlace // of a load
	Same  bool        // a load of one float for all lanes
}

// FinishKind is what a node is.
type FinishKind int

// Kinds of nodes.
const (
	FinishSum FinishKind = iota // the accumulators
	FinishConst
	FinishLoad
	FinishComputed
)

// FinishPlace lists where an element is, for each register of accumulators: the number of a
// pointer, and an offset from there in bytes.
type FinishPlace struct {
	Pointer []int
	Offset  []int64
}

// Text distinguishes nodes of one finish.
func (n FinishNode) Text() string {
	return fmt.Sprintf("%d %s %v %x %v %v", n.Kind, n.Op, n.Args, math.Float32bits(n.Value), n.From, n.Same)
}

// Text distinguishes finishes of tiles of one size: all that their instructions say.
func (f *Finish) Text() string {
	var b strings.Builder
	for _, n := range f.Nodes {
		b.WriteString(n.Text() + "; ")
	}
	fmt.Fprintf(&b, "to %v", f.To)
	for _, p := range f.Pointers {
		fmt.Fprintf(&b, " %v", p.Buf.Write)
	}
	return b.String()
}
