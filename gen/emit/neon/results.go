package neon

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
)

// finisher writes a finish column by column: one vector and all rows, which share operands such as
// biases. The instructions of several rows alternate, because each waits for the one before.
type finisher struct {
	*writer
	of   *loop.Finish
	free []int // vector registers
	regs []int // of each node that is the same for a column: a register, or -1
	last []int // the last node that reads a node, by its number; a number beyond all: it is stored
}

// finish writes a finish. It reports whether there are enough registers.
func (w *writer) finish(of *loop.Finish) bool {
	f := &finisher{writer: w, of: of}
	m := w.micro
	sums := int(m.Rows * m.Vectors)
	for r := range registers {
		if r < int(w.firstSum) || r >= int(w.firstSum)+sums {
			f.free = append(f.free, r)
		}
	}
	f.regs, f.last = make([]int, len(of.Nodes)), make([]int, len(of.Nodes))
	for i, n := range of.Nodes {
		f.regs[i] = -1
		for _, a := range n.Args {
			f.last[a] = i
		}
	}
	f.last[len(f.last)-1] = len(of.Nodes)
	shared := 0
	for _, n := range of.Nodes {
		if n.Kind == loop.FinishConst || f.ofColumn(n) {
			shared++
		}
	}
	if shared > len(f.free) {
		return false
	}
	for i, n := range of.Nodes {
		if n.Kind == loop.FinishConst {
			f.regs[i] = f.take()
			f.constant(f.regs[i], n.Value)
		}
	}
	for v := range int(m.Vectors) {
		if !f.column(v) {
			return false
		}
	}
	return true
}

// take removes the first free vector register and returns it.
func (f *finisher) take() int {
	r := f.free[0]
	f.free = f.free[1:]
	return r
}

// ofColumn reports whether a load is the same for all rows of each vector.
func (f *finisher) ofColumn(n loop.FinishNode) bool {
	if n.Kind != loop.FinishLoad {
		return false
	}
	vectors := int(f.micro.Vectors)
	for i := range n.From.Offset {
		if n.From.Pointer[i] != n.From.Pointer[i%vectors] || n.From.Offset[i] != n.From.Offset[i%vectors] {
			return false
		}
	}
	return true
}

// column writes the finish of a vector and all rows. It reports whether there are enough registers.
func (f *finisher) column(v int) bool {
	kept := slices.Clone(f.free)
	for i, n := range f.of.Nodes {
		if f.ofColumn(n) {
			f.regs[i] = f.take()
			f.load(f.regs[i], n, v)
		}
	}
	vectors, rows := int(f.micro.Vectors), int(f.micro.Rows)
	one := &element{f: f, at: v, regs: slices.Clone(f.regs)}
	for i := range f.of.Nodes {
		one.node(i, nil)
	}
	group := rows
	if one.most > 0 {
		group = min(rows, len(f.free)/one.most)
	}
	if group < 1 {
		return false
	}
	for r := 0; r < rows; r += group {
		free := slices.Clone(f.free)
		var all []*element
		for k := r; k < min(r+group, rows); k++ {
			all = append(all, &element{f: f, at: k*vectors + v, regs: slices.Clone(f.regs)})
		}
		for i := range f.of.Nodes {
			for _, e := range all {
				e.node(i, &free)
			}
		}
		for _, e := range all {
			f.memory("str", fmt.Sprintf("q%d", e.regs[len(e.regs)-1]), f.of.To, e.at, 16)
		}
	}
	f.free = kept
	for r := range rows { // whose accumulators are stored
		f.free = append(f.free, int(f.firstSum)+r*vectors+v)
	}
	return true
}

// element computes a finish for one register of accumulators, by its number.
type element struct {
	f          *finisher
	at         int
	regs       []int // of nodes
	used, most int   // registers besides accumulators
	own        []int // those of them that are free again
}

// node writes a node. It uses an argument's register if nothing reads that later, otherwise a free
// one. If free is nil, it only counts the registers that it needs.
func (e *element) node(i int, free *[]int) {
	f, n := e.f, e.f.of.Nodes[i]
	switch {
	case f.regs[i] >= 0:
		return
	case n.Kind == loop.FinishSum:
		e.regs[i] = int(f.firstSum) + e.at
		return
	}
	args := make([]int, len(n.Args))
	to := -1
	for k, a := range n.Args {
		args[k] = e.regs[a]
		if f.regs[a] < 0 && f.last[a] == i {
			if to < 0 {
				to = e.regs[a]
			} else if to != e.regs[a] {
				e.own = append(e.own, e.regs[a])
			}
		}
	}
	switch {
	case to >= 0:
	case len(e.own) > 0:
		to, e.own = e.own[0], e.own[1:]
	case free == nil:
		e.used++
		e.most = max(e.most, e.used)
		to = registers + e.used
	default:
		to, *free = (*free)[0], (*free)[1:]
	}
	e.regs[i] = to
	switch {
	case free == nil:
	case n.Kind == loop.FinishLoad:
		f.load(to, n, e.at)
	default:
		text := strings.Replace(n.Op, "$d", f.vector(to), 1)
		for k, a := range args {
			text = strings.Replace(text, []string{"$a", "$b", "$c"}[k], f.vector(a), 1)
		}
		f.line("%s", text)
	}
}

// load writes a load of a node for a register of accumulators.
func (f *finisher) load(to int, n loop.FinishNode, at int) {
	if !n.Same {
		f.memory("ldr", fmt.Sprintf("q%d", to), n.From, at, 16)
		return
	}
	_, one := arrangement(f.sum)
	f.memory("ldr", fmt.Sprintf("%s%d", one, to), n.From, at, f.sum)
	f.line("dup %s, v%d.%s[0]", f.vector(to), to, one)
}

// memory writes a load or store.
func (f *finisher) memory(op, register string, p loop.FinishPlace, at int, bytes int64) {
	off := p.Offset[at]
	if off < 0 || off%bytes != 0 {
		op = map[string]string{"ldr": "ldur", "str": "stur"}[op]
	}
	f.line("%s %s, [%%[p%d], #%d]", op, register, p.Pointer[at], off)
}

// constant writes a number to all lanes of a register.
func (f *finisher) constant(to int, x float32) {
	bits := math.Float32bits(x)
	if bits == 0 {
		f.line("movi v%d.2d, #0", to)
		return
	}
	// FMOV's numbers: a sign, four bits of a fraction and three of an exponent.
	if exponent := bits >> 25 & 0x3f; bits&(1<<19-1) == 0 && (exponent == 0x20 || exponent == 0x1f) {
		f.line("fmov %s, #%s", f.vector(to), strconv.FormatFloat(float64(x), 'f', -1, 32))
		return
	}
	if f.sum == 2 {
		bits = uint32(ir.F16Bits(float64(x)))
	}
	if f.taken == 0 {
		f.writer.take()
	}
	w := "w" + general[0][1:] // a counter's, or no other's
	f.line("mov %s, #%d", w, bits&0xffff)
	if bits>>16 != 0 {
		f.line("movk %s, #%d, lsl #16", w, bits>>16)
	}
	f.line("dup %s, %s", f.vector(to), w)
}
