package neon

import "fmt"

// general are the registers for addresses and counters. The compiler has others for the operands; x18 belongs to platforms.
var general = []string{"x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
	"x19", "x20", "x21", "x22", "x23", "x24"}

// mostGeneral is the maximum number of general registers of a kernel besides x and w, including its
// pointers. Compilers have 28, and keep some in debug builds and with sanitizers.
const mostGeneral = 22

// base is a register of an address inside an operand.
type base struct {
	x        bool
	at       int64 // bytes
	register string
}

// reaches reports whether a load may be so many bytes from its register: multiples of its size up to 4095, or up to
// 255 bytes either way (Arm's manual of the architecture, LDR and LDUR (immediate, SIMD&FP)).
func reaches(off, bytes int64) bool {
	return off >= -256 && off <= 255 || off >= 0 && off%bytes == 0 && off/bytes <= 4095
}

// addresses takes registers for all that is not a vector. It reports whether they are enough, and numbers small
// enough for instructions.
func (w *writer) addresses() bool {
	w.bases = []base{{x: true, register: "%[x]"}, {register: "%[w]"}}
	halves := false
	for _, l := range w.loads {
		if w.base(l) == nil {
			w.bases = append(w.bases, base{x: l.x, at: w.size * l.at, register: w.take()})
		}
		halves = halves || l.halves || l.paired
	}
	for _, b := range w.bases {
		if !addable(b.at) {
			return false
		}
	}
	for i, k := range w.loops {
		w.counters = append(w.counters, w.take())
		x, v := w.jump(i)
		if !addable(x) || !addable(v) || k.Extent >= 1<<16 {
			return false
		}
	}
	for range temps {
		if halves {
			w.temps = append(w.temps, w.take())
		}
	}
	return w.taken <= len(general)
}

// take is a register that nothing else has; addresses sees when there are none left.
func (w *writer) take() string {
	w.taken++
	return general[min(w.taken, len(general))-1]
}

// base is the one that reaches a load, nil if none does.
func (w *writer) base(l *load) *base {
	for i, b := range w.bases {
		at := w.size*l.at - b.at
		if b.x == l.x && reaches(at, l.bytes) && (l.bytes < 16 || reaches(at, 8) && reaches(at+8, 8)) &&
			(!l.paired || reaches(w.size*l.second-b.at, l.bytes)) {
			return &w.bases[i]
		}
	}
	return nil
}

// jump returns what both operands' addresses gain, in bytes, for the next iteration of loop i. They have
// advanced already after the last iteration of the innermost loop.
func (w *writer) jump(i int) (x, v int64) {
	inner := w.loops[len(w.loops)-1]
	if i == len(w.loops)-1 {
		return w.size * inner.XStep, w.size * inner.WStep
	}
	x, v = w.loops[i].XStep-inner.XStep, w.loops[i].WStep-inner.WStep
	for _, k := range w.loops[i+1:] {
		x, v = x-(k.Extent-1)*k.XStep, v-(k.Extent-1)*k.WStep
	}
	return w.size * x, w.size * v
}

// addable reports whether two instructions add a number.
func addable(n int64) bool { return n > -1<<24 && n < 1<<24 }

// add is the instructions for to = from + n.
func add(to, from string, n int64) []string {
	op := "add"
	if n < 0 {
		op, n = "sub", -n
	}
	if n < 1<<12 {
		return []string{fmt.Sprintf("%s %s, %s, #%d", op, to, from, n)}
	}
	out := []string{fmt.Sprintf("%s %s, %s, #%d, lsl #12", op, to, from, n>>12)}
	if n &= 1<<12 - 1; n > 0 {
		out = append(out, fmt.Sprintf("%s %s, %s, #%d", op, to, to, n))
	}
	return out
}

// enter sets addresses and counters for the first iteration.
func (w *writer) enter() {
	for _, b := range w.bases[2:] {
		w.lines = append(w.lines, add(b.register, w.first(b).register, b.at)...)
	}
	for i, k := range w.loops {
		w.line("mov %s, #%d", w.counters[i], k.Extent)
	}
}

// first is the base of an operand's first element.
func (w *writer) first(of base) base {
	if of.x {
		return w.bases[0]
	}
	return w.bases[1]
}

// advance counts an iteration of the innermost loop and finds the next one's addresses.
func (w *writer) advance() []string {
	if len(w.loops) == 0 {
		return nil
	}
	inner := len(w.loops) - 1
	return append([]string{fmt.Sprintf("subs %s, %s, #1", w.counters[inner], w.counters[inner])}, w.move(inner)...)
}

// move returns the instructions that bring all addresses to the next iteration of loop i.
func (w *writer) move(i int) []string {
	x, v := w.jump(i)
	var out []string
	for _, b := range w.bases {
		n := v
		if b.x {
			n = x
		}
		if n != 0 {
			out = append(out, add(b.register, b.register, n)...)
		}
	}
	return out
}

// wrap closes the loops: the innermost one goes on where it is not done, else the one around it.
func (w *writer) wrap() {
	inner := len(w.loops) - 1
	w.line("b.ne .Lloop%%=")
	for i := inner - 1; i >= 0; i-- {
		w.line("subs %s, %s, #1", w.counters[i], w.counters[i])
		w.line("b.eq .Lend%d_%%=", i)
		for k := i + 1; k <= inner; k++ {
			w.line("mov %s, #%d", w.counters[k], w.loops[k].Extent)
		}
		w.lines = append(w.lines, w.move(i)...)
		w.line("b .Lloop%%=")
		w.line(".Lend%d_%%=:", i)
	}
}
