// Package neon writes micro-kernels of 64-bit ARM as assembly. In-order processors, such as
// Cortex-A55, need code that compilers do not write: each load some products before the one that
// reads it, and beside a product. The loop is a pipeline: loads are spread among the products, some
// of them in the iteration before (modulo scheduling, Rau: "Iterative modulo scheduling", 1994).
//
// Addresses advance once in an iteration, after the product advanceAt. Loads before that are for the
// iteration itself, and loads after it for the next one. The loop ends there, too, so that nothing is
// loaded for an iteration that does not follow:
//
//	loads of the first iteration, and products that begin sums; b .Lenter
//	.Lloop: the other products, with loads of the next iteration
//	.Lenter: products up to advanceAt, with loads of this one; next addresses; b.ne .Lloop
//	the other products
//
// If loads are of halves (instr.Row.Halves), a load brings two lanes of X, and the upper half of W
// goes through a general register.
package neon

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// Kernel is a micro-kernel as assembly.
type Kernel struct {
	// Lines are instructions and labels. %[x], %[w] and %[acc] are registers of the operands'
	// addresses. With a finish, its pointers %[p0], %[p1], ... replace %[acc]. %= is a number that is
	// different in each place where the text stands.
	Lines []string
	// Clobbers are the registers besides that it writes.
	Clobbers []string
	// Products is how many the loop's body has.
	Products int64
	pointers int
}

// New schedules the micro-kernel of a tile of floats. It reports false, and compilers schedule,
// if the instruction has no assembly, if loads convert, if there are too few registers, if the kernel
// fetches into caches, if it adds to earlier sums, or if it has a single row (memory bounds it).
func New(t loop.Tile) (*Kernel, bool) {
	m := t.Micro
	if !m.Instr.Scheduled() || m.PrefetchW > 0 || m.PrefetchX || m.Fetch > 0 || m.FetchX > 0 || m.Adds || m.Rows < 2 || m.Stored != ir.Invalid || m.Kept != nil {
		return nil, false
	}
	b := newBody(m)
	if b.unpaired() {
		return nil, false
	}
	w := &writer{body: b}
	if !w.addresses() || !b.schedule(len(w.advance())) {
		return nil, false
	}
	w.kernel()
	if m.Instr.Blocks {
		w.rows()
	}
	k := &Kernel{Products: int64(len(b.products))}
	if t.Finish == nil {
		w.sums()
	} else if k.pointers = len(t.Finish.Pointers); !w.finish(t.Finish) {
		return nil, false
	}
	k.Lines, k.Clobbers = w.lines, w.clobbers()
	return k, w.taken+k.pointers <= mostGeneral
}

// writer collects a kernel's lines.
type writer struct {
	*body
	lines []string
	// bases are where loads begin that are too far from an operand's first for an instruction.
	bases    []base
	counters []string // of the loops
	temps    []string // for halves
	taken    int      // general registers
}

func (w *writer) line(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// kernel writes the loads before the first iteration, and the loop. The first product of each sum
// needs no addition: if all products of a sum are -0, so is the sum. If first products come early, a
// copy of the products up to the last of them precedes the loop. Otherwise, sums begin with zeros.
func (w *writer) kernel() {
	n := len(w.products)
	w.enter()
	first := w.firsts()
	if first == 0 {
		for i := range w.accumulators() {
			w.line("movi v%d.2d, #0", w.firstSum+i)
		}
	}
	for slot := -n; slot < 0; slot++ {
		w.loadsAt(slot)
	}
	begun := map[int64]bool{}
	for i := range first {
		w.product(w.products[i], !begun[w.products[i].acc])
		begun[w.products[i].acc] = true
		w.loadsAt(i)
	}
	if len(w.loops) == 0 {
		w.rest(first, false)
		return
	}
	w.line("b .Lenter%%=")
	w.line(".Lloop%%=:")
	w.rest(w.advanceAt+1, true)
	w.begin(first)
	w.wrap()
	w.rest(w.advanceAt+1, false)
}

// firsts returns the number of products up to the last one that begins a sum, or 0 if there are
// too many to write them twice.
func (w *writer) firsts() int {
	if !w.micro.Instr.BeginsSums() {
		return 0
	}
	seen := map[int64]bool{}
	sums := int(w.micro.Rows * w.micro.Vectors)
	for i, p := range w.products {
		if seen[p.acc] = true; len(seen) < sums {
			continue
		}
		if len(w.loops) > 0 && (i >= 2*sums || i > w.advanceAt-len(w.advance())) {
			return 0
		}
		return i + 1
	}
	return 0
}

// sums stores the accumulators.
func (w *writer) sums() {
	m := w.micro
	for i := int64(0); i+1 < m.Rows*m.Vectors; i += 2 {
		w.line("stp q%d, q%d, [%%[acc], #%d]", w.firstSum+i, w.firstSum+i+1, 16*i)
	}
	if n := m.Rows * m.Vectors; n%2 == 1 {
		w.line("str q%d, [%%[acc], #%d]", w.firstSum+n-1, 16*(n-1))
	}
}

// begin writes the products of an iteration up to advanceAt. The last ones alternate with the
// instructions that advance addresses. The first iteration begins before product 'enter'.
func (w *writer) begin(enter int) {
	advance := w.advance()
	for i := range w.advanceAt + 1 {
		if i == enter {
			w.line(".Lenter%%=:")
		}
		w.product(w.products[i], false)
		w.loadsAt(i)
		if len(advance) > 0 && i >= w.advanceAt+1-len(advance) {
			w.line("%s", advance[0])
			advance = advance[1:]
		}
	}
	w.lines = append(w.lines, advance...)
}

// rest writes the products from one on, and with next the loads of the next iteration.
func (w *writer) rest(from int, next bool) {
	n := len(w.products)
	for i := from; i < n; i++ {
		w.product(w.products[i], false)
		w.loadsAt(i)
		if next {
			w.loadsAt(i - n)
		}
	}
}

// arrangement returns the suffixes of all lanes of a register, and of one, by the size of an element
// in bytes.
func arrangement(size int64) (all, one string) {
	if size == 2 {
		return "8h", "h"
	}
	return "4s", "s"
}

// vector returns the name of a register with all accumulators.
func (b *body) vector(register int) string {
	all, _ := arrangement(b.sum)
	return fmt.Sprintf("v%d.%s", register, all)
}

// operand returns the name of a register of X or W with the lanes that an application takes.
func (b *body) operand(register int) string {
	all, _ := arrangement(b.size)
	if b.micro.Instr.WidensHalves() {
		all = "4h"
	}
	return fmt.Sprintf("v%d.%s", register, all)
}

// lane returns the name of a lane of X, or of a group of lanes.
func (b *body) lane(register int, lane int64) string {
	_, one := arrangement(b.size)
	if b.group > 1 {
		one = fmt.Sprintf("%d%s", b.group, one)
	}
	return fmt.Sprintf("v%d.%s[%d]", register, one, lane)
}

// product writes one application of the instruction, or the one that begins a sum.
func (w *writer) product(p product, first bool) {
	x := w.operand(p.x.reg)
	if p.lane >= 0 {
		x = w.lane(p.x.reg, p.lane)
	}
	dialect := instr.Assembly
	switch {
	case first:
		dialect += instr.First
	case p.upper:
		dialect += instr.Upper
	}
	w.line("%s", w.micro.Instr.Text(dialect, w.vector(int(w.firstSum+p.acc)), x, w.operand(p.w.reg)))
}

// loadsAt writes the loads' steps of a slot.
func (w *writer) loadsAt(slot int) {
	for _, l := range w.loads {
		for _, s := range l.steps {
			if s.slot == slot {
				w.step(l, s)
			}
		}
	}
}

// step writes a step of a load by the base that reaches it.
func (w *writer) step(l *load, s step) {
	if s.kind == insert {
		w.line("ins v%d.d[1], %s", l.reg, w.temps[s.temp])
		return
	}
	bytes, at := l.bytes, w.size*l.at
	if l.inHalves {
		bytes = 8
	}
	register := fmt.Sprintf("%s%d", map[int64]string{2: "h", 4: "s", 8: "d", 16: "q"}[bytes], l.reg)
	switch {
	case s.kind == upper && l.paired:
		register, at = w.temps[s.temp], w.size*l.second
	case s.kind == upper:
		register, at = w.temps[s.temp], at+8
	}
	b := w.base(l)
	off, op := at-b.at, "ldr"
	if off < 0 || off%bytes != 0 {
		op = "ldur"
	}
	w.line("%s %s, [%s, #%d]", op, register, b.register, off)
}

// clobbers returns the general registers that were used, and all vector registers.
func (w *writer) clobbers() []string {
	out := slices.Clone(general[:w.taken])
	for i := range registers {
		out = append(out, fmt.Sprintf("v%d", i))
	}
	return out
}

// Statement returns the kernel as lines of an asm statement of C++ (runtime/dnn_kernel.h), in a function
// with parameters x and w, and acc or the pointers p0, p1, ... of a finish.
func (k *Kernel) Statement() []string {
	out := []string{"__asm__ volatile("}
	for _, l := range k.Lines {
		l = fmt.Sprintf("    \"%s\\n\"", strings.Replace(l, ".L", `" DNN_LOCAL "`, 1))
		out = append(out, strings.Replace(l, `"" `, "", 1))
	}
	inputs := `[acc] "r"(acc)`
	for i := range k.pointers {
		if i == 0 {
			inputs = ""
		} else {
			inputs += ", "
		}
		inputs += fmt.Sprintf(`[p%d] "r"(p%d)`, i, i)
	}
	return append(out, `    : [x] "+r"(x), [w] "+r"(w)`, "    : "+inputs,
		fmt.Sprintf(`    : "%s", "cc", "memory");`, strings.Join(k.Clobbers, `", "`)))
}
