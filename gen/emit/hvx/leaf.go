package hvx

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/hexagon/machine"
	"rules_dnn/gen/emit/hexagon/sched"
	"rules_dnn/gen/emit/hvx/packed"
	"rules_dnn/gen/kernel/loop"
)

// oldest is the first version of Hexagon that there are packets for. Later ones run all that it does.
const oldest = 66

// For is how kernels are written where micro-kernels are packed for a version of Hexagon and later ones.
func For(version int) *cpp.Language {
	l := *Intrinsics
	l.Micro = func(t loop.Tile, _ int) string { return leaf(t.Micro, version) }
	l.Functions = func(ks []*loop.Kernel, bodies string) string {
		return functions(ks, bodies) + called(linesCall, bodies, packed.ParseLines, func(l packed.Lines) string { return linesPacked(l, version) }) +
			called(rowsCall, bodies, packed.ParseRows, func(r packed.Rows) string { return rowsPacked(r, version) })
	}
	return &l
}

// leaf prints a micro-kernel as packets, behind the signature that it has in C; or in C, with the reason.
func leaf(m *loop.MicroKernel, version int) string {
	k, err := packed.New(m, version, sched.Best)
	if err != nil {
		return fmt.Sprintf("// In C: %s.\n", err) + micro(m)
	}
	w := &writer{}
	w.line("// %d x %d accumulators of %d numbers; %d applications of %s a call, in %d packets and stalls.", m.Rows, m.Vectors, m.Lanes(), m.FMAs(), m.Instr.Name, k.Cost)
	if k.Interval > 0 {
		w.line("// The loop takes %d packets for %d points; slots and units allow %d.", k.Interval, k.Points, k.Bound)
	}
	w.Block(head("DNN_HVX_PACKETS", m), func() {
		w.assembly(k.Program)
	})
	return w.String()
}

// assembly prints packets as the whole of a function.
func (w *writer) assembly(p machine.Program) {
	w.line("__asm__ volatile(")
	w.Indent++
	lines := strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n")
	for i, l := range lines {
		end := ""
		if i == len(lines)-1 {
			end = ");"
		}
		w.line("%q%s", l+"\n", end)
	}
	w.Indent--
}

// head is a micro-kernel's signature.
func head(kind string, m *loop.MicroKernel) string {
	x, v, a := cpp.Storage(m.Instr.X), cpp.Storage(m.Instr.W), cpp.Storage(m.Instr.Acc)
	return fmt.Sprintf("%s void %s(const %s* __restrict x, const %s* __restrict w, %s* __restrict acc)", kind, cpp.MicroName(m), x, v, a)
}
