package hvx

import (
	"fmt"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

type writer struct{ ckernel.Writer }

func (w *writer) line(format string, args ...any) { w.Line(format, args...) }

// micro prints a micro-kernel: every accumulator is a variable of its own, so that a compiler keeps
// it in a register.
func micro(m *loop.MicroKernel) string {
	w := &writer{}
	w.line("// %d x %d accumulators of %d numbers; %d applications of %s a call.", m.Rows, m.Vectors, m.Lanes(), m.FMAs(), m.Instr.Name)
	w.Block(head("DNN_HVX_LEAF", m), func() {
		if m.Narrow > 0 {
			w.narrow(m)
			return
		}
		each(m, func(r, v int64) { w.line("HVX_Vector %s = Q6_V_vzero();", acc(r, v)) })
		w.loops(m, 0)
		each(m, func(r, v int64) { w.line("dnn_hvx_store(acc + %d, %s);", (r*m.Vectors+v)*m.Lanes(), acc(r, v)) })
	})
	return w.String()
}

// each calls f for every accumulator.
func each(m *loop.MicroKernel, f func(r, v int64)) {
	for r := range m.Rows {
		for v := range m.Vectors {
			f(r, v)
		}
	}
}

func acc(r, v int64) string { return fmt.Sprintf("a%d_%d", r, v) }

// loops prints K loop number i and all within it; each loop has its own pointers.
func (w *writer) loops(m *loop.MicroKernel, i int) {
	if i == len(m.K) {
		w.point(m, 0, loop.KLoop{})
		return
	}
	k, steps, rest := m.K[i], int64(1), int64(0)
	inner := func() { w.loops(m, i+1) }
	if i == len(m.K)-1 {
		steps = m.Unroll()
		inner = func() {
			for p := range steps {
				w.point(m, p, k)
			}
		}
	}
	if unit := m.Narrow * m.Instr.Sums; i == len(m.K)-1 && m.Narrow > 0 {
		steps = min(unit, k.Extent)
		rest = k.Extent % steps
		inner = func() { w.sums(m, 0, steps, k) }
	}
	w.line("const %s* x%d = %s;", cpp.Storage(m.Instr.X), i+1, pointer("x", i))
	w.line("const %s* w%d = %s;", cpp.Storage(m.Instr.W), i+1, pointer("w", i))
	if k.Extent == steps {
		inner()
		return
	}
	w.line("DNN_HVX_ROLLED")
	w.Block(fmt.Sprintf("for (int k%d = 0; k%d < %d; ++k%d, x%d += %d, w%d += %d)", i, i, k.Extent/steps, i, i+1, k.XStep*steps, i+1, k.WStep*steps), inner)
	if rest > 0 { // the pointers are where the loop has left them
		w.sums(m, 0, rest, k)
	}
}

// pointer is an operand's pointer inside of i loops.
func pointer(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s%d", name, i)
}

// point is one point of the reduction: each register of W is loaded once for all rows, and each
// group of X once for all registers.
func (w *writer) point(m *loop.MicroKernel, p int64, k loop.KLoop) {
	depth, load := len(m.K), "dnn_hvx_load"
	if !m.WholeRegisters() {
		load = "dnn_hvx_load_any"
	}
	for v := range m.Vectors {
		w.line("const HVX_Vector b%d_%d = %s(%s + %d);", p, v, load, pointer("w", depth), p*k.WStep+m.VectorAt(v))
	}
	for r := range m.Rows {
		x, q := fmt.Sprintf("dnn_hvx_group(%s + %d)", pointer("x", depth), m.RowAt(r)+p*k.XStep), fmt.Sprintf("q%d_%d", p, r)
		switch m.X {
		case instr.Scalar:
			w.line("const int32_t %s = %s;", q, x)
		case instr.Register:
			w.line("const HVX_Vector %s = Q6_V_vsplat_R(%s);", q, x)
		default:
			panic(fmt.Sprintf("HVX has no instruction that takes X as %s", m.X))
		}
		for v := range m.Vectors {
			w.line("%s", m.Instr.Text(instructions, acc(r, v), q, fmt.Sprintf("b%d_%d", p, v)))
		}
	}
}
