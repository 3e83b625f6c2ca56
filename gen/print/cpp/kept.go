package cpp

import (
	"fmt"
	"hash/fnv"
	"strings"

	"rules_dnn/gen/loop"
)

// keptName tells sums over stored kernels apart: their taps by a digest.
func keptName(k *loop.Kept) string {
	h := fnv.New32a()
	fmt.Fprint(h, k.Taps)
	return fmt.Sprintf("_kept%dx%d_%d_%d_%d_%08x", k.Blocks, len(k.Taps), k.Group, k.Step, k.GroupStep, h.Sum32())
}

// kept prints the loops over runs of stored kernels: for each pattern one whose body has its taps written out, without branches.
func (w *microWriter) kept() {
	k := w.m.Kept
	w.line("const uint16_t* first = index;")
	runs := func() {
		for p, taps := range k.Taps {
			w.line("DNN_ROLLED")
			w.block(fmt.Sprintf("for (const uint16_t* end = first + ends[%d]; index != end; ++index, w += %d)", p+1, k.Entries()*w.m.Vectors*w.m.Lanes()), func() { w.kernel(taps) })
		}
	}
	if k.Blocks == 1 {
		runs()
		return
	}
	w.line("DNN_ROLLED")
	w.block(fmt.Sprintf("for (int b = 0; b < %d; ++b, ends += %d)", k.Blocks, len(k.Taps)), runs)
}

// kernel is the products of a kernel's taps.
func (w *microWriter) kernel(taps []int64) {
	w.line("const float *x0 = x + %s, *w0 = w;", w.channel())
	for i, tap := range taps {
		// Patterns overlap: compilers would carry what the next tap reads, too, and run out of registers.
		if i > 0 {
			w.line("DNN_OPAQUE(x0);")
		}
		w.point(int64(i), tap, int64(i)*w.m.Vectors*w.m.Lanes())
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
