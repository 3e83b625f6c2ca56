package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/loop"
)

// MicroName names a micro-kernel by what distinguishes it: tile, lanes, K loops and strides.
func MicroName(m *loop.MicroKernel) string {
	kind := "bcast"
	if !m.Broadcast {
		kind = "vec"
	}
	name := fmt.Sprintf("f32_mac_%s_%dx%dx%d_s%d", kind, m.Rows, m.Vectors, m.Lanes, m.RowStep)
	for _, k := range m.K {
		name += fmt.Sprintf("_k%d_%d_%d", k.Extent, k.XStep, k.WStep)
	}
	return name
}

// Micro prints a micro-kernel as a leaf function: every accumulator is a variable of its own,
// so that a compiler keeps it in a register.
func Micro(m *loop.MicroKernel) string {
	w := &writer{}
	vec := fmt.Sprintf("dnn_f32x%d", m.Lanes)
	w.line("// %d x %d accumulators of %d floats; %d FMAs a call.", m.Rows, m.Vectors, m.Lanes, m.FMAs())
	w.block(fmt.Sprintf("static inline void %s(const float* __restrict x, const float* __restrict w, float* __restrict acc)", MicroName(m)), func() {
		for r := int64(0); r < m.Rows; r++ {
			w.line("%s %s;", vec, strings.Join(initialized(m, r), ", "))
		}
		microLoop(w, m, vec, 0)
		for r := int64(0); r < m.Rows; r++ {
			for v := int64(0); v < m.Vectors; v++ {
				w.line("dnn_store(acc + %d, a%d_%d);", (r*m.Vectors+v)*m.Lanes, r, v)
			}
		}
	})
	return w.b.String()
}

func initialized(m *loop.MicroKernel, r int64) []string {
	out := make([]string, m.Vectors)
	for v := range out {
		out[v] = fmt.Sprintf("a%d_%d = {}", r, v)
	}
	return out
}

// microLoop prints K loop number i and all within it; each loop has its own pointers.
func microLoop(w *writer, m *loop.MicroKernel, vec string, i int) {
	if i == len(m.K) {
		microStep(w, m, vec)
		return
	}
	k := m.K[i]
	w.line("const float *x%d = %s, *w%d = %s;", i, pointer("x", i), i, pointer("w", i))
	w.block(fmt.Sprintf("for (int64_t k%d = 0; k%d < %d; ++k%d, x%d += %d, w%d += %d)", i, i, k.Extent, i, i, k.XStep, i, k.WStep), func() {
		microLoop(w, m, vec, i+1)
	})
}

// pointer is the operand's pointer outside of loop i.
func pointer(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s%d", name, i-1)
}

// microStep is the body of the innermost loop: loads of W once, each X used for all vectors.
func microStep(w *writer, m *loop.MicroKernel, vec string) {
	px, pw := pointer("x", len(m.K)), pointer("w", len(m.K))
	for v := int64(0); v < m.Vectors; v++ {
		w.line("const %s b%d = dnn_load<%s>(%s + %d);", vec, v, vec, pw, v*m.Lanes)
	}
	for r := int64(0); r < m.Rows; r++ {
		for v := int64(0); v < m.Vectors; v++ {
			x := fmt.Sprintf("%s[%d]", px, r*m.RowStep)
			if !m.Broadcast {
				x = fmt.Sprintf("dnn_load<%s>(%s + %d)", vec, px, r*m.RowStep+v*m.Lanes)
			}
			w.line("a%d_%d += %s * b%d;", r, v, x, v)
		}
	}
}
