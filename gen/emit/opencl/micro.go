package opencl

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// operand is where a micro-kernel finds X or W: in the device's memory, or in that of a work-group, there maybe at multiples of registers.
type operand struct{ shared, whole bool }

// space is the address space.
func (o operand) space() string {
	if o.shared {
		return "__local"
	}
	return "__global"
}

func (o operand) suffix() string {
	switch {
	case o.whole:
		return "_lw"
	case o.shared:
		return "_l"
	}
	return ""
}

// call is a micro-kernel and where it finds its operands.
type call struct {
	*loop.MicroKernel
	x, w operand
}

// name is by what distinguishes it: instruction, how X reaches it, tile, K loops and strides.
func (m call) name() string {
	name := fmt.Sprintf("dnn_tile_%s_%s%s%s_%dx%d_s%d_v%d", m.Instr.Name, m.X, m.x.suffix(), m.w.suffix(), m.Rows, m.Vectors, m.RowStep, m.VecStep)
	if m.Run > 0 {
		name += fmt.Sprintf("_r%d_%d", m.Run, m.RunStep)
	}
	for _, k := range m.K {
		name += fmt.Sprintf("_k%d_%d_%d", k.Extent, k.XStep, k.WStep)
	}
	if m.Kept != nil {
		name += m.Kept.Name()
	}
	if m.Adds {
		name += "_adds"
	}
	return name
}

// text prints it as a function; every accumulator is a variable of its own.
func (m call) text() string {
	if m.Instr.Down > 0 {
		return m.together()
	}
	w := &ckernel.Writer{}
	vec := scalar.CLType(m.Instr.Acc, m.Lanes())
	w.Line("// %d x %d accumulators of %d numbers; %d applications of %s a call.", m.Rows, m.Vectors, m.Lanes(), m.FMAs(), m.Instr.Name)
	kind := "static"
	if m.Adds { // or the accumulators would be memory, not registers
		kind = "static inline __attribute__((always_inline))"
	}
	kept := ""
	if m.Kept != nil {
		kept = ", __global const ushort* index, __global const ushort* ends"
	}
	w.Block(fmt.Sprintf("%s void %s(%s const %s* x, %s const %s* w, %s* acc%s)",
		kind, m.name(), m.x.space(), storage(m.Instr.X), m.w.space(), storage(m.Instr.W), storage(m.Instr.Acc), kept), func() {
		m.each(func(r, v int64) { w.Line("%s a%d_%d = %s;", vec, r, v, m.first(vec, r, v)) })
		if m.Kept != nil {
			m.kept(w)
		} else {
			m.loops(w)
		}
		m.each(func(r, v int64) {
			if !m.Adds {
				w.Line("vstore%d(a%d_%d, 0, acc + %d);", m.Lanes(), r, v, m.at(r, v))
				return
			}
			for l := range m.Lanes() {
				w.Line("acc[%d] = a%d_%d.s%x;", m.at(r, v)+l, r, v, l)
			}
		})
	})
	return w.String()
}

// loops are the K loops.
func (m call) loops(w *ckernel.Writer) {
	x, at := []string{"x"}, []string{"w"}
	for i, k := range m.K {
		if m.Adds && i == len(m.K)-1 {
			w.Line("#pragma unroll")
		}
		w.Line("for (int k%d = 0; k%d < %d; ++k%d) {", i, i, k.Extent, i)
		w.Indent++
		x = append(x, fmt.Sprintf("k%d * %d", i, k.XStep))
		at = append(at, fmt.Sprintf("k%d * %d", i, k.WStep))
	}
	m.point(w, strings.Join(x, " + "), strings.Join(at, " + "))
	for range m.K {
		w.Indent--
		w.Line("}")
	}
}

// first is what an accumulator begins with. Those that are there are read one by one: compilers make variables of arrays whose elements are
// only ever read so.
func (m call) first(vec string, r, v int64) string {
	if !m.Adds {
		return "(" + vec + ")(0)"
	}
	var lanes []string
	for l := range m.Lanes() {
		lanes = append(lanes, fmt.Sprintf("acc[%d]", m.at(r, v)+l))
	}
	return "(" + vec + ")(" + strings.Join(lanes, ", ") + ")"
}

// at is where an accumulator lies.
func (m call) at(r, v int64) int64 { return (r*m.Vectors + v) * m.Lanes() }

func (m call) each(f func(r, v int64)) {
	for r := range m.Rows {
		for v := range m.Vectors {
			f(r, v)
		}
	}
}

// point is one point of the K loops, at which the operands lie at x and at.
func (m call) point(w *ckernel.Writer, x, at string) {
	t := scalar.CLType(ir.F32, m.Lanes())
	for v := range m.Vectors {
		w.Line("const %s b%d = %s;", t, v, m.w.load(t, m.Lanes(), at, m.VectorAt(v)))
	}
	together := m.rowsTogether()
	for r := range m.Rows {
		if together && r%m.Lanes() == 0 {
			w.Line("const %s p%d = %s;", t, r/m.Lanes(), m.x.load(t, m.Lanes(), x, m.RowAt(r)))
		}
		switch {
		case together:
			w.Line("const %s q%d = (%s)(p%d.s%x);", t, r, t, r/m.Lanes(), r%m.Lanes())
		case m.X != instr.Vector:
			w.Line("const %s q%d = (%s)((%s)[%d]);", t, r, t, x, m.RowAt(r))
		}
		for v := range m.Vectors {
			q := fmt.Sprintf("q%d", r)
			if m.X == instr.Vector {
				q = m.x.load(t, m.Lanes(), x, m.RowAt(r)+v*m.Lanes())
			}
			w.Line("%s", m.Instr.Text(dialectName, fmt.Sprintf("a%d_%d", r, v), q, fmt.Sprintf("b%d", v)))
		}
	}
}

// load is a register. Memory at multiples of registers is read by one instruction where the type of the pointer says so; vload promises
// nothing of where it reads.
func (o operand) load(t string, lanes int64, at string, more int64) string {
	if o.whole {
		return fmt.Sprintf("*(%s const %s*)(%s + %d)", o.space(), t, at, more)
	}
	return fmt.Sprintf("vload%d(0, %s + %d)", lanes, at, more)
}

// rowsTogether reports whether so many rows of X as a register has lanes lie side by side, at multiples of registers.
func (m call) rowsTogether() bool {
	run := m.Rows
	if m.Run > 0 {
		run = m.Run
	}
	return m.X != instr.Vector && m.x.whole && m.RowStep == 1 && run%m.Lanes() == 0 && (m.Run == 0 || m.RunStep%m.Lanes() == 0)
}

// read is how many elements that items share are read at once: a register's, or a group of the sum.
func (m call) read() int64 {
	if m.Instr.Down > 0 {
		return m.Instr.Group
	}
	return m.Lanes()
}

// callOf is a kernel's tile with where its operands are.
func callOf(k *loop.Kernel, x loop.Tile) call {
	m := call{MicroKernel: x.Micro}
	lanes := m.read()
	whole := func(at sym.Expr, step func(loop.KLoop) int64) bool {
		return sym.Mod(at, sym.Const(lanes), k.Facts).Is(0) && !slices.ContainsFunc(m.K, func(k loop.KLoop) bool { return step(k)%lanes != 0 })
	}
	m.x.shared, m.w.shared = slices.Contains(k.Shared, x.X), slices.Contains(k.Shared, x.W)
	m.x.whole = m.x.shared && m.X != instr.Vector && whole(x.XAt, func(k loop.KLoop) int64 { return k.XStep })
	m.w.whole = m.w.shared && m.VecStep%lanes == 0 && whole(x.At, func(k loop.KLoop) int64 { return k.WStep })
	return m
}
