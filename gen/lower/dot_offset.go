package lower

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
)

// offsets finds where the micro-kernel reads, and with which steps; false where the layouts
// do not have what it needs side by side.
func (d *dot) offsets(logical map[string]sym.Expr) bool {
	m := map[string]sym.Expr{d.b.Stage.Reduce[0].Var: sym.Add(sym.Scale(sym.Var(kVar(0)), d.row.Group), sym.Var(kVar(1)))}
	for v, e := range logical {
		m[v] = e
	}
	d.wAt, d.xAt = d.offset(d.w, d.wLay, m), d.offset(d.x, d.xLay, m)
	ok := true
	step := func(e sym.Expr, v string) int64 {
		c, linear := sym.Coefficient(e, v, d.n.facts)
		n, isConst := c.Const()
		ok = ok && linear && isConst
		return n
	}
	d.micro = loop.MicroKernel{Instr: d.row, X: d.row.Broadcaster(0), Vectors: d.vectors, VecStep: step(d.wAt, vecVar),
		K: []loop.KLoop{{Extent: d.steps, XStep: step(d.xAt, kVar(0)), WStep: step(d.wAt, kVar(0))}}}
	if d.pixel >= 0 {
		d.micro.RowStep = step(d.xAt, axisVar(d.pixel))
	}
	ok = ok && step(d.wAt, laneVar) == d.row.Group && (d.row.Group == 1 || step(d.wAt, kVar(1)) == 1 && step(d.xAt, kVar(1)) == 1)
	start := map[string]sym.Expr{vecVar: sym.Const(0), laneVar: sym.Const(0), kVar(0): sym.Const(0), kVar(1): sym.Const(0)}
	d.wAt, d.xAt = d.wAt.Subst(start, d.n.facts), d.xAt.Subst(start, d.n.facts)
	return ok && d.wholeGroups()
}

// wholeGroups reports whether X's storage has all elements of the last group.
func (d *dot) wholeGroups() bool {
	if d.x.constant() {
		return true
	}
	_, k := d.x.extents(d.b.Stage)
	return k%d.row.Group == 0 || d.xLay.Along(d.x.k)%d.row.Group == 0
}

// offset is a factor's offset in the loops' variables; constants are matrices.
func (d *dot) offset(f *factor, l layout.Layout, m map[string]sym.Expr) sym.Expr {
	shape, index := f.value.Shape, f.load.Index
	if f.constant() {
		lines, k := f.extents(d.b.Stage)
		shape, index = ir.Shape{sym.Const(lines), sym.Const(k)}, []sym.Expr{sym.Const(0), f.load.Index[f.k]}
		if f.axis >= 0 {
			index[0] = f.load.Index[f.dim]
		}
		buf := d.n.in[f.load.Source.N]
		buf.Size, buf.Type = l.Elements(shape), d.row.X
		if f == d.w {
			buf.Type = d.row.W
		}
	}
	at := make([]sym.Expr, len(index))
	for i, e := range index {
		at[i] = e.Subst(m, d.n.facts)
	}
	return l.Offset(shape, at, d.n.facts)
}
