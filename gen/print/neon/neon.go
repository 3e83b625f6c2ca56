// Package neon writes micro-kernels of 64-bit ARM as assembly. Processors that start instructions in order, as
// Cortex-A55 does, need what compilers do not give them: each load some products before the one that reads it,
// and beside a product. The loop is a pipeline whose loads are spread among the products of the iteration before (modulo
// scheduling, Rau: "Iterative modulo scheduling", 1994), and lanes of X come as halves of a register, because such processors start
// a load of 8 bytes beside a product and one of 16 alone. Processors that reorder instructions lose nothing by that; what
// halves of W cost them, inserted in place of a product, is why only every second one is loaded so.
package neon

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
)

// Kernel is a micro-kernel as assembly.
type Kernel struct {
	// Lines are instructions and labels. %[x], %[w] and %[acc] are registers of the operands' addresses, and %= is a
	// number of its own for each place where the text stands.
	Lines []string
	// Clobbers are the registers besides that it writes.
	Clobbers []string
	// Products is how many the loop's body has.
	Products int64
}

// New schedules a micro-kernel of 32-bit floats. There is none where the instruction has no assembly, where it fetches into
// caches, which compilers do as well, where loads convert, where a single row leaves nothing to schedule (memory bounds it), or where
// registers are too few.
func New(m *loop.MicroKernel) (*Kernel, bool) {
	if !m.Instr.Scheduled() || m.PrefetchW > 0 || m.PrefetchX || m.Fetch > 0 || m.FetchX > 0 || m.Rows < 2 || m.Stored != ir.Invalid || m.Kept != nil {
		return nil, false
	}
	b := newBody(m)
	w := &writer{body: b}
	if !w.addresses() || !b.schedule(len(w.advance())) {
		return nil, false
	}
	w.kernel()
	return &Kernel{Lines: w.lines, Clobbers: w.clobbers(), Products: int64(len(b.products))}, true
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

// kernel writes all of it: empty accumulators, what the first iteration finds loaded, the loop, the results.
func (w *writer) kernel() {
	m := w.micro
	w.enter()
	for i := range m.Rows * m.Vectors {
		w.line("movi v%d.2d, #0", i)
	}
	n := len(w.products)
	for slot := -n; slot < 0; slot++ {
		w.loadsAt(slot, false)
	}
	if len(w.loops) > 0 {
		w.wrap()
		w.line(".Lloop%%=:")
	}
	advance := w.advance()
	for i, p := range w.products {
		w.product(p)
		if i < len(advance) {
			w.lines = append(w.lines, advance[i]...)
		}
		w.loadsAt(i, false)
		if len(w.loops) > 0 {
			w.loadsAt(i-n, true)
		}
	}
	w.repeat()
	for i := int64(0); i+1 < m.Rows*m.Vectors; i += 2 {
		w.line("stp q%d, q%d, [%%[acc], #%d]", i, i+1, 16*i)
	}
	if n := m.Rows * m.Vectors; n%2 == 1 {
		w.line("str q%d, [%%[acc], #%d]", n-1, 16*(n-1))
	}
}

// product writes one application of the instruction.
func (w *writer) product(p product) {
	x := fmt.Sprintf("v%d.4s", p.x.reg)
	if p.lane >= 0 {
		x = fmt.Sprintf("v%d.s[%d]", p.x.reg, p.lane)
	}
	w.line("%s", w.micro.Instr.Text(instr.Assembly, fmt.Sprintf("v%d.4s", p.acc), x, fmt.Sprintf("v%d.4s", p.w.reg)))
}

// loadsAt writes the loads' steps of a slot; those of the next iteration by its addresses.
func (w *writer) loadsAt(slot int, next bool) {
	for _, l := range w.loads {
		for _, s := range l.steps {
			if s.slot == slot {
				w.step(l, s, next)
			}
		}
	}
}

// step writes a step of a load by the base that reaches it.
func (w *writer) step(l *load, s step, next bool) {
	if s.kind == insert {
		w.line("ins v%d.d[1], %s", l.reg, w.temps[s.temp])
		return
	}
	bytes, at := l.bytes, 4*l.at
	if l.halves {
		bytes = 8
	}
	register := fmt.Sprintf("%s%d", map[int64]string{4: "s", 8: "d", 16: "q"}[bytes], l.reg)
	if s.kind == upper {
		register, at = w.temps[s.temp], at+8
	}
	b := w.base(l)
	off, op, address := at-b.at, "ldr", b.current
	if off < 0 || off%bytes != 0 {
		op = "ldur"
	}
	if next {
		address = b.then
	}
	w.line("%s %s, [%s, #%d]", op, register, address, off)
}

// clobbers are the general registers that were used, and all vector registers.
func (w *writer) clobbers() []string {
	out := slices.Clone(general[:w.taken])
	for i := range registers {
		out = append(out, fmt.Sprintf("v%d", i))
	}
	return out
}

// Statement is the kernel as lines of an asm statement of C++ (runtime/dnn_kernel.h), in a function with parameters x, w and acc.
func (k *Kernel) Statement() []string {
	out := []string{"__asm__ volatile("}
	for _, l := range k.Lines {
		l = fmt.Sprintf("    \"%s\\n\"", strings.Replace(l, ".L", `" DNN_LOCAL "`, 1))
		out = append(out, strings.Replace(l, `"" `, "", 1))
	}
	return append(out, `    : [x] "+r"(x), [w] "+r"(w)`, `    : [acc] "r"(acc)`,
		fmt.Sprintf(`    : "%s", "cc", "memory");`, strings.Join(k.Clobbers, `", "`)))
}
