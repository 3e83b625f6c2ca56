package product

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
)

const (
	// enoughTasks is how many blocks of rows leave threads something to share; with fewer, tasks share the columns of each, too.
	enoughTasks = 16
	// packedFor is how many registers of columns are computed at least of what a task packs of X, which takes little beside them then.
	packedFor = 8
)

// shareColumns lets tasks share the columns of a block of rows where blocks are not enough, and columns not few. Each has as many groups of them, of
// which the last one may have some without columns, whose weights are zeros.
func (l *plan) shareColumns() {
	columns, known := l.columns.Const()
	if !known || l.chunk == 0 || !l.last || l.beside {
		return
	}
	groups := columns / l.width
	most := groups
	if l.product.packX && l.slides == nil {
		most = min(groups, groups*l.Vectors/packedFor)
	}
	tasks := l.blocksOfRows()
	sets := min((enoughTasks+tasks-1)/tasks, most)
	if sets <= 1 {
		return
	}
	l.own = (groups + sets - 1) / sets
	l.sets = (groups + l.own - 1) / l.own
	l.columns = sym.Const(l.sets * l.own * l.width)
}

// blocksOfRows is how many tasks there are of rows, and of axes that no tile has.
func (l *plan) blocksOfRows() int64 {
	rows := l.chunk * l.Rows
	tasks := (micro.Usual(l.row.Extent) + rows - 1) / rows
	for _, a := range l.Stage.Axes {
		switch w, ok := l.slideOf(a.Var); {
		case a.Var == l.row.Var || a.Var == l.column.Var || !l.X.Uses(a.Var):
		case ok:
			tasks *= micro.Usual(a.Extent) / l.linesOfTask(w)
		default:
			tasks *= micro.Usual(a.Extent) / l.pointsOfTask(a)
		}
	}
	return tasks
}

// groupLoops are the loops over the groups of columns of a block of rows, and over the tasks that share them.
func (l *plan) groupLoops(tasks, before *lower.LoopList) {
	if l.sets == 0 {
		before.Add(sched.Serial, vars.Group, l.column.Var, 0, sched.Exact)
		return
	}
	tasks.Add(sched.Task, vars.Set, l.column.Var, 0, sched.Exact)
	before.Add(sched.Serial, vars.Group, l.column.Var, l.own, sched.Clip)
}

// task is the innermost loop of tasks that are blocks of rows.
func (l *plan) task() string {
	if l.sets > 0 {
		return vars.Set
	}
	return rowsVar
}
