package cpp

import (
	"fmt"
	"strings"

	"rules_dnn/gen/kernel/loop"
)

// tilesVar is the variable in kernels that knows which shapes the tile registers have: of the kernel's own calls, so that they are given back at its end.
const tilesVar = "dnn_tiles"

// multipliesMatrices reports whether a kernel calls a micro-kernel of tile registers.
func multipliesMatrices(k *loop.Kernel) bool {
	found := false
	loop.Tiles(k.Body, func(t loop.Tile) { found = found || t.Micro.Instr.Matrix > 0 })
	return found
}

// matrices is a micro-kernel of tile registers, whose numbers are those of accumulators, then of X for each of its rows' matrices, then of W.
type matrices struct {
	*microWriter
	k    []loop.KLoop
	deep int64
	high int64
}

// matrices prints the body of a micro-kernel whose instruction multiplies matrices.
func (w *microWriter) matrices() {
	m := &matrices{microWriter: w, high: w.m.Instr.High(w.m.Rows)}
	m.k, m.deep = w.m.Matrices()
	m.shape()
	w.line("tiles->use(&shape);")
	for i := range m.high * w.m.Vectors {
		w.line("dnn_amx_zero<%d>(tiles);", i)
	}
	m.loops(0)
	for r := range m.high {
		for v := range w.m.Vectors {
			w.line("dnn_amx_store<%d>(tiles, acc + %d, %d);", m.acc(r, v), (r*w.m.Instr.Matrix*w.m.Vectors+v)*w.m.Lanes(), 4*w.m.Vectors*w.m.Lanes())
		}
	}
}

func (m *matrices) acc(r, v int64) int64 { return r*m.m.Vectors + v }
func (m *matrices) x(r int64) int64      { return m.high*m.m.Vectors + r }
func (m *matrices) w(v int64) int64      { return m.high*m.m.Vectors + m.high + v }

// rows is how many rows a matrix of X, and the accumulators that it goes to, have.
func (m *matrices) rows(r int64) int64 {
	return min(m.m.Instr.Matrix, m.m.Rows-r*m.m.Instr.Matrix)
}

// groups is how many bytes so many points have in a row of X.
func (m *matrices) groups(points int64) int64 {
	return points * m.m.Instr.Group * int64(m.m.Instr.X.Size())
}

// shape prints the shapes of the registers: bytes of a row, and rows.
func (m *matrices) shape() {
	var bytes, rows []string
	add := func(b, r int64) {
		bytes, rows = append(bytes, fmt.Sprint(b)), append(rows, fmt.Sprint(r))
	}
	lane := m.m.Instr.Bytes()
	for r := range m.high {
		for range m.m.Vectors {
			add(lane, m.rows(r))
		}
	}
	for r := range m.high {
		add(m.groups(m.deep), m.rows(r))
	}
	for range m.m.Vectors {
		add(lane, m.deep)
	}
	m.line("static constexpr dnn_amx_shape shape = {1, 0, {}, {%s}, {%s}};", strings.Join(bytes, ", "), strings.Join(rows, ", "))
}

// loops prints the loops from number i on; each has its own pointers.
func (m *matrices) loops(i int) {
	k := m.k[i]
	m.line("const %s* x%d = %s;", Storage(m.m.Instr.X), i, pointer("x", i))
	m.line("const %s* w%d = %s;", Storage(m.m.W()), i, pointer("w", i))
	if i+1 < len(m.k) {
		m.rolled(i, k.Extent, k.XStep, k.WStep, func() { m.loops(i + 1) })
		return
	}
	m.rolled(i, k.Extent/m.deep, k.XStep*m.deep, k.WStep*m.deep, func() { m.products(m.deep) })
	if rest := k.Extent % m.deep; rest > 0 {
		m.products(rest)
	}
}

// rolled prints a loop after which the pointers are behind it.
func (m *matrices) rolled(i int, times, xStep, wStep int64, body func()) {
	if times == 0 {
		return
	}
	m.line("DNN_ROLLED")
	m.block(fmt.Sprintf("for (int k%d = 0; k%d < %d; ++k%d, x%d += %d, w%d += %d)", i, i, times, i, i, xStep, i, wStep), body)
}

// products prints the loads and products of so many points. Fewer than the registers have come through memory in which zeros follow.
func (m *matrices) products(points int64) {
	n, last := len(m.k), m.k[len(m.k)-1]
	part := func(rows, bytes int64) string {
		if points == m.deep {
			return ""
		}
		return fmt.Sprintf(", %d, %d", rows, bytes)
	}
	name := map[bool]string{true: "dnn_amx_load", false: "dnn_amx_load_part"}[points == m.deep]
	x := func(r int64) {
		m.line("%s<%d%s>(tiles, %s + %d, %d);", name, m.x(r), part(m.rows(r), m.groups(points)), pointer("x", n), m.m.RowAt(r*m.m.Instr.Matrix), m.m.RowStep*int64(m.m.Instr.X.Size()))
	}
	w := func(v int64) {
		m.line("%s<%d%s>(tiles, %s + %d, %d);", name, m.w(v), part(points, m.m.Instr.Bytes()), pointer("w", n), m.m.VectorAt(v), last.WStep*int64(m.m.W().Size()))
	}
	for r := range m.high {
		x(r)
		for v := range m.m.Vectors {
			if r == 0 {
				w(v)
			}
			m.line("%s", m.m.Instr.Text("cpp", fmt.Sprint(m.acc(r, v)), fmt.Sprint(m.x(r)), fmt.Sprint(m.w(v))))
		}
	}
}
