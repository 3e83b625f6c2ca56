package product

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/vars"
)

// packX is X as the tiles read it: row by row, in the order of the loops of the sum.
func (l *plan) packX() te.Expr {
	k := l.packing("rows")
	for _, a := range l.Stage.Axes {
		if a.Var == l.row.Var || a.Extent.Is(1) || !l.X.Uses(a.Var) {
			continue
		}
		at := l.places[a.Var]
		first, region := at.now(), int64(1)
		switch {
		case l.X.Constant:
			region = 0
		case at.task != "" && at.size > 1: // all points of a task
			first, region = at.first(), at.size
		}
		k.names[a.Var] = k.axis(a.Extent, sym.Var(a.Var), first, region)
	}
	if l.row.Var != "" {
		k.names[l.row.Var] = l.rowAxis(k)
	}
	e := l.X.Element(l.instr.X)
	load, ok := e.(te.Load)
	switch {
	case ok && len(load.Guard) == 0 && len(l.Reduce) == 1 && l.group != "":
		l.packLine(k)
	case l.last && l.group != "":
		l.packTaps(k, false)
		l.packLine(k)
	default:
		l.packGroup(k, l.packSums(k, false))
	}
	k.finish(e, l.Facts)
	k.columns = -1
	if l.X.Constant {
		l.weights = k
	}
	if l.row.Var == "" {
		return l.add(k, l.X, vars.Group)
	}
	return l.add(k, l.X, l.task())
}

// packLine adds the axis of the sum, all groups of neighbours as one: rows are copied whole, with zeros where the last group goes on.
func (l *plan) packLine(k *packing) {
	n, _ := l.axis(l.group).Extent.Const()
	whole := (n + l.instr.Group - 1) / l.instr.Group * l.instr.Group
	k.columns = len(k.Axes)
	at := k.axis(sym.Const(whole), sym.Add(sym.Scale(l.groupVar(), l.instr.Group), l.dotVar()), sym.Const(0), 0)
	k.names[l.group] = at
	if whole != n {
		k.until(at, sym.Const(n))
	}
}

// rowAxis adds the axis of rows: those of a task where tasks are blocks of rows, of which the last one has what is left.
func (l *plan) rowAxis(k *packing) sym.Expr {
	if l.chunk == 0 {
		return k.axis(l.row.Extent, sym.Var(l.row.Var), sym.Const(0), 0)
	}
	block := l.chunk * l.Rows
	if !sym.Mod(l.row.Extent, sym.Const(block), l.Facts).Is(0) {
		k.clipped = map[int]int64{len(k.Axes): block}
	}
	return k.axis(l.row.Extent, sym.Var(l.row.Var), sym.Scale(sym.Var(rowsVar), block), block)
}
