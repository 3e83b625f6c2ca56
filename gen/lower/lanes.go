package lower

import (
	"fmt"

	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// laneAxis is the innermost axis, when a reduction may run outside of it: its
// accumulators then lie side by side and C++ compilers make vectors of them.
func (n *nest) laneAxis(inner []te.Axis) (te.Axis, bool) {
	if n.combiner == nil || len(inner) == 0 || len(n.within) > 0 {
		return te.Axis{}, false
	}
	a := inner[len(inner)-1]
	c, ok := a.Extent.Const()
	return a, ok && c > 1 && c <= maxLanes
}

// lanePoint computes all elements of the innermost axis at once.
func (n *nest) lanePoint(a te.Axis) []loop.Stmt {
	var body, first, set []loop.Stmt
	at := sym.Var(a.Var)
	bufs := make([]*loop.Buffer, len(n.values))
	for k, v := range n.values {
		bufs[k] = &loop.Buffer{Name: fmt.Sprintf("acc%d", k), Type: v.DType(), Write: true, Size: a.Extent}
		body = append(body, loop.Alloc{Buf: bufs[k]})
		first = append(first, loop.Store{Buf: bufs[k], Index: at, Value: n.combiner.Init[k]})
		set = append(set, loop.Store{Buf: bufs[k], Index: at, Value: loop.Ref{Name: fmt.Sprintf("new%d", k), Type: v.DType()}})
	}
	acc := func(k int) te.Expr { return loop.Mem{Buf: bufs[k], Index: at} }
	lane := []te.Axis{a}
	body = append(body, loops(lane, first)...)
	body = append(body, loops(n.reduce, loops(lane, append(n.joined(acc), set...)))...)
	return append(body, loops(lane, n.stores(acc, n.at))...)
}
