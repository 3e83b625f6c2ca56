package product

import (
	"rules_dnn/gen/lower"
	"rules_dnn/gen/lower/micro"
	"rules_dnn/gen/sym"
)

// choose finds the tile; false where one does not pay.
func (p *product) choose(env *lower.Env) bool {
	if n, known := p.row.Extent.Const(); p.row.Var != "" && known && n*p.overlap() < minProductRows && !p.dots {
		return false
	}
	columns := micro.Usual(p.column.Extent)
	steps := int64(1)
	for _, a := range p.Reduce {
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
	choice := micro.NewTiled(env.Target, p.instr, p.instr.Broadcaster(0), rows)
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

// minProductRows is how many rows, and windows that overlap, must share what a task packs.
const minProductRows = 4

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
