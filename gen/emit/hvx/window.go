package hvx

import (
	"fmt"
	"slices"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// window is loops over what an array of results takes in, around one over the results, as windows of depthwise convolutions and of pools are. They are
// printed the other way round, so that results stay in registers: each takes in the same numbers in the same order.
type window struct {
	outer []loop.For
	loop  loop.For // over the results, which are lanes
	acc   *loop.Buffer
	taken te.Expr
	kind  *accumulation
}

// accumulation is how results take in a number.
type accumulation struct {
	fn    string
	lanes int64
	// pair: results are two registers, of even and odd lanes.
	pair bool
	text map[ir.DType]string // by type of the results
}

var accumulations = map[string]*accumulation{
	"add": {fn: "add", lanes: 64, pair: true, text: map[ir.DType]string{ir.I32: "Q6_Ww_vmpyacc_WwVhRh(%s, %s, %s)"}},
	"max": {fn: "max", lanes: bytesWide, text: map[ir.DType]string{ir.U8: "Q6_Vub_vmax_VubVub(%s, %s)", ir.I8: "Q6_Vb_vmax_VbVb(%s, %s)"}},
}

// findWindow recognises such loops, or gives nil.
func findWindow(x loop.For, f sym.Facts) *window {
	v := &window{loop: x}
	for len(v.loop.Body) == 1 {
		inner, ok := v.loop.Body[0].(loop.For)
		if !ok || inner.Lanes > 0 || v.loop.Lanes > 0 {
			break
		}
		v.outer, v.loop = append(v.outer, v.loop), inner
	}
	n, known := v.loop.Extent.Const()
	s, value := stored(v.loop.Body)
	if len(v.outer) == 0 || !known || n < few || s == nil || !s.Buf.Local || !s.Index.Equal(sym.Var(v.loop.Var)) {
		return nil
	}
	call, ok := value.(te.Call)
	if !ok || len(call.Args) != 2 || accumulations[call.Fn] == nil || accumulations[call.Fn].text[s.Buf.Type] == "" {
		return nil
	}
	before, ok := call.Args[0].(loop.Mem)
	if !ok || before.Buf != s.Buf || !before.Index.Equal(s.Index) {
		return nil
	}
	v.acc, v.taken, v.kind = s.Buf, call.Args[1], accumulations[call.Fn]
	reads := false
	te.Walk(v.taken, func(e te.Expr) {
		m, ok := e.(loop.Mem)
		reads = reads || ok && m.Buf == v.acc
	})
	if reads || slices.ContainsFunc(v.outer, func(l loop.For) bool { return l.Extent.Uses(v.loop.Var) }) {
		return nil
	}
	return v
}

// stored is the only store of some statements, and what it stores, which may have a name.
func stored(body []loop.Stmt) (*loop.Store, te.Expr) {
	if len(body) == 0 || len(body) > 2 {
		return nil, nil
	}
	s, ok := body[len(body)-1].(loop.Store)
	if !ok {
		return nil, nil
	}
	if len(body) == 1 {
		return &s, s.Value
	}
	d, ok := body[0].(loop.Def)
	if r, isRef := s.Value.(loop.Ref); !ok || !isRef || r.Name != d.Name {
		return nil, nil
	}
	return &s, d.Init
}

// print prints the loops; false where vectors cannot.
func (v *window) print(w *ckernel.Kernel) bool {
	n, _ := v.loop.Extent.Const()
	at, c := v.loop.Var+"_at", v.kind.lanes
	if _, ok := v.next(w, sym.Const(0), min(n, c)); !ok {
		return false
	}
	if n >= c {
		w.Block(fmt.Sprintf("for (%s %s = 0; %s < %d; %s += %d)", dialect{}.IndexType(), at, at, n/c*c, at, c), func() { v.group(w, sym.Var(at), c) })
	}
	if n%c > 0 {
		scope(w, func() { v.group(w, sym.Const(n/c*c), n%c) })
	}
	return true
}

// group prints the loops for n results from one on, which stay in registers.
func (v *window) group(w *ckernel.Kernel, first sym.Expr, n int64) {
	name := v.loop.Var + "_sums"
	size := int64(v.acc.Type.Size())
	at := func(i int64) string {
		return fmt.Sprintf("%s + %s", v.acc.Name, w.Index(sym.Add(first, sym.Const(i*lanes))))
	}
	if v.kind.pair {
		w.Line("HVX_VectorPair %s = Q6_W_vdeal_VVR(dnn_hvx_load_part(%s, %d), dnn_hvx_load_part(%s, %d), -4);", name, at((n-1)/lanes), size*(n-(n-1)/lanes*lanes), at(0), size*min(n, lanes))
	} else {
		w.Line("HVX_Vector %s = dnn_hvx_load_part(%s, %d);", name, at(0), n)
	}
	next, _ := v.next(w, first, n)
	v.around(w, v.outer, func() { w.Line("%s = %s;", name, next) })
	if !v.kind.pair {
		w.Line("dnn_hvx_store_part(%s, %s, %d);", at(0), name, n)
		return
	}
	w.Line("%s = Q6_W_vshuff_VVR(Q6_V_hi_W(%s), Q6_V_lo_W(%s), -4);", name, name, name)
	for i := int64(0); i*lanes < n; i++ {
		w.Line("dnn_hvx_store_part(%s, Q6_V_%s_W(%s), %d);", at(i), []string{"lo", "hi"}[i], name, size*min(n-i*lanes, lanes))
	}
}

// around prints loops, outermost first.
func (v *window) around(w *ckernel.Kernel, loops []loop.For, body func()) {
	if len(loops) == 0 {
		body()
		return
	}
	l := loops[0]
	w.Block(fmt.Sprintf("for (%s %s = 0; %s < %s; ++%s)", dialect{}.IndexType(), l.Var, l.Var, w.Index(l.Extent), l.Var), func() { v.around(w, loops[1:], body) })
}

// next is the registers of n results from one on once they have taken in a number.
func (v *window) next(w *ckernel.Kernel, first sym.Expr, n int64) (string, bool) {
	c := &copied{w: w, v: v.loop.Var, first: first, n: n}
	name, text := v.loop.Var+"_sums", v.kind.text[v.acc.Type]
	if v.kind.fn == "max" {
		m, ok := v.taken.(loop.Mem)
		if !ok || m.Buf.Type != v.acc.Type {
			return "", false
		}
		x, ok := c.load(m)
		return fmt.Sprintf(text, name, x), ok
	}
	a, b := v.taken, te.Expr(nil)
	if x, y, ok := binary(v.taken, "mul"); ok {
		if a, b = x, y; !varies(a, v.loop.Var) {
			a, b = b, a
		}
	}
	m, ok := argument(a, "cast", ir.I32).(loop.Mem)
	if !ok || m.Buf.Type.Size() > 2 || m.Buf.Type == ir.U16 {
		return "", false
	}
	by := "1"
	if b != nil {
		inner := argument(b, "cast", ir.I32)
		weight, ok := inner.(loop.Mem)
		if !ok || varies(inner, v.loop.Var) || weight.Buf.Type.Size() > 2 || weight.Buf.Type == ir.U16 {
			return "", false
		}
		by = fmt.Sprintf("%s[%s]", weight.Buf.Name, ckernel.Strip(w.Index(weight.Index)))
	}
	x, ok := c.halves(m)
	return fmt.Sprintf(text, name, x, "dnn_hvx_twice("+by+")"), ok
}
