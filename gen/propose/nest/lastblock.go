package nest

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// lastBlock computes the lanes of a block of channels, the innermost axis, where the last block is not full: all lanes of
// the others, and of that one those that are channels and zeros for the rest, so that both are
// vectors. It is nil where the innermost axis is no such thing.
func (n *Nest) lastBlock(axes []te.Axis) []loop.Stmt {
	if len(n.within) != 1 || len(axes) == 0 || n.target.Images != nil {
		return nil
	}
	w, lane := n.within[0], axes[len(axes)-1]
	first := w.E.Subst(map[string]sym.Expr{lane.Var: sym.Const(0)}, n.Facts)
	channels, known := w.Hi.Const()
	block, isBlock := lane.Extent.Const()
	if !known || !isBlock || !w.Lo.Is(0) || !sym.Sub(w.E, first).Equal(sym.Var(lane.Var)) || !sym.Mod(first, lane.Extent, n.Facts).Is(0) {
		return nil
	}
	left := channels % block
	if !sym.AtMost(first, channels-left, n.Facts) {
		return nil // parts of blocks, of which several are beyond the channels
	}
	full := *n
	full.within = nil
	lanes := func(n int64) []te.Axis { return []te.Axis{{Var: lane.Var, Extent: sym.Const(n)}} }
	var last []loop.Stmt
	if left > 0 {
		last = full.elements(lanes(left), nil)
	}
	last = append(last, n.ZerosFrom(lane, left, block-left)...)
	if channels < block {
		return last
	}
	whole := []te.Within{{E: first, Lo: sym.Const(0), Hi: sym.Const(channels - left)}}
	return []loop.Stmt{loop.If{Cond: whole, Then: full.elements(lanes(block), nil), Else: last}}
}

// ZerosFrom are so many points of an axis from one on.
func (n *Nest) ZerosFrom(a te.Axis, first, points int64) []loop.Stmt {
	at := sym.Const(first)
	if points > 1 {
		at = sym.Add(sym.Var(a.Var), at)
	}
	zeros := n.zeros(n.At.Subst(map[string]sym.Expr{a.Var: at}, n.Facts))
	if points == 1 {
		return zeros // no loop, whose variable other code beside it has, too
	}
	return Loops([]te.Axis{{Var: a.Var, Extent: sym.Const(points)}}, zeros)
}
