package hvx

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// lanes are numbers of 32 bits in a vector, and bytesWide are bytes.
const (
	lanes     = 32
	bytesWide = 128
)

// few lanes are computed one by one.
const few = 4

// vectors is a loop whose points are lanes: what it stores are bytes, or floats, that lie beside each other, of up to four vectors of words, the pieces. Two loops
// are where pieces are those of rows, one after the other or in turns.
type vectors struct {
	rows  loop.For // around it; no Var: there are none
	loop  loop.For
	bind  *loop.Bind // the byte by which a table is read, before the store; nil where none is
	store loop.Store
	// turns: bytes of rows lie in turns, one of each.
	turns bool
}

// piece is the points of a vector of words: where the loops' variables are at its first one, and how many there are.
type piece struct {
	at    map[string]sym.Expr
	lanes string
}

// Loop prints such a loop, with the plain one for what vectors cannot do.
func (dialect) Loop(w *ckernel.Kernel, x loop.For) bool {
	if v := findWindow(x, w.Facts()); v != nil {
		return v.print(w)
	}
	if l := findLines(x, w); l != nil && l.print() {
		return true
	}
	if r := findRows(x, w); r != nil && r.print() {
		return true
	}
	v := findVectors(x, w.Facts())
	if v == nil {
		c := findCopies(x, w.Facts())
		return c != nil && c.print(w)
	}
	n, known := x.Extent.Const()
	switch {
	case v.rows.Var != "":
		return v.group(w, x, sym.Const(0), v.ofRows())
	case !known:
		if _, most := x.Extent.Bounds(w.Facts()); most > lanes {
			return v.any(w, x)
		}
		return v.some(w, x)
	case n <= bytesWide:
		return v.group(w, x, sym.Const(0), v.along(sym.Const(0), n))
	}
	return v.long(w, x, n)
}

// findVectors recognises the loop, or gives nil.
func findVectors(x loop.For, f sym.Facts) *vectors {
	if len(x.Body) == 0 {
		return nil
	}
	v := &vectors{loop: x}
	inner, nested := x.Body[0].(loop.For)
	if nested {
		if len(x.Body) != 1 || inner.Lanes > 0 {
			return nil
		}
		v.rows, v.loop = x, inner
	}
	if !v.stores(v.loop.Body) {
		return nil
	}
	step, known := stepOf(v.store.Index, v.loop.Var, f)
	n, fixed := v.loop.Extent.Const()
	_, most := v.loop.Extent.Bounds(f)
	switch {
	case !known || most < few:
		return nil
	case !nested && step == 1:
		return v
	case !nested:
		if fixed && n%lanes == 0 && n <= bytesWide && v.table() == nil && v.store.Buf.Type.Size() == 1 {
			return v // bytes are stored one by one
		}
		return nil
	}
	rows, _ := x.Extent.Const()
	row, known := stepOf(v.store.Index, x.Var, f)
	switch {
	case !known || !fixed || n%lanes != 0 || rows < 2 || rows*n > bytesWide:
		return nil
	case step == 1 && row == n:
		return v
	case step == rows && row == 1 && v.store.Buf.Type.Size() == 1 && (rows == 4 && n == lanes || rows == 2 && n == 2*lanes):
		v.turns = true
		return v
	}
	return nil
}

// stepOf is how far an index goes with a variable, where that is a constant.
func stepOf(e sym.Expr, of string, f sym.Facts) (int64, bool) {
	c, ok := sym.Coefficient(e, of, f)
	n, known := c.Const()
	return n, ok && known
}

// group prints the pieces of one vector of bytes, and the plain loop for where they cannot be known in integers.
func (v *vectors) group(w *ckernel.Kernel, plain loop.For, first sym.Expr, pieces []piece) bool {
	words, l, ok := v.texts(w, pieces)
	if !ok {
		return false
	}
	scope(w, func() { v.guarded(w, words, l, plain, first, pieces) })
	return true
}

// guarded prints the words, and what stores their bytes if all are exact.
func (v *vectors) guarded(w *ckernel.Kernel, words []string, l *lanesOf, plain loop.For, first sym.Expr, pieces []piece) {
	name := v.loop.Var
	w.Line("HVX_Vector %s_words[%d], %s = Q6_V_vzero();", name, len(words), l.near())
	var tests []string
	for i, f := range l.factors {
		w.Line("dnn_hvx_factor %s_f%d;", name, i)
		tests = append(tests, fmt.Sprintf("dnn_hvx_scales(&%s_f%d, %s)", name, i, f))
	}
	w.Line("bool %s_exact = %s;", name, strings.Join(append(tests, "true")[:max(len(tests), 1)], " && "))
	w.Block(fmt.Sprintf("if (%s_exact)", name), func() {
		for i, text := range words {
			n := pieces[i].lanes
			part := n != fmt.Sprint(lanes) // others are any
			if part {
				w.Line("const HVX_Vector %s_before = %s;", l.near(), l.near())
			}
			w.Line("%s_words[%d] = %s;", name, i, text)
			if part {
				// setq2: a number that is not known before may be that of all lanes, of which setq makes none.
				w.Line("%s = Q6_V_vmux_QVV(Q6_Q_vsetq2_R(%s), %s, %s_before);", l.near(), times(4, n), l.near(), l.near())
			}
		}
		w.Line("%s_exact = !dnn_hvx_any(%s);", name, l.near())
	})
	w.Line("if (%s_exact) {", name)
	w.Writer.Indent++
	v.write(w, first, pieces, "")
	w.Writer.Indent--
	if step, _ := stepOf(v.store.Index, name, w.Facts()); step == 1 && !v.turns {
		w.Line("} else if (dnn_hvx_any(%s)) {", l.near())
		w.Writer.Indent++
		v.again(w, l, plain, first, pieces)
		w.Writer.Indent--
	}
	w.Line("} else {")
	w.Writer.Indent++
	w.For(plain)
	w.Writer.Indent--
	w.Line("}")
}

// again stores what is exact, and computes the lanes one by one that are not in one of the pieces: they are as they were before.
func (v *vectors) again(w *ckernel.Kernel, l *lanesOf, plain loop.For, first sym.Expr, pieces []piece) {
	name := v.loop.Var
	near := l.near()
	if v.store.Buf.Type.Size() == 1 {
		near = fmt.Sprintf("dnn_hvx_bytes(%s, %s, %s, %s)", near, near, near, near)
	}
	v.write(w, first, pieces, near)
	w.Line("int32_t %s_again[%d] __attribute__((aligned(128)));", name, lanes)
	w.Line("dnn_hvx_store(%s_again, %s);", name, l.near())
	loops := []loop.For{plain}
	if inner, ok := plain.Body[0].(loop.For); ok {
		loops = append(loops, inner)
	}
	body := func() {
		w.Block(fmt.Sprintf("if (%s_again[%s %% %d])", name, name, lanes), func() { w.Statements(loops[len(loops)-1].Body) })
	}
	for _, f := range slices.Backward(loops) {
		inner := body
		body = func() {
			w.Block(fmt.Sprintf("for (%s %s = 0; %s < %s; ++%s)", dialect{}.IndexType(), f.Var, f.Var, ckernel.Strip(w.Index(f.Extent)), f.Var), inner)
		}
	}
	body()
}

// texts are the pieces as expressions; false where there are none.
func (v *vectors) texts(w *ckernel.Kernel, pieces []piece) ([]string, *lanesOf, bool) {
	l := &lanesOf{vectors: v, w: w}
	var words []string
	for _, p := range pieces {
		l.piece = p
		text, ok := l.result(loop.SubstIndices(v.value(), v.others(p), w.Facts()))
		if !ok {
			return nil, nil, false
		}
		words = append(words, text)
	}
	return words, l, true
}

// others are the variables of rows in a piece.
func (v *vectors) others(p piece) map[string]sym.Expr {
	if v.rows.Var == "" {
		return nil
	}
	return map[string]sym.Expr{v.rows.Var: p.at[v.rows.Var]}
}

// write stores the words or their bytes, but the bytes that are not zero in except, where there is one.
func (v *vectors) write(w *ckernel.Kernel, first sym.Expr, pieces []piece, except string) {
	name, to := v.loop.Var, v.store.Buf
	word := func(i int) string { return fmt.Sprintf("%s_words[%d]", name, min(i, len(pieces)-1)) }
	if step, _ := stepOf(v.store.Index, name, w.Facts()); step != 1 && !v.turns {
		n := lanes * len(pieces)
		w.Line("int32_t %s_each[%d] __attribute__((aligned(128)));", name, n)
		for i := range pieces {
			w.Line("dnn_hvx_store(%s_each + %d, %s);", name, lanes*i, word(i))
		}
		w.Block(fmt.Sprintf("for (dnn_index %s = 0; %s < %d; ++%s)", name, name, n, name), func() {
			w.Line("%s[%s] = (%s)%s_each[%s];", to.Name, ckernel.Strip(w.Index(v.store.Index)), dialect{}.Type(to.Type, 0), name, name)
		})
		return
	}
	start := map[string]sym.Expr{name: first}
	if v.rows.Var != "" {
		start = map[string]sym.Expr{name: sym.Const(0), v.rows.Var: sym.Const(0)}
	}
	at := fmt.Sprintf("%s + %s", to.Name, w.Index(v.store.Index.Subst(start, w.Facts())))
	if to.Type.Size() == 4 {
		for i, p := range pieces {
			if except != "" {
				w.Line("dnn_hvx_store_except(%s + %d, %s, %s, %s);", at, lanes*i, word(i), times(4, p.lanes), except)
				continue
			}
			w.Line("dnn_hvx_store_part(%s + %d, %s, %s);", at, lanes*i, word(i), times(4, p.lanes))
		}
		return
	}
	order := "dnn_hvx_bytes"
	if v.turns {
		order = "dnn_hvx_interleave"
		if len(pieces) == 4 && pieces[1].at[v.rows.Var].Is(0) {
			order = "dnn_hvx_in_turns"
		}
	}
	bytes := fmt.Sprintf("%s(%s, %s, %s, %s)", order, word(0), word(1), word(2), word(3))
	if t := v.table(); t != nil {
		bytes = fmt.Sprintf("dnn_hvx_table(%s, %s)", bytes, t.Name)
	}
	last := pieces[len(pieces)-1].lanes
	if except != "" {
		w.Line("dnn_hvx_store_except(%s, %s, %s, %s);", at, bytes, plus(lanes*(len(pieces)-1), last), except)
		return
	}
	if len(pieces) == 4 && last == fmt.Sprint(lanes) {
		w.Line("dnn_hvx_store_any(%s, %s);", at, bytes)
		return
	}
	w.Line("dnn_hvx_store_part(%s, %s, %s);", at, bytes, plus(lanes*(len(pieces)-1), last))
}

// plus is a number and an expression that may be one.
func plus(n int, text string) string {
	var m int
	if _, err := fmt.Sscanf(text, "%d", &m); err == nil && fmt.Sprint(m) == text {
		return fmt.Sprint(n + m)
	}
	if n == 0 {
		return text
	}
	return fmt.Sprintf("%d + (%s)", n, text)
}
