package hvx

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/emit/hvx/packed"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// rows is a loop over rows of accumulators that become bytes, each row with a factor and a sum of its own, as channels are: what these are made of is
// computed for all rows at once, and a function of its own does the rows (packed.Rows). Where a result may not be exact, the loop does them all again.
type rows struct {
	w     *ckernel.Kernel
	row   loop.For
	parts loop.For // vectors of a row, of which there may be one alone: no Var
	lane  loop.For
	cond  []te.Within // where it holds a vector has the lanes of lane, and else of rest
	rest  sym.Expr
	store loop.Store
	q     *scaled
	acc   loop.Mem
	bias  te.Expr // what is added to the accumulator
}

// findRows recognises such a loop, or gives nil.
func findRows(x loop.For, w *ckernel.Kernel) *rows {
	r := &rows{w: w, row: x}
	n, known := x.Extent.Const()
	if !known || n < few || n > lanes || x.Lanes > 0 || !r.inner(x.Body) {
		return nil
	}
	f := w.Facts()
	if r.q = findScaled(r.store.Value); r.q == nil || len(r.q.terms) != 1 || r.store.Buf.Image != nil || r.store.Buf.Holds {
		return nil
	}
	var ok bool
	if r.acc, r.bias, ok = r.apart(r.q.terms[0].sum); !ok || !r.acc.Buf.Local || r.acc.Buf.Type != ir.I32 {
		return nil
	}
	for _, e := range []te.Expr{r.q.terms[0].factor, r.bias} {
		if varies(e, r.lane.Var) || r.parts.Var != "" && varies(e, r.parts.Var) {
			return nil
		}
	}
	reads := false
	te.Walk(r.store.Value, func(e te.Expr) {
		m, ok := e.(loop.Mem)
		reads = reads || ok && m.Buf == r.store.Buf
	})
	if reads { // what is done again would read what was stored
		return nil
	}
	in, out := r.acc.Index, r.store.Index
	for _, e := range []sym.Expr{in, out} {
		lane, ok := stepOf(e, r.lane.Var, f)
		part, also := int64(lanes), true
		if r.parts.Var != "" {
			part, also = stepOf(e, r.parts.Var, f)
		}
		if !ok || !also || lane != 1 || part != lanes {
			return nil
		}
	}
	if parts, _ := r.parts.Extent.Const(); r.parts.Var != "" && parts > 1 && r.cond == nil && !r.lane.Extent.Is(lanes) {
		return nil // vectors that are not whole have places between them that stay
	}
	if !wholeWords(in.Subst(map[string]sym.Expr{r.lane.Var: sym.Const(0)}, f)) || !r.number(1).Supported() || !r.uniform() || !r.scaled() {
		return nil
	}
	return r
}

// wholeWords reports whether an index of words is a multiple of a vector's.
func wholeWords(e sym.Expr) bool { return wholeVectors(sym.Scale(e, 4)) }

// inner looks into the loop over rows: there may be a loop over vectors, names of what is constant, and a condition on how many lanes there are.
func (r *rows) inner(body []loop.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	f := r.w.Facts()
	switch s := body[0].(type) {
	case loop.Index:
		if _, known := s.Value.Const(); !known || !r.inner(body[1:]) {
			return false
		}
		m := map[string]sym.Expr{s.Var: s.Value}
		r.store.Index, r.store.Value = r.store.Index.Subst(m, f), loop.SubstIndices(r.store.Value, m, f)
		for i, c := range r.cond {
			r.cond[i] = te.Within{E: c.E.Subst(m, f), Lo: c.Lo.Subst(m, f), Hi: c.Hi.Subst(m, f)}
		}
		return true
	case loop.For:
		if len(body) != 1 || s.Lanes > 0 {
			return false
		}
		if st, ok := only(s.Body); ok {
			n, known := s.Extent.Const()
			r.lane, r.store, r.rest = s, st, s.Extent
			return known && n > 0 && n <= lanes
		}
		n, known := s.Extent.Const()
		if r.parts.Var != "" || !known || n > 2*lanes {
			return false
		}
		r.parts = s
		return r.inner(s.Body)
	case loop.If:
		if len(body) != 1 || len(s.Then) != 1 || len(s.Else) != 1 || !r.inner(s.Then) || r.cond != nil { // of two numbers of lanes, not three
			return false
		}
		other := &rows{w: r.w, parts: loop.For{Var: "none"}}
		if !other.inner(s.Else) || other.cond != nil || other.lane.Var != r.lane.Var || !reflect.DeepEqual(other.store, r.store) {
			return false
		}
		r.cond, r.rest = slices.Clone(s.Cond), other.lane.Extent
		return true
	}
	return false
}

// only is the store that is all of a loop's body.
func only(body []loop.Stmt) (loop.Store, bool) {
	if len(body) != 1 {
		return loop.Store{}, false
	}
	s, ok := body[0].(loop.Store)
	return s, ok
}

// apart divides a sum into the one number that lanes differ in, which is an accumulator, and the rest.
func (r *rows) apart(e te.Expr) (loop.Mem, te.Expr, bool) {
	if m, ok := e.(loop.Mem); ok {
		return m, te.Int(ir.I32, 0), m.Index.Uses(r.lane.Var)
	}
	c, ok := e.(te.Call)
	if !ok || c.Type != ir.I32 || len(c.Args) != 2 || c.Fn != "add" && c.Fn != "sub" {
		return loop.Mem{}, nil, false
	}
	for i, a := range c.Args {
		if i > 0 && c.Fn == "sub" || varies(c.Args[1-i], r.lane.Var) {
			continue
		}
		if m, rest, ok := r.apart(a); ok {
			args := []te.Expr{c.Args[0], c.Args[1]}
			args[i] = rest
			return m, te.Fn(ir.I32, c.Fn, args...), true
		}
	}
	return loop.Mem{}, nil, false
}

// number is the function for so many vectors of each row; steps that are not known are none that there is a function of.
func (r *rows) number(vectors int64) packed.Rows {
	f := r.w.Facts()
	in, ok := stepOf(r.acc.Index, r.row.Var, f)
	out, also := stepOf(r.store.Index, r.row.Var, f)
	n, _ := r.row.Extent.Const()
	least, most := r.q.bounds()
	if !ok || !also {
		return packed.Rows{}
	}
	return packed.Rows{Rows: n, Lanes: vectors * lanes, From: 4 * in, To: out, Signed: r.store.Buf.Type == ir.I8, Zero: r.q.zero, Least: least, Most: most}
}

// chunks are vectors of a row that are stored as one.
func (r *rows) chunks() (out [][2]int64) {
	n := int64(1)
	if r.parts.Var != "" {
		n, _ = r.parts.Extent.Const()
	}
	const each = bytesWide / lanes
	for first := int64(0); first < n; first += each {
		out = append(out, [2]int64{first, min(each, n-first)})
	}
	return out
}

// count is how many lanes vector number v of a row has.
func (r *rows) count(v int64) string {
	full, rest := ckernel.Strip(r.w.Index(r.lane.Extent)), ckernel.Strip(r.w.Index(r.rest))
	if r.cond == nil {
		return full
	}
	var all []string
	for _, c := range r.cond {
		m := map[string]sym.Expr{r.parts.Var: sym.Const(v)}
		e, lo, hi := c.E.Subst(m, r.w.Facts()), c.Lo.Subst(m, r.w.Facts()), c.Hi.Subst(m, r.w.Facts())
		all = append(all, fmt.Sprintf("%s >= 0 && %s < 0", r.w.Index(sym.Sub(e, lo)), r.w.Index(sym.Sub(e, hi))))
	}
	return fmt.Sprintf("(%s ? %s : %s)", strings.Join(all, " && "), full, rest)
}

// uniform reports whether the lanes of all rows are as many.
func (r *rows) uniform() bool {
	for _, c := range r.cond {
		if c.E.Uses(r.row.Var) || c.Lo.Uses(r.row.Var) || c.Hi.Uses(r.row.Var) {
			return false
		}
	}
	return !r.rest.Uses(r.row.Var)
}

// print prints the loop; false where factors and sums of rows are no vectors.
func (r *rows) print() bool {
	n, _ := r.row.Extent.Const()
	l := &lanesOf{vectors: &vectors{loop: r.row}, w: r.w, piece: piece{map[string]sym.Expr{r.row.Var: sym.Const(0)}, fmt.Sprint(n)}}
	bias, ok := l.words(r.bias)
	if !ok {
		return false
	}
	factor := r.factors(l)
	scope(r.w, func() {
		w, name, f := r.w, r.row.Var, r.w.Facts()
		w.Line("dnn_hvx_rows %s_rows;", name)
		w.Line("bool %s_exact = dnn_hvx_prepare(&%s_rows, %s, %s, %d);", name, name, factor, bias, n)
		for _, c := range r.chunks() {
			first, vectors := c[0], c[1]
			last := first + vectors - 1
			tests := []string{name + "_exact"}
			if r.cond != nil {
				for v := first; v < last; v++ {
					tests = append(tests, fmt.Sprintf("%s == %d", r.count(v), lanes))
				}
			}
			start := map[string]sym.Expr{r.lane.Var: sym.Const(0), r.row.Var: sym.Const(0)}
			if r.parts.Var != "" {
				start[r.parts.Var] = sym.Const(first)
			}
			at := func(b *loop.Buffer, e sym.Expr) string {
				return fmt.Sprintf("%s + (%s)", b.Name, ckernel.Strip(w.Index(e.Subst(start, f))))
			}
			k := r.number(vectors)
			tests = append(tests, fmt.Sprintf("!dnn_hvx_any_near(%s(%s, (uint8_t*)(%s), %d + %s, &%s_rows))", k.Name(), at(r.acc.Buf, r.acc.Index), at(r.store.Buf, r.store.Index), lanes*(vectors-1), r.count(last), name))
			w.Line("%s_exact = %s;", name, strings.Join(tests, " && "))
		}
		w.Block(fmt.Sprintf("if (!%s_exact)", name), func() { w.For(r.row) })
	})
	return true
}

// scaled reports whether factors are those of a row each, beside each other, or one for all.
func (r *rows) scaled() bool {
	e := r.q.terms[0].factor
	if !varies(e, r.row.Var) {
		return true
	}
	m, ok := e.(loop.Mem)
	if !ok || m.Buf.Type != ir.F32 || m.Buf.Image != nil {
		return false
	}
	step, known := stepOf(m.Index, r.row.Var, r.w.Facts())
	return known && step == 1
}

// factors is a vector of the rows' factors, as bits.
func (r *rows) factors(l *lanesOf) string {
	e := r.q.terms[0].factor
	if !varies(e, r.row.Var) {
		return fmt.Sprintf("Q6_V_vsplat_R(dnn_as(int32_t, %s))", ckernel.Strip(r.w.Scalar(e)))
	}
	m := e.(loop.Mem)
	n, _ := r.row.Extent.Const()
	at := fmt.Sprintf("%s + (%s)", m.Buf.Name, ckernel.Strip(r.w.Index(m.Index.Subst(l.piece.at, r.w.Facts()))))
	return fmt.Sprintf("dnn_hvx_load_part(%s, %d)", at, 4*n)
}
