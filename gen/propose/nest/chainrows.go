package nest

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
)

// Rows of a chain that a task computes together, one stage of all of them after the other: a short row is a chain of instructions that
// wait for each other, and a processor that looks a few hundred of them ahead sees little but one such row.
const (
	togetherVar      = "s0row"
	mostRowsTogether = 8
	shortRow         = 128 // elements
	chainTasks       = 64  // that are left at least
)

// rowsTogether is the loop over such rows, or one without a variable.
func rowsTogether(b *block.Block, env *lower.Env) te.Axis {
	if b.Depth == 0 || !env.Target.LoadsApart() || !shortRows(b) {
		return te.Axis{}
	}
	all := int64(1)
	for _, a := range b.Stage.Axes[:b.Depth] {
		c, known := a.Extent.Const()
		if !known {
			return te.Axis{}
		}
		all *= c
	}
	last, _ := b.Stage.Axes[b.Depth-1].Extent.Const()
	for rows := int64(mostRowsTogether); rows > 1; rows-- {
		if last%rows == 0 && all/rows >= chainTasks {
			return te.Axis{Var: togetherVar, Extent: sym.Const(rows)}
		}
	}
	return te.Axis{}
}

// shortRows reports whether all stages compute and read few elements for a row, and one of them reduces these.
func shortRows(b *block.Block) bool {
	reduces := false
	for _, s := range append(append([]*te.Stage{}, b.Placed...), b.Stage) {
		elements := int64(1)
		for _, a := range append(append([]te.Axis{}, s.Axes[b.Depth:]...), s.Reduce...) {
			c, known := a.Extent.Const()
			if !known || c > shortRow || elements*c > shortRow {
				return false
			}
			elements *= c
		}
		reduces = reduces || s.Combine != nil
	}
	return reduces
}

// eachRow computes a stage for all rows that are computed together.
func (n *Nest) eachRow(body []loop.Stmt) []loop.Stmt {
	if n.rows.Var == "" {
		return body
	}
	return Loops([]te.Axis{n.rows}, body)
}

// allRows is how many elements scratch memory has where a row needs so many.
func (n *Nest) allRows(size sym.Expr) sym.Expr {
	if n.rows.Var == "" {
		return size
	}
	return sym.Mul(size, n.rows.Extent)
}

// ofRow is where a row's elements begin in scratch memory.
func (n *Nest) ofRow(size sym.Expr) sym.Expr {
	if n.rows.Var == "" {
		return sym.Const(0)
	}
	return sym.Mul(size, sym.Var(n.rows.Var))
}
