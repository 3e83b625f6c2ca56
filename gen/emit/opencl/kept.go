package opencl

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/scalar"
)

// kept is the loops over runs of stored kernels: for each pattern one whose body has its taps written out, without branches.
func (m call) kept(w *ckernel.Writer) {
	k := m.Kept
	runs := func(first string) {
		for p, taps := range k.Taps {
			w.Block(fmt.Sprintf("for (int n = ends[%s%d]; n < ends[%s%d]; ++n)", first, p, first, p+1), func() {
				w.Line("%s const %s* xc = x + %s;", m.x.space(), storage(m.Instr.X), m.channel())
				m.taps(w, taps)
			})
		}
	}
	if k.Blocks == 1 {
		runs("")
		return
	}
	w.Block(fmt.Sprintf("for (int r = 0; r < %d; r += %d)", k.Runs(), len(k.Taps)), func() { runs("r + ") })
}

// channel is where the channel of kernel n begins in X.
func (m call) channel() string {
	k := m.Kept
	if k.Group >= k.Channels {
		return fmt.Sprintf("index[n] * %d", k.Step)
	}
	return fmt.Sprintf("index[n] / %d * %d + index[n] %% %d * %d", k.Group, k.GroupStep, k.Group, k.Step)
}

// taps is the products of a kernel's taps.
func (m call) taps(w *ckernel.Writer, taps []int64) {
	entries := m.Kept.Entries()
	if m.Broadcast() {
		for i, tap := range taps {
			scope(w, func() {
				m.point(w, fmt.Sprintf("xc + %d", tap), fmt.Sprintf("w + (n * %d + %d) * %d", entries, i, m.Vectors*m.Lanes()))
			})
		}
		return
	}
	t := scalar.CLType(m.Instr.Acc, m.Lanes())
	for _, c := range m.Columns(taps) {
		for _, i := range c.Taps {
			scope(w, func() {
				w.Line("const %s b = (%s)(w[n * %d + %d]);", t, t, entries, i)
				m.each(func(r, v int64) {
					x := m.x.load(t, m.Lanes(), "xc", taps[i]+m.RowAt(r)+v*m.Lanes())
					w.Line("%s", m.Instr.Text(dialectName, fmt.Sprintf("a%d_%d", r, v), x, "b"))
				})
			})
		}
	}
}

// scope is a block of its own.
func scope(w *ckernel.Writer, body func()) {
	w.Line("{")
	w.Indent++
	body()
	w.Indent--
	w.Line("}")
}
