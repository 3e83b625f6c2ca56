package nest

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// laneAxis is the innermost axis, when a reduction may run outside of it: its
// accumulators then lie side by side, and are vectors.
func (n *Nest) laneAxis(inner []te.Axis) (te.Axis, bool) {
	if n.Combiner == nil || len(inner) == 0 || len(n.within) > 0 {
		return te.Axis{}, false
	}
	if n.loaded {
		return te.Axis{}, false // as below, and the bounds do not show it
	}
	a := inner[len(inner)-1]
	for _, b := range n.trimmed {
		if b.uses(a.Var) {
			return te.Axis{}, false // each element has a window of its own
		}
	}
	c, ok := a.Extent.Const()
	return a, ok && c > 1 && c <= maxLanes
}

// lanePoint computes all elements of the innermost axis at once: as vectors in registers where
// the axis is one vector long, and otherwise in arrays.
func (n *Nest) lanePoint(a te.Axis) []loop.Stmt {
	if c, _ := a.Extent.Const(); loop.IsVector(c, n.lanes) {
		one := loop.For{Var: a.Var, Extent: a.Extent, Body: n.point()}
		if loop.CanVectorise(one, lower.Vectors(n.target), n.Facts) {
			if sums := n.laneSums(a); sums != nil {
				return sums
			}
			if picks := n.lanePick(a); picks != nil {
				return picks
			}
			return []loop.Stmt{one}
		}
	}
	var body, first, set []loop.Stmt
	at := sym.Var(a.Var)
	bufs := make([]*loop.Buffer, len(n.Values))
	for k, v := range n.Values {
		bufs[k] = n.Local(n.accName(k), v.DType(), a.Extent)
		body = append(body, loop.Alloc{Buf: bufs[k]})
		first = append(first, loop.Store{Buf: bufs[k], Index: at, Value: n.Combiner.Init[k]})
		set = append(set, loop.Store{Buf: bufs[k], Index: at, Value: n.newValue(k, v)})
	}
	acc := func(k int) te.Expr { return loop.Mem{Buf: bufs[k], Index: at} }
	lane := []te.Axis{a}
	body = append(body, Loops(lane, first)...)
	body = append(body, n.reduceLoops(Loops(lane, append(n.joined(n.Values, acc), set...)))...)
	return append(body, Loops(lane, n.Stores(acc, n.At))...)
}

// Local is a local variable, or an array of them.
func (n *Nest) Local(name string, t ir.DType, size sym.Expr) *loop.Buffer {
	return &loop.Buffer{Name: name, Type: t, Write: true, Local: true, Size: size}
}
