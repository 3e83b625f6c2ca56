package neon

import "fmt"

// general are the registers for addresses and counters. The compiler has others for the operands; x18 belongs to platforms.
var general = []string{"x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
	"x19", "x20", "x21", "x22", "x23", "x24"}

// base is a register of an address inside an operand, and the one of the next iteration's.
type base struct {
	x             bool
	at            int64 // bytes
	current, then string
}

// reaches reports whether a load may be so many bytes from its register: multiples of its size up to 4095, or up to
// 255 bytes either way (Arm's manual of the architecture, LDR and LDUR (immediate, SIMD&FP)).
func reaches(off, bytes int64) bool {
	return off >= -256 && off <= 255 || off >= 0 && off%bytes == 0 && off/bytes <= 4095
}

// addresses takes registers for all that is not a vector. It reports whether they are enough, and numbers small
// enough for instructions.
func (w *writer) addresses() bool {
	w.bases = []base{{x: true, current: "%[x]"}, {current: "%[w]"}}
	for _, l := range w.loads {
		if w.base(l) == nil {
			w.bases = append(w.bases, base{x: l.x, at: 4 * l.at, current: w.take()})
		}
	}
	for i, b := range w.bases {
		if len(w.loops) > 0 {
			w.bases[i].then = w.take()
		}
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
		w.temps = append(w.temps, w.take())
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
		at := 4*l.at - b.at
		if b.x == l.x && reaches(at, l.bytes) && (l.bytes < 16 || reaches(at, 8) && reaches(at+8, 8)) {
			return &w.bases[i]
		}
	}
	return nil
}

// jump is what operands' addresses gain, in bytes, from the last iteration of the loops within loop i to its next.
func (w *writer) jump(i int) (x, v int64) {
	x, v = w.loops[i].XStep, w.loops[i].WStep
	for _, k := range w.loops[i+1:] {
		x, v = x-(k.Extent-1)*k.XStep, v-(k.Extent-1)*k.WStep
	}
	return 4 * x, 4 * v
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
		w.lines = append(w.lines, add(b.current, w.operand(b).current, b.at)...)
	}
	for i, k := range w.loops {
		w.line("mov %s, #%d", w.counters[i], k.Extent)
	}
}

// operand is the base of an operand's first element.
func (w *writer) operand(of base) base {
	if of.x {
		return w.bases[0]
	}
	return w.bases[1]
}

// advance is what finds the next iteration's addresses, in parts that stand after a product each. Where the innermost loop
// ends, they come from wrap; after the last iteration they are this one's again, so that nothing is read that is not there.
func (w *writer) advance() [][]string {
	if len(w.loops) == 0 {
		return nil
	}
	inner := len(w.loops) - 1
	x, v := w.jump(inner)
	var out [][]string
	each := func(lines ...string) {
		for _, l := range lines {
			out = append(out, []string{l})
		}
	}
	each(fmt.Sprintf("subs %s, %s, #1", w.counters[inner], w.counters[inner]))
	for i, n := range []int64{x, v} {
		b := w.bases[i]
		each(add(b.then, b.current, n)...)
		if inner == 0 {
			each(fmt.Sprintf("csel %s, %s, %s, eq", b.then, b.current, b.then))
		}
	}
	if inner > 0 {
		out = append(out, []string{"b.eq .Lwrap%=", ".Lnext%=:"})
	}
	for _, b := range w.bases[2:] {
		each(add(b.then, w.operand(b).then, b.at)...)
	}
	return out
}

// wrap begins the loops within one that goes on again, and finds addresses for it.
func (w *writer) wrap() {
	if len(w.loops) < 2 {
		return
	}
	w.line("b .Lloop%%=")
	w.line(".Lwrap%%=:")
	x, v := w.bases[0], w.bases[1]
	for i := len(w.loops) - 2; i >= 0; i-- {
		dx, dv := w.jump(i)
		w.line("mov %s, #%d", w.counters[i+1], w.loops[i+1].Extent)
		w.lines = append(w.lines, add(x.then, x.current, dx)...)
		w.lines = append(w.lines, add(v.then, v.current, dv)...)
		w.line("subs %s, %s, #1", w.counters[i], w.counters[i])
		w.line("b.ne .Lnext%%=")
	}
	w.line("mov %s, %s", x.then, x.current)
	w.line("mov %s, %s", v.then, v.current)
	w.line("b .Lnext%%=")
}

// repeat makes the next iteration's addresses this one's.
func (w *writer) repeat() {
	if len(w.loops) == 0 {
		return
	}
	for _, b := range w.bases {
		w.line("mov %s, %s", b.current, b.then)
	}
	w.line("cbnz %s, .Lloop%%=", w.counters[0])
}
