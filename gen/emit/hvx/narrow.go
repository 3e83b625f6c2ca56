package hvx

import (
	"fmt"

	"rules_dnn/gen/kernel/loop"
)

// narrow prints a micro-kernel of an instruction that adds products in lanes of 16 bits: sums of a few points, which are added to accumulators of pairs
// of registers. Its lanes lie as the row's order says until they are stored.
func (w *writer) narrow(m *loop.MicroKernel) {
	each(m, func(r, v int64) {
		for i := range m.Instr.PerSum() / 2 {
			w.line("HVX_VectorPair %s = Q6_W_vcombine_VV(Q6_V_vzero(), Q6_V_vzero());", pair(r, v, i))
		}
	})
	w.loops(m, 0)
	each(m, func(r, v int64) {
		at := (r*m.Vectors + v) * m.Lanes()
		for i, reg := range w.inOrder(m, r, v) {
			w.line("dnn_hvx_store(acc + %d, %s);", at+int64(i)*lanes, reg)
		}
	})
}

// pair is a pair of registers of an accumulator.
func pair(r, v, i int64) string { return fmt.Sprintf("%s_%d", acc(r, v), i) }

// inOrder are the registers of an accumulator with all lanes in order: registers of every n-th lane become ones of every n/2-th, in pairs.
func (w *writer) inOrder(m *loop.MicroKernel, r, v int64) []string {
	order := m.Instr.Order
	at := make([]string, len(order)) // by first lane
	for i, first := range order {
		at[first] = fmt.Sprintf("Q6_V_%s_W(%s)", []string{"lo", "hi"}[i%2], pair(r, v, int64(i/2)))
	}
	for n, level := len(at)/2, 0; n > 0; n, level = n/2, level+1 {
		next := make([]string, len(at))
		for i := range n {
			name := fmt.Sprintf("s%d_%s", level, pair(r, v, int64(i)))
			for part := range len(at) / n / 2 {
				own := fmt.Sprintf("%s_%d", name, part)
				from := len(at) / n / 2
				w.line("const HVX_VectorPair %s = Q6_W_vshuff_VVR(%s, %s, -4);", own, at[(i+n)*from+part], at[i*from+part])
				next[i*2*from+2*part], next[i*2*from+2*part+1] = "Q6_V_lo_W("+own+")", "Q6_V_hi_W("+own+")"
			}
		}
		at = next
	}
	return at
}

// sums prints points of the innermost loop whose sums in 16 bits are added to accumulators at once: groups of Narrow points, one after the other.
func (w *writer) sums(m *loop.MicroKernel, first, points int64, k loop.KLoop) {
	depth, load := len(m.K), "dnn_hvx_load"
	if !m.WholeRegisters() {
		load = "dnn_hvx_load_any"
	}
	together := m.Instr.Together()
	for p := first; p < first+points; p++ {
		for v := range m.Vectors {
			w.line("const HVX_Vector b%d_%d = %s(%s + %d);", p, v, load, pointer("w", depth), p*k.WStep+m.VectorAt(v))
		}
	}
	for r := range m.Rows {
		for p := first; p < first+points; p += together {
			w.line("const int32_t q%d_%d = %s;", p, r, w.scalar(m, p, min(together, first+points-p), m.RowAt(r), k))
		}
		for v := range m.Vectors {
			var all []string
			for p := first; p < first+points; p += m.Narrow {
				name := fmt.Sprintf("n%d_%d_%d", p, r, v)
				all = append(all, name)
				for q := p; q < min(p+m.Narrow, first+points); q += together {
					in := fmt.Sprintf("b%d_%d", q, v)
					if together > 1 {
						other := "Q6_V_vzero()"
						if q+1 < first+points {
							other = fmt.Sprintf("b%d_%d", q+1, v)
						}
						in = fmt.Sprintf("Q6_W_vcombine_VV(%s, %s)", other, in)
					}
					dialect, declared := instructions, ""
					if q == p {
						dialect, declared = instructions+" first", "HVX_VectorPair "
					}
					w.line("%s%s", declared, m.Instr.Text(dialect, name, fmt.Sprintf("q%d_%d", q, r), in))
				}
			}
			for int64(len(all)) < m.Instr.Sums {
				all = append(all, "Q6_W_vcombine_VV(Q6_V_vzero(), Q6_V_vzero())")
			}
			var to []string
			for i := range m.Instr.PerSum() / 2 {
				to = append(to, pair(r, v, i))
			}
			w.line("%s", m.Instr.WidenText(instructions, to, all))
		}
	}
}

// scalar is what an application multiplies with: an element for each byte, or those of two points beside each other.
func (w *writer) scalar(m *loop.MicroKernel, p, points, at int64, k loop.KLoop) string {
	x := pointer("x", len(m.K))
	first := fmt.Sprintf("%s + %d", x, at+p*k.XStep)
	switch {
	case m.Instr.Together() == 1:
		return fmt.Sprintf("Q6_R_vsplatb_R(*(%s))", first)
	case points == 1:
		return fmt.Sprintf("dnn_hvx_crossed(%s, 0)", first)
	}
	return fmt.Sprintf("dnn_hvx_crossed(%s, %s + %d)", first, x, at+(p+1)*k.XStep)
}
