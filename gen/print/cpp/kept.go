package cpp

import (
	"fmt"
	"strings"
)

// kept prints the loops over runs of stored kernels: for each pattern one whose body has its taps written out, without branches.
func (w *microWriter) kept() {
	k := w.m.Kept
	w.line("const uint16_t* first = index;")
	if k.Part > 0 {
		w.line("index += ends[0], w += (int64_t)ends[0] * %d;", w.kernelWeights())
	}
	runs := func() {
		for p, taps := range k.Taps {
			w.line("DNN_ROLLED")
			w.block(fmt.Sprintf("for (const uint16_t* end = first + ends[%d]; index != end; ++index, w += %d)", p+1, w.kernelWeights()), func() { w.kernel(taps) })
		}
	}
	if k.Blocks == 1 {
		runs()
		return
	}
	w.line("DNN_ROLLED")
	w.block(fmt.Sprintf("for (int b = 0; b < %d; ++b, ends += %d)", k.Blocks, len(k.Taps)), runs)
}

// kernelWeights is how many elements of W a kernel has.
func (w *microWriter) kernelWeights() int64 {
	if !w.m.Broadcast() {
		return w.m.Kept.Entries()
	}
	return w.m.Kept.Entries() * w.m.Vectors * w.m.Lanes()
}

// kernel is the products of a kernel's taps.
func (w *microWriter) kernel(taps []int64) {
	if !w.m.Broadcast() {
		w.columns(taps)
		return
	}
	w.line("const float *x0 = x + %s, *w0 = w;", w.channel())
	for i, tap := range taps {
		// Patterns overlap: compilers would carry what the next tap reads, too, and run out of registers.
		if i > 0 {
			w.line("DNN_OPAQUE(x0);")
		}
		w.point(int64(i), tap, int64(i)*w.m.Vectors*w.m.Lanes())
	}
}

// columns is the products of a kernel's taps where lanes are in X: what several rows read is loaded once, and multiplied for all of them.
func (w *microWriter) columns(taps []int64) {
	m := w.m
	w.line("const float* x0 = x + %s;", w.channel())
	if m.Kept.Held > 0 {
		w.line("const float* w0 = w;")
	}
	for n, c := range m.Columns(taps) {
		for i, tap := range c.Taps {
			if w.held(tap) {
				w.line("const %s b%d_%d = w[%d] - %s{};", w.vec, n, i, tap, w.vec)
			}
		}
		for _, read := range m.Reads(c) {
			x := fmt.Sprintf("x%d_%s", n, read.Name)
			w.line("const %s %s = dnn_load<%s>(x0 + %d);", w.vec, x, w.vec, read.At)
			for _, t := range read.Sums {
				b := fmt.Sprintf("b%d_%d", n, t.Tap)
				if tap := c.Taps[t.Tap]; !w.held(tap) { // an operand in memory
					b = fmt.Sprintf("(w0[%d] - %s{})", tap, w.vec)
				}
				w.line("%s", m.Instr.Text("cpp", accName(t.Row, t.Vector), b, x))
			}
			// Patterns overlap: compilers would carry what the next column reads, too, put products off, and run out of registers.
			for _, t := range read.Sums {
				w.line("dnn_opaque_after(x0, %s);", accName(t.Row, t.Vector))
			}
			if m.Kept.Held > 0 { // or compilers would keep all weights, and run out of registers
				w.line("DNN_OPAQUE(w0);")
			}
		}
	}
}

// held reports whether the weight of a tap stays in a register.
func (w *microWriter) held(tap int64) bool { return w.m.Kept.Held == 0 || tap < w.m.Kept.Held }

// channel is where the channel of a kernel begins in X.
func (w *microWriter) channel() string {
	k := w.m.Kept
	if k.Group >= k.Channels {
		return fmt.Sprintf("(int64_t)*index * %d", k.Step)
	}
	var sum []string
	if k.GroupStep != 0 {
		sum = append(sum, fmt.Sprintf("(int64_t)(*index / %d) * %d", k.Group, k.GroupStep))
	}
	return strings.Join(append(sum, fmt.Sprintf("*index %% %d * %d", k.Group, k.Step)), " + ")
}
