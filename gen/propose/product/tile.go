package product

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/target"
)

// choose finds the tile; false where one does not pay.
func (p *product) choose(env *lower.Env) bool {
	steps := p.steps()
	if n, known := p.row.Extent.Const(); p.row.Var != "" && known && !p.dots && n*p.overlap() < p.leastRows(env.Target, steps) {
		return false
	}
	columns := micro.Usual(p.column.Extent)
	rows := sym.Const(1)
	if p.row.Var != "" {
		rows = p.row.Extent
	}
	choice := micro.NewTiled(env.Target, p.instr, p.instr.Broadcaster(p.groups()), rows)
	choice.Groups, choice.PerBlock, choice.Steps = (columns+p.instr.Lanes-1)/p.instr.Lanes, 1, steps
	if p.together > 1 {
		choice.Multiple = p.together
	}
	p.Tile, p.choice = choice.Choose(), choice
	if p.packX && !p.X.Constant {
		p.windows = nil
	}
	if p.row.Var != "" && (p.last || p.packX && !p.X.Constant) {
		p.chunk = p.tilesOfTask()
	}
	if n, _ := p.row.Extent.Const(); p.slides != nil {
		p.chunk = (n + p.Rows - 1) / p.Rows
	}
	return true
}

// steps is how often a tile's instruction takes in points of the sum.
func (p *product) steps() int64 {
	steps := int64(1)
	for _, a := range p.Reduce {
		n, _ := a.Extent.Const()
		if a.Var == p.group {
			n = (n + p.instr.Group - 1) / p.instr.Group
		}
		steps *= n
	}
	return steps
}

// groups returns the number of groups of neighbours in the innermost loop of the sum, or 0.
func (p *product) groups() int64 {
	if p.group == "" || !p.last && len(p.Reduce) > 1 {
		return 0
	}
	n, _ := p.axis(p.group).Extent.Const()
	return (n + p.instr.Group - 1) / p.instr.Group
}

// packs reports whether tasks pack one of the factors.
func (p *product) packs() bool { return !p.storedW && !p.W.Constant || p.packX && !p.X.Constant }

// leastRows is how many rows, and windows that overlap, must share what a task packs. Loops over any block read W anew for each row: where it does not stay in
// the second-level cache until then, the second row already pays for a copy of its registers as they are.
func (p *product) leastRows(t *target.Target, steps int64) int64 {
	switch {
	case !p.packs():
		return 1
	case len(p.windows) == 0 && !p.packX && p.lanesAreNeighbours() && 2*steps*micro.Usual(p.column.Extent)*int64(p.W.Load.Type.Size()) > t.L2:
		return 2
	}
	return 4
}

// lanesAreNeighbours reports whether columns that follow each other do so where W is stored.
func (p *product) lanesAreNeighbours() bool {
	l := p.W.Load
	if p.lay(p.b.Operands[l.Source.N]) != layout.RowMajor {
		return false
	}
	step, linear := sym.Coefficient(layout.Flat(p.Operands[l.Source.N].Shape, l.Index), p.column.Var, p.Facts)
	return linear && step.Is(1)
}

// tilesOfTask are those that share what a task packs: tasks are as even as tiles allow.
func (p *product) tilesOfTask() int64 {
	n, known := p.row.Extent.Const()
	if !known {
		return max(1, rowsOfTask/p.Rows)
	}
	tasks, tiles := (n+rowsOfTask-1)/rowsOfTask, (n+p.Rows-1)/p.Rows
	if p.last && !p.packX && tasks > 1 && tasks < enoughTasks { // of which two threads have equally many
		tasks += tasks % 2
	}
	return (tiles + tasks - 1) / tasks
}

// rowsOfTask is about how many rows share what a task packs of W, where it packs X too.
const rowsOfTask = 96
