package cpp

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"rules_dnn/gen/emit/neon"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// MicroName names a micro-kernel by what distinguishes it: instruction, how X reaches it, tile,
// K loops and strides.
func MicroName(m *loop.MicroKernel) string {
	name := fmt.Sprintf("%s_%s_%dx%d_s%d", m.Instr.Name, m.X, m.Rows, m.Vectors, m.RowStep)
	if m.Run > 0 {
		name += fmt.Sprintf("_r%d_%d", m.Run, m.RunStep)
	}
	if m.Stored != ir.Invalid {
		name += "_" + m.Stored.String()
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
	if m.Narrow > 0 {
		name += fmt.Sprintf("_n%d", m.Narrow)
	}
	if m.VecStep > 0 {
		name += fmt.Sprintf("_v%d", m.VecStep)
	}
	if m.PrefetchW > 0 {
		name += fmt.Sprintf("_w%d", m.PrefetchW)
	}
	if m.PrefetchX {
		name += "_x"
	}
	if m.Fetch > 0 {
		name += fmt.Sprintf("_f%d", m.Fetch)
	}
	if m.FetchX > 0 {
		name += fmt.Sprintf("_fx%d", m.FetchX)
	}
	return name
}

// TileName returns the name of a tile's function: the micro-kernel's, and a hash of the finish.
func TileName(t loop.Tile) string {
	if t.Finish == nil {
		return MicroName(t.Micro)
	}
	sum := sha256.Sum256([]byte(t.Finish.Text()))
	return fmt.Sprintf("%s_to_%x", MicroName(t.Micro), sum[:4])
}

// linkage returns DNN_JOINED for kernels that are inlined: stored kernels, whose sums stay in
// registers for biases and activations, and assembly with a finish that has a single call. Assembly
// without a finish is not inlined: it uses all registers, so compilers would load the constants of the
// statements after it again and again.
func linkage(m *loop.MicroKernel, joined bool) string {
	if m.Kept != nil || joined {
		return "DNN_JOINED"
	}
	return "DNN_LEAF"
}

// Micro prints a micro-kernel as a function, mostly a leaf: every accumulator is a variable of its own,
// so that a compiler keeps it in a register, and the innermost loop's body is written
// out, so that it has the same instructions from every compiler.
func Micro(t loop.Tile, calls int) string {
	m := t.Micro
	assembly, scheduled := neon.New(t)
	w := &microWriter{m: m, vec: sumType(m.Instr), operand: operandType(m.Instr)}
	elements := Storage(m.Instr.Acc)
	if m.Instr.Acc == ir.F32 {
		elements = "floats"
	}
	w.line("// %d x %d accumulators of %d %s; %d applications of %s a call.", m.Rows, m.Vectors, m.Lanes(), elements, m.FMAs(), m.Instr.Name)
	w.block(signature(t, linkage(m, scheduled && t.Finish != nil && calls == 1)), func() {
		if scheduled {
			for _, l := range assembly.Statement() {
				w.line("%s", l)
			}
			return
		}
		if m.Instr.Matrix > 0 {
			w.matrices()
			return
		}
		w.sums()
	})
	return w.String()
}

// sumType returns the type of a register of accumulators.
func sumType(r *instr.Row) string { return fmt.Sprintf("dnn_%sx%d", r.Acc, r.Lanes) }

// operandType returns the type of a register of X and W.
func operandType(r *instr.Row) string {
	if r.Group > 1 { // the groups of all lanes
		return fmt.Sprintf("dnn_i32x%d", r.Lanes)
	}
	return fmt.Sprintf("dnn_%sx%d", r.W, r.Lanes)
}

// signature is the head of a micro-kernel's function.
func signature(t loop.Tile, linkage string) string {
	m := t.Micro
	x, wide, acc := Storage(m.Instr.X), Storage(m.W()), Storage(m.Instr.Acc)
	if t.Finish != nil {
		var pointers strings.Builder
		for i, p := range t.Finish.Pointers {
			fmt.Fprintf(&pointers, ", %s* p%d", map[bool]string{true: acc, false: "const " + acc}[p.Buf.Write], i)
		}
		return fmt.Sprintf("%s void %s(const %s* __restrict x, const %s* __restrict w%s)", linkage, TileName(t), x, wide, &pointers)
	}
	more := ""
	switch {
	case m.Kept != nil:
		more = ", const uint16_t* __restrict index, const uint16_t* __restrict ends"
	case m.Instr.Matrix > 0:
		more = ", dnn_amx* tiles"
	case m.Fetch > 0:
		more = fmt.Sprintf(", const %s* fetch", wide)
	}
	return fmt.Sprintf("%s void %s(const %s* __restrict x, const %s* __restrict w, %s* __restrict acc%s)", linkage, MicroName(m), x, wide, acc, more)
}

// sums are the accumulators in vectors: what they begin with, what is added, and where they are stored.
func (w *microWriter) sums() {
	m, rows := w.m, w.m.Rows
	if m.Instr.Blocks {
		rows = w.pairs()
	}
	for r := int64(0); r < rows; r++ {
		w.line("%s %s;", w.vec, strings.Join(w.initialized(r), ", "))
	}
	if m.FetchX > 0 {
		w.line("const %s* next = x + %d;", Storage(m.Instr.X), m.FetchX)
	}
	if m.Kept != nil {
		w.kept()
	} else {
		w.loops(0)
	}
	if m.Instr.Blocks {
		w.storeBlocks()
		return
	}
	for r := int64(0); r < m.Rows; r++ {
		for v := int64(0); v < m.Vectors; v++ {
			w.line("dnn_store(acc + %d, %s);", (r*m.Vectors+v)*m.Lanes(), accName(r, v))
		}
	}
}

func accName(r, v int64) string { return fmt.Sprintf("a%d_%d", r, v) }

// initialized are the accumulators of a row, and what they begin with.
func (w *microWriter) initialized(r int64) []string {
	out := make([]string, w.m.Vectors)
	for v := range out {
		first := "{}"
		if w.m.Adds {
			first = fmt.Sprintf("dnn_load<%s>(acc + %d)", w.vec, (r*w.m.Vectors+int64(v))*w.m.Lanes())
		}
		out[v] = accName(r, int64(v)) + " = " + first
	}
	return out
}

type microWriter struct {
	writer
	m            *loop.MicroKernel
	vec, operand string // the types of registers: of accumulators, and of X and W
}

// loops prints K loop number i and all within it; each loop has its own pointers.
func (w *microWriter) loops(i int) {
	if i == len(w.m.K) {
		w.body(1, loop.KLoop{Extent: 1})
		return
	}
	k, u := w.m.K[i], int64(1)
	inner := func() { w.loops(i + 1) }
	if i == len(w.m.K)-1 {
		u = w.m.Unroll()
		inner = func() { w.body(u, k) }
	}
	x, wide := Storage(w.m.Instr.X), Storage(w.m.W())
	if x == wide {
		w.line("const %s *x%d = %s, *w%d = %s;", x, i, pointer("x", i), i, pointer("w", i))
	} else {
		w.line("const %s* x%d = %s;", x, i, pointer("x", i))
		w.line("const %s* w%d = %s;", wide, i, pointer("w", i))
	}
	if i > 0 && i == len(w.m.K)-1 && w.m.PrefetchX {
		for r := int64(0); r < w.m.Rows; r++ {
			w.line("__builtin_prefetch(x%d + %d);", i, w.m.RowAt(r)+w.m.K[i-1].XStep)
		}
	}
	if k.Extent == u {
		inner()
		return
	}
	w.line("DNN_ROLLED")
	w.block(fmt.Sprintf("for (int k%d = 0; k%d < %d; ++k%d, x%d += %d, w%d += %d)", i, i, k.Extent/u, i, i, k.XStep*u, i, k.WStep*u), inner)
}

// pointer is the operand's pointer outside of loop i.
func pointer(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s%d", name, i-1)
}

// body is u points of the innermost loop. Each loads W once for all rows; lanes of X are loaded
// for as many points as a register has.
func (w *microWriter) body(u int64, k loop.KLoop) {
	for p := int64(0); p < u; p++ {
		// Where rows overlap, compilers would carry what the next iteration reads, too, and run out of registers.
		if w.m.X == instr.Vector || p > 0 && (w.m.X != instr.Lane || p%w.m.Lanes() == 0) {
			w.line("DNN_OPAQUE(%s);", pointer("x", len(w.m.K)))
		}
		if w.m.X == instr.Lane && p%w.m.Lanes() == 0 {
			for r := int64(0); r < w.m.Rows; r++ {
				w.line("const %s q%d_%d = %s;", w.operand, p/w.m.Lanes(), r, w.load("x", w.m.RowAt(r)+p*w.m.Instr.Group))
			}
		}
		w.point(p, p*k.XStep, p*k.WStep)
	}
	w.fetch("fetch", w.m.W(), u*w.m.Fetch)
	if w.m.FetchX > 0 {
		w.fetch("next", w.m.Instr.X, u*w.m.Rows*w.m.Instr.Group)
	}
}

// fetch brings so many elements to the second-level cache, and goes on.
func (w *microWriter) fetch(from string, t ir.DType, elements int64) {
	if elements == 0 {
		return
	}
	for at := int64(0); at < elements; at += loop.CacheLine / int64(t.Size()) {
		w.line("__builtin_prefetch(%s + %d, 0, 2);", from, at)
	}
	w.line("%s += %d;", from, elements)
}

// perLine is how many elements of W it has.
func (w *microWriter) perLine() int64 { return loop.CacheLine / int64(w.m.W().Size()) }

// point is the products of point number p of a body, so many elements into X and W.
func (w *microWriter) point(p, xAt, wAt int64) {
	m := w.m
	if m.Instr.Blocks {
		w.blockPoint(p, xAt, wAt)
		return
	}
	for v := int64(0); v < m.Vectors; v++ {
		w.line("const %s b%d_%d = %s;", w.operand, p, v, w.load("w", wAt+m.VectorAt(v)))
	}
	for v := int64(0); v < m.Vectors && m.PrefetchW > 0; v++ {
		if at := wAt + m.VectorAt(v); at%w.perLine() == 0 {
			w.line("__builtin_prefetch(%s + %d);", pointer("w", w.depth()), at+m.PrefetchW)
		}
	}
	for r := int64(0); r < m.Rows; r++ {
		// Where each X is a load of its own, compilers would move all of them ahead of the first product, and run out of registers.
		if m.X == instr.Vector && !m.Instr.FoldsLoad && r == (m.Rows+1)/2 {
			w.line("DNN_OPAQUE(%s);", pointer("x", w.depth()))
		}
		if m.Instr.Group > 1 && m.Broadcast() && m.X != instr.Lane {
			w.line("const %s g%d_%d = dnn_group<%s>(%s + %d);", w.operand, p, r, w.operand, pointer("x", w.depth()), m.RowAt(r)+xAt)
		}
		for v := int64(0); v < m.Vectors; v++ {
			w.line("%s", m.Instr.Text("cpp", accName(r, v), w.x(p, xAt, r, v), fmt.Sprintf("b%d_%d", p, v)))
		}
	}
}

// x is what row r's X is at point p, for vector v of channels.
func (w *microWriter) x(p, xAt, r, v int64) string {
	if (w.m.Instr.Group > 1 || w.m.Instr.WidensHalves()) && w.m.X == instr.Lane {
		return fmt.Sprintf("dnn_lane<%d>(q%d_%d)", p%w.m.Lanes(), p/w.m.Lanes(), r)
	}
	if w.m.Instr.Group > 1 && w.m.Broadcast() {
		return fmt.Sprintf("g%d_%d", p, r)
	}
	at := w.m.RowAt(r) + xAt
	switch w.m.X {
	case instr.Vector:
		return w.load("x", at+v*w.m.Lanes()*w.m.Instr.Group)
	case instr.Lane:
		if w.m.Instr.InHalves() { // C++ computes with a single one as a float
			return fmt.Sprintf("dnn_halves<%d>(q%d_%d)", p%w.m.Lanes(), p/w.m.Lanes(), r)
		}
		return fmt.Sprintf("q%d_%d[%d]", p/w.m.Lanes(), r, p%w.m.Lanes())
	}
	x := fmt.Sprintf("%s[%d]", pointer("x", w.depth()), at)
	if w.m.Instr.InHalves() { // in memory they are integers
		return fmt.Sprintf("dnn_halves(%s)", x)
	}
	return x
}

// depth is how many loops have pointers of their own.
func (w *microWriter) depth() int {
	if w.m.Kept != nil {
		return 1
	}
	return len(w.m.K)
}

func (w *microWriter) load(operand string, at int64) string {
	from := ""
	if operand == "w" && w.m.Stored != ir.Invalid {
		from = "_" + w.m.Stored.String()
	}
	return fmt.Sprintf("dnn_load%s<%s>(%s + %d)", from, w.operand, pointer(operand, w.depth()), at)
}
