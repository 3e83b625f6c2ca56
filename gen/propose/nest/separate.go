package nest

import (
	"maps"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/match"
)

// The greatest element of a window is the greatest of its columns' greatest ones, and windows along a row share columns. A row of results is computed from a
// row of columns, each of which is reduced once, in vectors of neighbours. What is padding beside them is in that row, so that windows at its ends are as long as all others.

// Variables of a row of columns.
const (
	columnVar = "w0c"
	columnTag = "93" // of its nest, as beforeTag
	lastTag   = "94" // of that of its last vector
)

// mostColumns and mostBeside bound a row of columns, which is a local array, and what is padding at its ends.
const (
	mostColumns = 1 << 10
	mostBeside  = 16
)

// columns are those of windows along the innermost axis.
type columns struct {
	axis, tap te.Axis // of windows, and within one
	stride    int64   // columns from one window to the next
	number    int64
	tall      int64       // how many elements a column has
	from, to  int64       // those that are elements
	others    []te.Within // the conditions on elements of a column
	value     te.Expr
}

// regroups are the combiners that give the same number however values are grouped; of zeros of both signs either may come out.
var regroups = map[string]bool{"max": true, "min": true}

// columns finds the columns of windows; nil where a row of them would not be computed in less.
func (n *Nest) columns(axes []te.Axis) *columns {
	if n.separated || !n.windows || n.lanes == 1 || n.target.WorkItems() || n.Combiner == nil || !match.Reorders[n.Combiner.Name] || len(n.Values) != 1 ||
		len(axes) == 0 || len(n.within) > 0 || len(n.fills) > 0 || n.phase.Var != "" || n.stride > 1 {
		return nil
	}
	c := &columns{axis: axes[len(axes)-1], value: n.Values[0]}
	guarded, isGuarded := n.guardedWindow()
	if isGuarded {
		c.value = guarded.Then
	}
	points, known := c.axis.Extent.Const()
	for _, r := range n.Reduce {
		taps, ok := r.Extent.Const()
		stride, walks := n.walkedBy(c.axis.Var, r.Var)
		if !known || !ok || !walks {
			continue
		}
		c.tap, c.stride, c.number = r, stride, stride*(points-1)+taps
		c.tall = n.tall(r.Var)
		if c.from, c.to = 0, c.number; c.tall > 1 && !regroups[n.Combiner.Name] || !c.bound(guarded.Cond, n) || !c.pays(n, points, taps) {
			return nil
		}
		return c
	}
	return nil
}

// walkedBy reports whether all that the reduction reads lies where an axis and one of the reduction are together, the reduction's by single steps.
func (n *Nest) walkedBy(axis, tap string) (stride int64, ok bool) {
	all := true
	loop.ExprIndices(n.Values[0], func(e sym.Expr) {
		a, ok1 := sym.Coefficient(e, axis, n.Facts)
		t, ok2 := sym.Coefficient(e, tap, n.Facts)
		s, known := a.Const()
		switch {
		case !ok1 || !ok2 || !known:
			all = false
		case s == 0 && t.Is(0):
		case !t.Is(1) || s < 1 || s > loop.MostApart || stride > 0 && s != stride:
			all = false
		default:
			stride = s
		}
	})
	return stride, all && stride > 0
}

// bound finds the columns that are elements; false where only a run knows them.
func (c *columns) bound(cond []te.Within, n *Nest) bool {
	for _, w := range cond {
		if !w.E.Uses(c.tap.Var) {
			c.others = append(c.others, w)
			continue
		}
		first, ok := w.E.Subst(map[string]sym.Expr{c.axis.Var: sym.Const(0), c.tap.Var: sym.Const(0)}, n.Facts).Const()
		lo, ok1 := w.Lo.Const()
		hi, ok2 := w.Hi.Const()
		if !ok || !ok1 || !ok2 {
			return false
		}
		c.from, c.to = max(c.from, lo-first), min(c.to, hi-first)
	}
	return c.from < c.to && c.number <= mostColumns && c.from+c.number-c.to <= mostBeside
}

// pays reports whether a row of columns takes less: loads of lanes that lie apart count twice. Where windows are one element tall, columns are copies of
// elements, with what is padding beside them: windows at the ends, which are computed one by one otherwise, are in vectors then.
func (c *columns) pays(n *Nest, points, taps int64) bool {
	load := min(c.stride, 2)
	if c.tall == 1 {
		ends := (c.from+c.stride-1)/c.stride + (c.number-c.to+c.stride-1)/c.stride
		return points >= n.lanes && ends*taps > 4*((c.to-c.from+n.lanes-1)/n.lanes)+load
	}
	return points >= n.lanes && c.tall*taps*load > c.tall*c.stride+taps*load+1
}

// tall is how many elements a column of windows has, which a reduction axis walks across: at least two where only a run knows.
func (n *Nest) tall(across string) int64 {
	tall := int64(1)
	for _, r := range n.Reduce {
		if k, ok := r.Extent.Const(); ok && r.Var != across {
			tall *= k
		} else if !ok {
			tall *= 2
		}
	}
	return tall
}

// mostLines is how many rows of windows a task computes together, where it need not tell them apart.
const mostLines = 8

// linesTogether lets tasks have several whole rows of windows, of columns that no padding lies above or below of.
func (n *Nest) linesTogether() {
	last := len(n.Axes) - 1
	c := n.columns(n.Axes)
	if c == nil || last < 1 || n.together > 0 || len(c.others) > 0 {
		return
	}
	for k := min(mostLines, mostColumns/c.number); k > 1; k-- {
		if s := n.split(last-1, k); s != nil {
			*n = *s
			n.together = 2
			return
		}
	}
}

// separate computes rows of windows from rows of columns; nil where it had better not. What was stored as vectors of other columns than those that are loaded
// comes late to loads that follow at once: of short rows all columns are computed before all windows.
func (n *Nest) separate(axes []te.Axis) []loop.Stmt {
	c := n.columns(axes)
	if c == nil {
		return nil
	}
	last := len(axes) - 1
	around, rows, at, size := axes[:last], []te.Axis(nil), sym.Const(0), c.number
	if last > 0 {
		if k, known := axes[last-1].Extent.Const(); known && k > 1 && k*c.number <= mostColumns {
			around, rows, at, size = axes[:last-1], axes[last-1:last], sym.Scale(sym.Var(axes[last-1].Var), c.number), k*c.number
		}
	}
	row := n.Local("s0row"+n.tag, n.Values[0].DType(), sym.Const(size))
	var body []loop.Stmt
	for i := range c.number {
		if i < c.from || i >= c.to {
			body = append(body, loop.Store{Buf: row, Index: sym.Add(at, sym.Const(i)), Value: n.Combiner.Init[0]})
		}
	}
	whole := c.to - (c.to-c.from)%n.lanes
	if whole > c.from {
		body = append(body, n.columnRow(columnTag, c, c.from, whole, row, at)...)
	}
	if whole < c.to { // some of the vector before again
		body = append(body, n.columnRow(lastTag, c, max(c.from, c.to-n.lanes), c.to, row, at)...)
	}
	body = append(Loops(rows, body), Loops(rows, n.windowRow(c, row, at))...)
	return Loops(around, append([]loop.Stmt{loop.Alloc{Buf: row}}, body...))
}

// columnRow reduces each of some columns of the row that begins at a place.
func (n *Nest) columnRow(tag string, c *columns, from, to int64, row *loop.Buffer, first sym.Expr) []loop.Stmt {
	s := n.alone()
	s.tag = n.tag + "_" + tag
	column := te.Axis{Var: columnVar + s.tag, Extent: sym.Const(to - from)}
	s.AddRanges([]te.Axis{column})
	at := sym.Add(sym.Var(column.Var), sym.Const(from))
	s.Values = []te.Expr{c.value}
	if len(c.others) > 0 {
		s.Values = []te.Expr{te.Select{Cond: c.others, Then: c.value, Else: n.Combiner.Init[0]}}
	}
	s.Subst(map[string]sym.Expr{c.tap.Var: sym.Sub(at, sym.Scale(sym.Var(c.axis.Var), c.stride))})
	s.Reduce = slices.DeleteFunc(s.Reduce, func(r te.Axis) bool { return r.Var == c.tap.Var })
	s.Out, s.At, s.Results = []*loop.Buffer{row}, layout.Position{Index: sym.Add(first, at)}, []te.Expr{te.Acc{Type: row.Type}}
	if c.tall == 1 { // what there is to reduce is one element
		only := map[string]sym.Expr{}
		for _, r := range s.Reduce {
			only[r.Var] = sym.Const(0)
		}
		s.Subst(only)
		s.Combiner, s.Reduce, s.Values, s.Results = nil, nil, nil, s.Values
	}
	body := s.run([]te.Axis{column})
	n.keep(s, column)
	return body
}

// windowRow reduces the columns of each window of that row.
func (n *Nest) windowRow(c *columns, row *loop.Buffer, first sym.Expr) []loop.Stmt {
	s := n.alone()
	s.Reduce = []te.Axis{c.tap}
	s.Values = []te.Expr{loop.Mem{Buf: row, Index: sym.Add(first, sym.Scale(sym.Var(c.axis.Var), c.stride), sym.Var(c.tap.Var))}}
	body := s.run([]te.Axis{c.axis})
	n.keep(s, c.axis)
	return body
}

// alone is a copy of the nest for a part of its own.
func (n *Nest) alone() *Nest {
	s := *n
	s.parted, s.separated, s.Facts = true, true, maps.Clone(n.Facts)
	s.Values, s.Results, s.Reduce = slices.Clone(n.Values), slices.Clone(n.Results), slices.Clone(n.Reduce)
	return &s
}
