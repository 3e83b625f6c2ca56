package cpp

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"rules_dnn/gen/loop"
)

// keptName tells sums over stored kernels apart: their taps by a digest.
func keptName(k *loop.Kept) string {
	h := fnv.New32a()
	fmt.Fprint(h, k.Taps)
	name := fmt.Sprintf("_kept%dx%d_%d_%d_%d_%08x", k.Blocks, len(k.Taps), k.Group, k.Step, k.GroupStep, h.Sum32())
	if k.Alone {
		name += "_alone"
	}
	return name
}

// kept prints the loops over runs of stored kernels: for each pattern one whose body has its taps written out, without branches.
func (w *microWriter) kept() {
	k := w.m.Kept
	w.line("const uint16_t* first = index;")
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
	for n, c := range m.Columns(taps) {
		for i, tap := range c.Taps {
			w.line("const %s b%d_%d = w[%d] - %s{};", w.vec, n, i, tap, w.vec)
		}
		for r := range m.Rows + slices.Max(c.From) {
			var rows, of []int64 // of sums, and the taps that they take
			for i, from := range c.From {
				if row := r - from; row >= 0 && row < m.Rows {
					rows, of = append(rows, row), append(of, int64(i))
				}
			}
			if len(rows) == 0 {
				continue
			}
			for v := range m.Vectors {
				x := fmt.Sprintf("x%d_%d_%d", n, r, v)
				w.line("const %s %s = dnn_load<%s>(x0 + %d);", w.vec, x, w.vec, c.First+r*m.RowStep+v*m.Lanes())
				for i, row := range rows {
					w.line("%s", m.Instr.Text("cpp", accName(row, v), fmt.Sprintf("b%d_%d", n, of[i]), x))
				}
				// Patterns overlap: compilers would carry what the next column reads, too, put products off, and run out of registers.
				for _, row := range rows {
					w.line("dnn_opaque_after(x0, %s);", accName(row, v))
				}
			}
		}
	}
}

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
