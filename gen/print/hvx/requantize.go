package hvx

import (
	"fmt"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/print/ckernel"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// lanes are numbers of 32 bits in a vector.
const lanes = 32

// requantize is a loop along which sums of 32 bits become numbers of 8 bits: round(sum * factor) + zero,
// saturated. The scale is a float, of which there are no vectors: a function of the header
// computes 32 of them in integers, exactly, or reports that it cannot.
type requantize struct {
	loop   loop.For
	store  loop.Store
	sum    te.Expr // in vectors along the loop
	factor te.Expr // the same for all of it
	zero   int64
}

// Loop prints such a loop, with the plain one for what the function cannot do.
func (dialect) Loop(w *ckernel.Kernel, x loop.For) bool {
	if q, group := findGroup(x, w.Facts()); q != nil {
		return q.print(w, x, group)
	}
	if q := findRequantize(x, w.Facts()); q != nil {
		return q.print(w, x, nil)
	}
	return false
}

// findGroup recognises loops over four rows of which each is to be requantized and whose bytes
// lie beside each other, as in the 4-column layout; it gives the outer variable's index in each.
func findGroup(x loop.For, f sym.Facts) (*requantize, []sym.Expr) {
	inner, ok := loop.For{}, false
	if x.Extent.Is(4) && len(x.Body) == 1 {
		inner, ok = x.Body[0].(loop.For)
	}
	if !ok {
		return nil, nil
	}
	q := findRequantize(inner, f)
	if q == nil || !inner.Extent.Is(lanes) {
		return nil, nil
	}
	row, ok1 := sym.Coefficient(q.store.Index, x.Var, f)
	lane, ok2 := sym.Coefficient(q.store.Index, inner.Var, f)
	if !ok1 || !ok2 || !row.Is(1) || !lane.Is(4) {
		return nil, nil
	}
	return q, []sym.Expr{sym.Const(0), sym.Const(1), sym.Const(2), sym.Const(3)}
}

// print prints the loop x: of one vector, or of a group of them.
func (q *requantize) print(w *ckernel.Kernel, x loop.For, group []sym.Expr) bool {
	t := q.store.Buf.Type
	least, most := te.Lowest(t).(te.Const), te.Highest(t).(te.Const)
	words := q.loop.Var + "_words"
	var tests, names []string
	if !q.loop.Extent.Is(lanes) && !q.partial(w.Facts()) {
		tests = append(tests, w.Index(q.loop.Extent)+" == 32")
	}
	rows := group
	if group == nil {
		rows = []sym.Expr{sym.Const(0)}
	}
	for i, at := range rows {
		row := *q
		if group != nil {
			m := map[string]sym.Expr{x.Var: at}
			row.sum, row.factor = substitute(q.sum, m, w.Facts()), substitute(q.factor, m, w.Facts())
		}
		sum, ok := row.vector(w, row.sum)
		if !ok {
			return false
		}
		names = append(names, fmt.Sprintf("%s[%d]", words, i))
		tests = append(tests, fmt.Sprintf("dnn_hvx_requantize(&%s, %s, %s, %d, %d, %d)", names[i], sum, ckernel.Strip(w.Scalar(row.factor)), q.zero, int64(least.Bits), int64(most.Bits)))
	}
	w.Line("{")
	w.Writer.Indent++
	w.Line("HVX_Vector %s[%d];", words, len(rows))
	w.Line("if (%s) {", strings.Join(tests, " &&\n"+strings.Repeat("  ", w.Writer.Indent+2)))
	w.Writer.Indent++
	if group != nil {
		first := q.store.Index.Subst(map[string]sym.Expr{x.Var: sym.Const(0), q.loop.Var: sym.Const(0)}, w.Facts())
		w.Line("dnn_hvx_store_any(%s + %s, dnn_hvx_interleave(%s));", q.store.Buf.Name, w.Index(first), strings.Join(names, ", "))
	} else {
		q.write(w, names[0])
	}
	w.Writer.Indent--
	w.Line("} else {")
	w.Writer.Indent++
	w.For(x)
	w.Writer.Indent--
	w.Line("}")
	w.Writer.Indent--
	w.Line("}")
	return true
}

// substitute replaces variables in the indices of an expression over memory.
func substitute(e te.Expr, m map[string]sym.Expr, f sym.Facts) te.Expr {
	return te.Map(te.SubstIndices(e, m, f), func(x te.Expr) te.Expr {
		if mem, ok := x.(loop.Mem); ok {
			mem.Index = mem.Index.Subst(m, f)
			return mem
		}
		return x
	})
}

// write stores the bytes of a vector of words.
func (q *requantize) write(w *ckernel.Kernel, words string) {
	v, to := q.loop.Var, q.store.Buf
	if q.dense(w.Facts()) {
		first := q.store.Index.Subst(map[string]sym.Expr{v: sym.Const(0)}, w.Facts())
		if q.partial(w.Facts()) {
			w.Line("dnn_hvx_store_some(%s + %s, %s, %s);", to.Name, w.Index(first), words, ckernel.Strip(w.Index(q.loop.Extent)))
			return
		}
		w.Line("dnn_hvx_store_bytes(%s + %s, %s);", to.Name, w.Index(first), words)
		return
	}
	w.Line("int32_t %s_each[%d] __attribute__((aligned(128)));", v, lanes)
	w.Line("dnn_hvx_store(%s_each, %s);", v, words)
	w.Block(fmt.Sprintf("for (dnn_index %s = 0; %s < %d; ++%s)", v, v, lanes, v), func() {
		w.Line("%s[%s] = (%s)%s_each[%s];", to.Name, ckernel.Strip(w.Index(q.store.Index)), dialect{}.Type(to.Type, 0), v, v)
	})
}

// dense reports whether the bytes lie side by side.
func (q *requantize) dense(f sym.Facts) bool {
	k, ok := sym.Coefficient(q.store.Index, q.loop.Var, f)
	return ok && k.Is(1)
}

// partial reports whether the loop may be shorter than a vector, and that a whole one can be read and a part
// of it stored.
func (q *requantize) partial(f sym.Facts) bool {
	if q.loop.Extent.Is(lanes) || !q.dense(f) {
		return false
	}
	whole := true
	te.Walk(q.sum, func(e te.Expr) {
		if m, ok := e.(loop.Mem); ok {
			last := m.Index.Subst(map[string]sym.Expr{q.loop.Var: sym.Const(lanes - 1)}, f)
			whole = whole && sym.AtMost(sym.Sub(last, m.Buf.Size), -1, f)
		}
	})
	return whole
}

// few lanes are requantized one by one.
const few = 4

// findRequantize recognises the loop, or gives nil. Loops that may be longer than a vector are none, and short ones where no whole vector can be read.
func findRequantize(x loop.For, f sym.Facts) *requantize {
	_, most := x.Extent.Bounds(f)
	if len(x.Body) != 1 || most > lanes || most < few {
		return nil
	}
	s, ok := x.Body[0].(loop.Store)
	if !ok || s.Buf.Type.Size() != 1 || !s.Buf.Type.IsInteger() {
		return nil
	}
	q := &requantize{loop: x, store: s}
	rounded, zero, ok := binary(argument(s.Value, "cast", s.Buf.Type), "add")
	if !ok {
		return nil
	}
	z, ok := argument(zero, "cast", ir.F32).(te.Const)
	if !ok || z.Type != s.Buf.Type {
		return nil
	}
	q.zero = int64(z.Bits)
	scaled, factor, ok := binary(argument(rounded, "round", ir.F32), "mul")
	if !ok || varies(factor, x.Var) {
		return nil
	}
	q.factor = factor
	if q.sum = argument(scaled, "cast", ir.F32); q.sum == nil || q.sum.DType() != ir.I32 || most < lanes && !q.partial(f) {
		return nil
	}
	return q
}

// argument is what a function of one argument is applied to, or nil.
func argument(e te.Expr, fn string, t ir.DType) te.Expr {
	c, ok := e.(te.Call)
	if !ok || c.Fn != fn || c.Type != t || len(c.Args) != 1 {
		return nil
	}
	return c.Args[0]
}

func binary(e te.Expr, fn string) (a, b te.Expr, ok bool) {
	c, ok := e.(te.Call)
	if !ok || c.Fn != fn || len(c.Args) != 2 {
		return nil, nil, false
	}
	return c.Args[0], c.Args[1], true
}

// varies reports whether a value may differ along a variable.
func varies(e te.Expr, v string) bool {
	found := false
	te.Walk(e, func(x te.Expr) {
		switch x.(type) {
		case loop.Ref, te.Select, te.Let:
			found = true
		}
	})
	loop.ExprIndices(e, func(i sym.Expr) { found = found || i.Uses(v) })
	return found
}

// vector prints an expression of integers as a vector along the loop; false where it is none.
func (q *requantize) vector(w *ckernel.Kernel, e te.Expr) (string, bool) {
	switch x := e.(type) {
	case loop.Mem:
		return q.load(w, x)
	case te.Call:
		if !varies(e, q.loop.Var) {
			return fmt.Sprintf("Q6_V_vsplat_R(%s)", ckernel.Strip(w.Scalar(e))), true
		}
		if len(x.Args) != 2 {
			return "", false
		}
		if x.Fn == "mul" {
			return q.product(w, x)
		}
		fn, known := map[string]string{"add": "Q6_Vw_vadd_VwVw", "sub": "Q6_Vw_vsub_VwVw"}[x.Fn]
		a, okA := q.vector(w, x.Args[0])
		b, okB := q.vector(w, x.Args[1])
		return fmt.Sprintf("%s(%s, %s)", fn, a, b), known && okA && okB
	case te.Const:
		return fmt.Sprintf("Q6_V_vsplat_R(%d)", int32(x.Bits)), true
	}
	return "", false
}

// product multiplies with a literal of 16 bits: vectors have no product of 32 bits by 32.
func (q *requantize) product(w *ckernel.Kernel, x te.Call) (string, bool) {
	for i, a := range x.Args {
		if inner := argument(a, "cast", ir.I32); inner != nil {
			a = inner
		}
		c, ok := a.(te.Const)
		if n := int64(c.Bits); ok && c.Type.IsInteger() && n == int64(int16(n)) {
			v, ok := q.vector(w, x.Args[1-i])
			return fmt.Sprintf("dnn_hvx_scaled(%s, %d)", v, n), ok
		}
	}
	return "", false
}

// load reads neighbours, or one element for all lanes.
func (q *requantize) load(w *ckernel.Kernel, m loop.Mem) (string, bool) {
	k, ok := sym.Coefficient(m.Index, q.loop.Var, w.Facts())
	step, isConst := k.Const()
	first := ckernel.Strip(w.Index(m.Index.Subst(map[string]sym.Expr{q.loop.Var: sym.Const(0)}, w.Facts())))
	switch {
	case m.Buf.Type != ir.I32 || !ok || !isConst:
		return "", false
	case step == 0:
		return fmt.Sprintf("Q6_V_vsplat_R(%s[%s])", m.Buf.Name, first), true
	case step == 1:
		return fmt.Sprintf("dnn_hvx_load_any(%s + (%s))", m.Buf.Name, first), true
	}
	return "", false
}
