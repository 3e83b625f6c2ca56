package opencl

import (
	"fmt"
	"strings"

	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/print/ckernel"
	"rules_dnn/gen/scalar"
)

// microName names a micro-kernel by what distinguishes it: instruction, how X reaches it, tile,
// K loops and strides.
func microName(m *loop.MicroKernel) string {
	name := fmt.Sprintf("dnn_tile_%s_%s_%dx%d_s%d_v%d", m.Instr.Name, m.X, m.Rows, m.Vectors, m.RowStep, m.VecStep)
	if m.Run > 0 {
		name += fmt.Sprintf("_r%d_%d", m.Run, m.RunStep)
	}
	for _, k := range m.K {
		name += fmt.Sprintf("_k%d_%d_%d", k.Extent, k.XStep, k.WStep)
	}
	return name
}

// micro prints a micro-kernel as a function; every accumulator is a variable of its own.
func micro(m *loop.MicroKernel) string {
	w := &ckernel.Writer{}
	vec := scalar.CLType(m.Instr.Acc, m.Lanes())
	w.Line("// %d x %d accumulators of %d numbers; %d applications of %s a call.", m.Rows, m.Vectors, m.Lanes(), m.FMAs(), m.Instr.Name)
	w.Block(fmt.Sprintf("static void %s(__global const %s* x, __global const %s* w, %s* acc)",
		microName(m), storage(m.Instr.X), storage(m.Instr.W), storage(m.Instr.Acc)), func() {
		each(m, func(r, v int64) { w.Line("%s a%d_%d = (%s)(0);", vec, r, v, vec) })
		x, at := []string{"x"}, []string{"w"}
		for i, k := range m.K {
			w.Line("for (int k%d = 0; k%d < %d; ++k%d) {", i, i, k.Extent, i)
			w.Indent++
			x = append(x, fmt.Sprintf("k%d * %d", i, k.XStep))
			at = append(at, fmt.Sprintf("k%d * %d", i, k.WStep))
		}
		point(w, m, strings.Join(x, " + "), strings.Join(at, " + "))
		for range m.K {
			w.Indent--
			w.Line("}")
		}
		each(m, func(r, v int64) {
			w.Line("vstore%d(a%d_%d, 0, acc + %d);", m.Lanes(), r, v, (r*m.Vectors+v)*m.Lanes())
		})
	})
	return w.String()
}

func each(m *loop.MicroKernel, f func(r, v int64)) {
	for r := range m.Rows {
		for v := range m.Vectors {
			f(r, v)
		}
	}
}

// point is one point of the K loops, at which the operands lie at x and at.
func point(w *ckernel.Writer, m *loop.MicroKernel, x, at string) {
	t := scalar.CLType(ir.F32, m.Lanes())
	for v := range m.Vectors {
		w.Line("const %s b%d = vload%d(0, %s + %d);", t, v, m.Lanes(), at, m.VectorAt(v))
	}
	for r := range m.Rows {
		if m.X != instr.Vector {
			w.Line("const %s q%d = (%s)((%s)[%d]);", t, r, t, x, m.RowAt(r))
		}
		for v := range m.Vectors {
			q := fmt.Sprintf("q%d", r)
			if m.X == instr.Vector {
				q = fmt.Sprintf("vload%d(0, %s + %d)", m.Lanes(), x, m.RowAt(r)+v*m.Lanes())
			}
			w.Line("%s", m.Instr.Text(dialectName, fmt.Sprintf("a%d_%d", r, v), q, fmt.Sprintf("b%d", v)))
		}
	}
}
