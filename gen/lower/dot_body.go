package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// body builds the kernel's statements: a task is a point of the outer axes and a group of lanes, whose
// part of W stays in the cache for all tiles.
func (d *dot) body(k *loop.Kernel) {
	tileLanes := d.vectors * d.row.Lanes
	groups := (d.lanes + tileLanes - 1) / tileLanes
	acc := &loop.Buffer{Name: "acc", Type: d.row.Acc, Write: true, Local: true, Size: sym.Const(d.rows * tileLanes)}
	var tasks []te.Axis
	for i, a := range d.n.axes {
		if i != d.w.axis && i != d.pixel {
			tasks = append(tasks, a)
		}
	}
	tasks = append(tasks, te.Axis{Var: groupVar, Extent: sym.Const(groups)})
	k.Grid, k.Body = tasks, []loop.Stmt{loop.Alloc{Buf: acc}}
	full, rest := d.pixels/d.rows, d.pixels%d.rows
	start := sym.Scale(sym.Var(tileVar), d.rows)
	k.Body = append(k.Body, loops([]te.Axis{{Var: tileVar, Extent: sym.Const(full)}}, d.oneTile(acc, start, d.rows))...)
	if rest > 0 {
		k.Body = append(k.Body, d.oneTile(acc, sym.Const(full*d.rows), rest)...)
	}
}

// oneTile is a call of the micro-kernel and what the block does with the sums.
func (d *dot) oneTile(acc *loop.Buffer, start sym.Expr, rows int64) []loop.Stmt {
	m := d.micro
	m.Rows = rows
	first, each := map[string]sym.Expr{}, map[string]sym.Expr{}
	row := sym.Add(sym.Scale(sym.Var(chunkVar), d.together), sym.Var(rowVar))
	if d.pixel >= 0 {
		first[axisVar(d.pixel)] = start
		each[axisVar(d.pixel)] = sym.Add(start, row)
	}
	call := loop.Tile{Micro: &m, X: d.n.in[d.x.load.Source.N], XAt: d.xAt.Subst(first, d.n.facts),
		W: d.n.in[d.w.load.Source.N], At: d.wAt.Subst(first, d.n.facts), Acc: acc}
	e := &nest{facts: d.n.facts, out: d.n.out, at: d.n.at.Subst(each, d.n.facts)}
	for _, r := range d.n.results {
		e.results = append(e.results, substMem(r, each, d.n.facts))
	}
	tileLanes := d.vectors * d.row.Lanes
	sum := loop.Mem{Buf: acc, Index: sym.Add(sym.Scale(row, tileLanes), sym.Scale(sym.Var(vecVar), d.row.Lanes), sym.Var(laneVar))}
	lanes, store := d.bounded(e, e.stores(func(int) te.Expr { return sum }, e.at))
	return append([]loop.Stmt{call}, loops([]te.Axis{{Var: chunkVar, Extent: sym.Const(rows / d.together)}, {Var: vecVar, Extent: sym.Const(d.vectors)}, {Var: rowVar, Extent: sym.Const(d.together)},
		{Var: laneVar, Extent: lanes}}, store)...)
}

// bounded is how many lanes of a register are stored, and how: beyond the axis, storage has zeros up
// to the end of its block, if it has blocks.
func (d *dot) bounded(e *nest, store []loop.Stmt) (sym.Expr, []loop.Stmt) {
	lanes := sym.Const(d.row.Lanes)
	if d.lanes%d.row.Lanes == 0 {
		return lanes, store
	}
	block := d.out.Along(d.w.axis)
	stored := (d.lanes + block - 1) / block * block
	if stored > d.lanes {
		there := []te.Within{{E: d.index[d.w.axis], Lo: sym.Const(0), Hi: sym.Const(d.lanes)}}
		store = []loop.Stmt{loop.If{Cond: there, Then: store, Else: e.zeros(e.at)}}
	}
	first := d.index[d.w.axis].Subst(map[string]sym.Expr{laneVar: sym.Const(0)}, d.n.facts)
	return sym.Min(lanes, sym.Sub(sym.Const(stored), first), d.n.facts), store
}
