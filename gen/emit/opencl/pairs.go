package opencl

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// pairLanes are the neighbours that an item has of what items multiply together.
const pairLanes = 2

// pair prints a loop over two neighbours that are computed, and stored by one instruction where they lie at a multiple of two; false where it is another loop.
func (d dialect) pair(w *ckernel.Kernel, x loop.For) bool {
	if d.rolls == nil || !x.Extent.Is(pairLanes) || len(x.Body) != 1 {
		return false
	}
	if y, is := x.Body[0].(loop.If); is { // of both or none
		inner := x
		inner.Body = y.Then
		alike := len(y.Else) == 0 && !slices.ContainsFunc(y.Cond, func(c te.Within) bool { return c.E.Uses(x.Var) || c.Lo.Uses(x.Var) || c.Hi.Uses(x.Var) })
		if !alike || !d.pairs(w, inner) {
			return false
		}
		y.Then = []loop.Stmt{inner}
		w.Statements([]loop.Stmt{y})
		return true
	}
	if !d.pairs(w, x) {
		return false
	}
	s := x.Body[0].(loop.Store)
	at, t := d.first(s.Index, x), scalar.CLType(s.Buf.Type, pairLanes)
	if isHalf(s.Buf.Type) {
		t = fmt.Sprintf("%s%d", storage(s.Buf.Type), pairLanes)
	}
	var lanes []string
	for i := range int64(pairLanes) {
		one := s
		one.Value = loop.SubstIndices(s.Value, map[string]sym.Expr{x.Var: sym.Const(i)}, d.k.Facts)
		v := w.Stored(one)
		if isHalf(s.Buf.Type) {
			v = "dnn_f32_to_" + s.Buf.Type.String() + "(" + v + ")"
		}
		lanes = append(lanes, v)
	}
	w.Line("*(__global %s*)&%s = (%s)(%s);", t, d.element(w, s.Buf, at), t, strings.Join(lanes, ", "))
	return true
}

// pairs reports whether a loop stores two neighbours that it computes.
func (d dialect) pairs(w *ckernel.Kernel, x loop.For) bool {
	if len(x.Body) != 1 {
		return false
	}
	s, is := x.Body[0].(loop.Store)
	if !is || d.aligned[s.Buf] < pairLanes || s.Buf.Local || s.Buf.Image != nil || slices.Contains(d.k.Shared, s.Buf) {
		return false
	}
	_, copies := s.Value.(loop.Mem)
	return !copies && d.walks(s.Index, x) && whole(w, d.first(s.Index, x), pairLanes)
}

// pairedType reports whether two elements of a type are stored as one.
func pairedType(t ir.DType) bool { return isHalf(t) || t == ir.F32 }
