package lower

import (
	"rules_dnn/gen/sym"
)

// choose finds the tile; false where one does not pay.
func (p *product) choose(env *Env) bool {
	if n, known := p.row.Extent.Const(); p.row.Var != "" && known && n*p.overlap() < minProductRows && !p.dots {
		return false
	}
	columns := usual(p.column.Extent)
	steps := int64(1)
	for _, a := range p.reduce {
		n, _ := a.Extent.Const()
		if a.Var == p.group {
			n = (n + p.instr.Group - 1) / p.instr.Group
		}
		steps *= n
	}
	rows := sym.Const(1)
	if p.row.Var != "" {
		rows = p.row.Extent
	}
	choice := newTiled(env.Target, p.instr, p.instr.Broadcaster(0), rows)
	choice.groups, choice.perBlock, choice.steps = (columns+p.instr.Lanes-1)/p.instr.Lanes, 1, steps
	if p.together > 1 {
		choice.multiple = p.together
	}
	p.tile, p.choice = choice.choose(), choice
	if p.packX && !p.x.constant {
		p.windows = nil
	}
	if p.row.Var != "" && (p.last || p.packX && !p.x.constant) {
		p.chunk = p.tilesOfTask()
	}
	if n, _ := p.row.Extent.Const(); p.slides != nil {
		p.chunk = (n + p.rows - 1) / p.rows
	}
	return true
}

// minProductRows is how many rows, and windows that overlap, must share what a task packs.
const minProductRows = 4

// tilesOfTask are those that share what a task packs: tasks are as even as tiles allow.
func (p *product) tilesOfTask() int64 {
	n, known := p.row.Extent.Const()
	if !known {
		return max(1, rowsOfTask/p.rows)
	}
	tasks, tiles := (n+rowsOfTask-1)/rowsOfTask, (n+p.rows-1)/p.rows
	if p.last && !p.packX && tasks > 1 && tasks < enoughTasks { // of which two threads have equally many
		tasks += tasks % 2
	}
	return (tiles + tasks - 1) / tasks
}

// rowsOfTask is about how many rows share what a task packs of W, where it packs X too.
const rowsOfTask = 96
