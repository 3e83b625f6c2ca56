package nest

import (
	"fmt"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// splitReduction makes a reduction axis that walks the texels' axis of an image two: blocks of
// lanes, in its place, and innermost the lanes, which are one texel.
func (n *Nest) splitReduction(b *block.Block, lay lower.Layouts, logical map[string]sym.Expr) {
	if n.Combiner == nil || len(n.Values) > 1 || !match.Reorders[n.Combiner.Name] {
		return
	}
	for i, r := range n.Reduce {
		c, ok := r.Extent.Const()
		if !ok || c%layout.TexelLanes != 0 || !walksTexels(b, lay, r.Var) {
			continue
		}
		blocks := te.Axis{Var: r.Var + "_b", Extent: sym.Const(c / layout.TexelLanes)}
		lane := te.Axis{Var: r.Var + "_l", Extent: sym.Const(layout.TexelLanes)}
		n.AddRanges([]te.Axis{blocks, lane})
		logical[r.Var] = sym.Add(sym.Scale(sym.Var(blocks.Var), layout.TexelLanes), sym.Var(lane.Var))
		n.Reduce[i] = blocks
		n.Reduce = append(n.Reduce, lane)
		n.texelLane = lane.Var
		return
	}
}

// walksTexels reports whether an image's texels lie along what the variable alone walks.
func walksTexels(b *block.Block, lay lower.Layouts, v string) bool {
	found := false
	for _, e := range b.Stage.Values {
		te.Walk(e, func(x te.Expr) {
			if l, ok := x.(te.Load); ok && !l.Source.Stage {
				at := lay(b.Operands[l.Source.N])
				found = found || at.Memory == layout.Image && l.Index[at.Lane(len(l.Index))].Equal(sym.Var(v))
			}
		})
	}
	return found
}

// cacheTexels reads each texel that the innermost reduction axis walks once, before it.
func (n *Nest) cacheTexels(axes []te.Axis) {
	if n.texelLane == "" || len(n.Values) != 1 {
		return
	}
	inner := ""
	if len(axes) > 0 {
		inner = axes[len(axes)-1].Var
	}
	n.Values[0] = n.cached(n.Values[0], inner)
}

// cached replaces reads of whole texels, with their guards, by reads of local arrays.
func (n *Nest) cached(e te.Expr, inner string) te.Expr {
	if n.isTexel(e, inner) {
		buf := n.Local(fmt.Sprintf("x%d_t%s", len(n.fills)/2, n.tag), e.DType(), sym.Const(layout.TexelLanes))
		lane := sym.Var(n.texelLane)
		n.fills = append(n.fills, loop.Alloc{Buf: buf}, loop.For{Var: n.texelLane, Extent: buf.Size, Lanes: layout.TexelLanes,
			Body: []loop.Stmt{loop.Store{Buf: buf, Index: lane, Value: e}}})
		return loop.Mem{Buf: buf, Index: lane}
	}
	if x, ok := e.(te.Call); ok {
		args := make([]te.Expr, len(x.Args))
		for i, a := range x.Args {
			args[i] = n.cached(a, inner)
		}
		x.Args = args
		return x
	}
	return e
}

// isTexel reports whether an expression reads the lanes of one texel, whatever the innermost axis of the result.
func (n *Nest) isTexel(e te.Expr, inner string) bool {
	switch x := e.(type) {
	case te.Select:
		_, constant := x.Else.(te.Const)
		for _, w := range x.Cond {
			for _, c := range []sym.Expr{w.E, w.Lo, w.Hi} {
				constant = constant && !c.Uses(n.texelLane) && !c.Uses(inner)
			}
		}
		return constant && n.isTexel(x.Then, inner)
	case loop.Mem:
		return x.Buf.Image != nil && x.Index.Equal(sym.Var(n.texelLane)) && !x.X.Uses(inner) && !x.Y.Uses(inner) &&
			!x.X.Uses(n.texelLane) && !x.Y.Uses(n.texelLane)
	}
	return false
}
