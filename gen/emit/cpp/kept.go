package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// kept prints the loops over runs of stored kernels: for each pattern one whose body has its taps written out, without branches.
func (w *microWriter) kept() {
	k := w.m.Kept
	w.line("const uint16_t* first = index;")
	if k.Part > 0 {
		w.line("index += ends[0], w += (int64_t)ends[0] * %d;", w.kernelWeights())
	}
	runs := func() {
		if k.Given {
			w.given()
			return
		}
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
	w.block(fmt.Sprintf("for (int b = 0; b < %d; ++b, ends += %d)", k.Blocks, k.Runs()/k.Blocks), runs)
}

// given prints the loop over kernels of all patterns, with a branch for each: as it is without the reorder of kernels.
func (w *microWriter) given() {
	k := w.m.Kept
	w.line("DNN_ROLLED")
	w.block(fmt.Sprintf("for (const uint16_t* end = first + ends[1]; index != end; ++index, w += %d)", w.kernelWeights()), func() {
		w.line("const uint32_t channel = *index %% %du;", k.Channels)
		w.block(fmt.Sprintf("switch (*index / %du)", k.Channels), func() {
			for p, taps := range k.Taps {
				label := fmt.Sprintf("case %d:", p)
				if p == len(k.Taps)-1 {
					label = "default:"
				}
				w.block(label, func() {
					w.kernel(taps)
					w.line("break;")
				})
			}
		})
	})
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
	if w.m.W() == w.m.Instr.X {
		w.line("const float *x0 = x + %s, *w0 = w;", w.channel())
	} else {
		w.line("const float* x0 = x + %s;", w.channel())
		w.line("const %s* w0 = w;", Storage(w.m.W()))
	}
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
	all, ahead := w.steps(taps), 0
	if m.Kept.Early { // their latency passes while those before them are multiplied
		ahead = instr.EarlyLoads
	}
	next, at := 0, int64(0)
	for i, s := range all {
		for ; next <= min(i+ahead, len(all)-1); next++ {
			if m.Kept.Early {
				at = w.moveTo(all[next], at)
			}
			w.loadStep(all[next], at)
		}
		w.products(s)
	}
}

// step is a register of X that is read, the first one of a column after the column's weights.
type step struct {
	loop.Read
	column int
	of     loop.Column
	first  bool
}

// steps are what a kernel reads, in the order of its products.
func (w *microWriter) steps(taps []int64) []step {
	var out []step
	for n, c := range w.m.Columns(taps) {
		for i, r := range w.m.Reads(c) {
			out = append(out, step{r, n, c, i == 0})
		}
	}
	return out
}

// weight returns the weight of a tap in all lanes.
func (w *microWriter) weight(tap int64) string {
	if w.m.Stored != ir.Invalid {
		return fmt.Sprintf("dnn_each_%s<%s>(w + %d)", w.m.Stored, w.vec, tap)
	}
	return fmt.Sprintf("w[%d] - %s{}", tap, w.vec)
}

// moveTo lets the pointer to X end as many elements behind whole registers as those of a column begin, of which it is `at`: instructions of 64-bit ARM
// reach further in steps of a register, and would want an address for each load.
func (w *microWriter) moveTo(s step, at int64) int64 {
	to := s.of.First % w.m.Instr.Lanes
	if s.first && to != at {
		w.line("x0 += %d;", to-at)
		return to
	}
	return at
}

// loadStep reads the register, and the weights that are new; the pointer to X is so many elements further.
func (w *microWriter) loadStep(s step, moved int64) {
	for i, tap := range s.of.Taps {
		if s.first && w.held(tap) {
			w.line("const %s b%d_%d = %s;", w.vec, s.column, i, w.weight(tap))
		}
	}
	w.line("const %s x%d_%s = dnn_load<%s>(x0 + %d);", w.vec, s.column, s.Name, w.vec, s.At-moved)
}

// products are those of the register.
func (w *microWriter) products(s step) {
	for _, t := range s.Sums {
		b := fmt.Sprintf("b%d_%d", s.column, t.Tap)
		if tap := s.of.Taps[t.Tap]; !w.held(tap) { // an operand in memory
			b = fmt.Sprintf("(w0[%d] - %s{})", tap, w.vec)
		}
		w.line("%s", w.m.Instr.Text("cpp", accName(t.Row, t.Vector), b, fmt.Sprintf("x%d_%s", s.column, s.Name)))
	}
	// Patterns overlap: compilers would carry what the next column reads, too, put products off, and run out of registers.
	for _, t := range s.Sums {
		w.line("dnn_opaque_after(x0, %s);", accName(t.Row, t.Vector))
	}
	if w.m.Kept.Held > 0 { // or compilers would keep all weights, and run out of registers
		w.line("DNN_OPAQUE(w0);")
	}
}

// held reports whether the weight of a tap stays in a register.
func (w *microWriter) held(tap int64) bool { return w.m.Kept.Held == 0 || tap < w.m.Kept.Held }

// channel is where the channel of a kernel begins in X.
func (w *microWriter) channel() string {
	k, at := w.m.Kept, "*index"
	if k.Given {
		at = "channel"
	}
	if k.Group >= k.Channels {
		return fmt.Sprintf("(int64_t)%s * %d", at, k.Step)
	}
	var sum []string
	if k.GroupStep != 0 {
		sum = append(sum, fmt.Sprintf("(int64_t)(%s / %d) * %d", at, k.Group, k.GroupStep))
	}
	return strings.Join(append(sum, fmt.Sprintf("%s %% %d * %d", at, k.Group, k.Step)), " + ")
}
