package nest

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/match"
)

// fetchedPoints bounds how many points a window has whose lines are asked for.
const fetchedPoints = 16

// fetched asks for lines of what windows are going to read for the lanes of the innermost axis, where these read each element once, of a value that
// the second-level cache has no room for. Rows of a window are streams, each of which goes on beyond the other ones: no processor foresees that.
func (n *Nest) fetched(axes []te.Axis) []loop.Stmt {
	t := n.target
	if t.PrefetchBytes == 0 || len(axes) == 0 || len(n.Reduce) == 0 || n.phase.Var != "" || n.bound > 0 || match.PointsOf(n.Reduce) > fetchedPoints {
		return nil
	}
	var out []loop.Stmt
	for _, v := range n.Values {
		te.Walk(v, func(e te.Expr) {
			if m, ok := e.(loop.Mem); ok {
				out = append(out, n.fetchedOf(m, axes[len(axes)-1])...)
			}
		})
	}
	return out
}

// fetchedOf are the lines of one load, all of a window for the lanes of an axis, so many whole windows of rows ahead that they come in time.
func (n *Nest) fetchedOf(m loop.Mem, lanes te.Axis) []loop.Stmt {
	size, known := m.Buf.Size.Const()
	bytes := int64(m.Buf.Type.Size())
	wide, fixed := lanes.Extent.Const()
	if !known || !fixed || size*bytes <= n.target.L2 || size != match.PointsOf(n.Axes)*match.PointsOf(n.Reduce) || wide > maxLanes || wide*bytes%loop.CacheLine != 0 {
		return nil
	}
	if e, linear := sym.Coefficient(m.Index, lanes.Var, n.Facts); !linear || !e.Is(1) {
		return nil
	}
	rows, points := int64(1), []sym.Expr{m.Index.Subst(map[string]sym.Expr{lanes.Var: sym.Const(0)}, n.Facts)}
	for _, a := range n.Reduce {
		e, linear := sym.Coefficient(m.Index, a.Var, n.Facts)
		step, isConst := e.Const()
		extent, _ := a.Extent.Const()
		if !linear || !isConst {
			return nil
		}
		rows = max(rows, step*extent)
		var all []sym.Expr
		for _, p := range points {
			for i := range extent {
				all = append(all, p.Subst(map[string]sym.Expr{a.Var: sym.Const(i)}, n.Facts))
			}
		}
		points = all
	}
	ahead := (n.target.PrefetchBytes/bytes + rows - 1) / rows * rows
	var out []loop.Stmt
	for _, p := range points {
		for at := int64(0); at < wide; at += loop.CacheLine / bytes {
			out = append(out, loop.Claim{Buf: m.Buf, Index: sym.Add(p, sym.Const(ahead+at)), Later: true})
		}
	}
	return out
}
