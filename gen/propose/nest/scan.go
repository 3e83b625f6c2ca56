package nest

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/vars"
)

// scanned finds the axis along which an update makes each element of the one before it, and of an operand's: all elements are computed so but the
// first ones, and those of other places along the other axes do not meet.
func scanned(s *te.Stage, f sym.Facts) (axis int, ok bool) {
	u := s.Update
	if u.From == nil || len(u.Binds) > 0 || len(u.Axes) != len(s.Axes) {
		return 0, false
	}
	axis = -1
	for i, a := range u.Axes {
		v := sym.Var(a.Var)
		if u.At[i].Equal(v) && u.From[i].Equal(v) && a.Extent.Equal(s.Axes[i].Extent) {
			continue
		}
		steps := sym.Sub(s.Axes[i].Extent, sym.Const(1))
		c, linear := sym.Coefficient(u.From[i], a.Var, f)
		next := u.From[i].Subst(map[string]sym.Expr{a.Var: sym.Add(v, sym.Const(1))}, f)
		if axis >= 0 || !linear || !c.Is(1) && !c.Is(-1) || !next.Equal(u.At[i]) || !a.Extent.Equal(sym.Max(steps, sym.Const(0), f)) {
			return 0, false
		}
		axis = i
	}
	return axis, axis >= 0
}

// A row of neighbours up to scanRow long is scanned as a whole, where there are rows for all threads: one stream through memory, of which what was
// stored last is still in the nearest cache. Others are cut: each part has scanChunk of them at most.
const (
	scanRow   = 2048
	scanChunk = 256
)

// scanRows is how many rows are scanned in registers at once, where there are rows for all threads: each sum waits for the one before it.
const scanRows = 4

// scan is a kernel whose tasks scan along the axis: where elements have no neighbours along another one, in a register, and else many neighbours
// side by side, in vectors.
func (n *Nest) scan(b *block.Block, env *lower.Env, axis int) *loop.Kernel {
	u := b.Stage.Update
	k := &loop.Kernel{Anchor: UpdateAnchor, Buffers: append(append([]*loop.Buffer{}, n.In...), n.Out...)}
	step := te.Axis{Var: fmt.Sprintf("u%d", axis), Extent: u.Axes[axis].Extent}
	n.AddRanges([]te.Axis{step})
	at := map[string]sym.Expr{} // of the update's axes
	for i, a := range u.Axes {
		at[a.Var] = sym.Var(n.Axes[i].Var)
	}
	at[u.Axes[axis].Var] = sym.Var(step.Var)
	first := u.From[axis].Subst(map[string]sym.Expr{u.Axes[axis].Var: sym.Const(0)}, n.Facts)
	n.Values = n.Flatten(b, []te.Expr{u.Value}, at, env.Layouts)
	back := sym.Step(u.From[axis], u.Axes[axis].Var, n.Facts)
	s := &scan{n: n, join: u.Join, first: map[string]sym.Expr{n.Axes[axis].Var: first}, back: back.Is(-1), from: offset(b, u.From, at, n), to: offset(b, u.At, at, n)}
	long := n.Axes[axis].Extent
	grid, row := s.around(axis)
	if row == nil {
		k.Grid, k.Body = s.inRegister(grid, step)
	} else {
		k.Grid, k.Body = s.sideBySide(grid, step, *row)
	}
	if !sym.AtLeast(long, 1, n.Facts) { // nothing is first
		k.Body = []loop.Stmt{loop.If{Cond: []te.Within{{E: long, Lo: sym.Const(1), Hi: sym.Add(long, sym.Const(1))}}, Then: k.Body}}
	}
	k.Syms, k.Facts = SymbolsOf(k, env.Symbols), n.Facts
	return k
}

// around are the axes besides the scanned one: those of rows that are neighbours, joined as far as every access walks them as one, and, within the
// scanned axis, the row; nil where nothing lies within it, or each element of the row has a work-item.
func (s *scan) around(axis int) (grid []te.Axis, row *te.Axis) {
	n := s.n
	outer, inner := s.joined(n.Axes[:axis]), s.joined(n.Axes[axis+1:])
	if n.target.WorkItems() || len(inner) == 0 || inner[len(inner)-1].Extent.Is(1) {
		return append(outer, inner...), nil
	}
	last := len(inner) - 1
	return append(outer, inner[:last]...), &inner[last]
}

// joined are the axes, joined.
func (s *scan) joined(axes []te.Axis) []te.Axis {
	n := s.n
	for i := len(axes) - 2; i >= 0; i-- {
		if n.CanCollapse(axes[i], axes[i+1]) { // and so do the offsets in the result
			none := map[string]sym.Expr{axes[i].Var: sym.Const(0)}
			s.from, s.to = s.from.Subst(none, n.Facts), s.to.Subst(none, n.Facts)
			axes = n.collapsed(axes, i)
		}
	}
	return slices.Clone(axes)
}

// offset is where in the result the element lies that an update names.
func offset(b *block.Block, index []sym.Expr, at map[string]sym.Expr, n *Nest) sym.Expr {
	out := make([]sym.Expr, len(index))
	for i, e := range index {
		out[i] = e.Subst(at, n.Facts)
	}
	return layout.RowMajor.Offset(b.Stage.Shape(), out, n.Facts)
}

// scan is a nest whose result is scanned.
type scan struct {
	n        *Nest
	join     te.Expr
	first    map[string]sym.Expr // where the scan begins
	back     bool                // it ends at element 0
	from, to sym.Expr            // offsets of an element and the next one
}

// subst is the scan with expressions in place of variables.
func (s *scan) subst(m map[string]sym.Expr) *scan {
	n := *s.n
	n.Values, n.Results = slices.Clone(n.Values), slices.Clone(n.Results)
	n.Subst(m)
	t := *s
	t.n, t.from, t.to = &n, s.from.Subst(m, n.Facts), s.to.Subst(m, n.Facts)
	return &t
}

// cut is the scan in parts of an axis, and both axes: the parts, and what lies in one.
func (s *scan) cut(a te.Axis, length int64) (t *scan, number, part te.Axis) {
	n := s.n
	number = te.Axis{Var: vars.Chunk, Extent: sym.CeilDiv(a.Extent, sym.Const(length), n.Facts)}
	part = te.Axis{Var: vars.Part, Extent: sym.Const(length)}
	n.AddRanges([]te.Axis{number, part})
	begin := sym.Scale(sym.Var(number.Var), length)
	if c, known := a.Extent.Const(); !known || c%length != 0 {
		part.Extent = sym.Min(part.Extent, sym.Sub(a.Extent, begin), n.Facts)
	}
	return s.subst(map[string]sym.Expr{a.Var: sym.Add(begin, sym.Var(part.Var))}), number, part
}

// begin stores the first element, and gives what it is.
func (s *scan) begin() (hoisted []loop.Stmt, at sym.Expr, v te.Expr) {
	n := s.n
	hoisted, v = loop.HoistLets(loop.SubstIndices(n.Results[0], s.first, n.Facts))
	return hoisted, n.At.Subst(s.first, n.Facts).Index, v
}

// next is an element, of what the one before is.
func (s *scan) next(before te.Expr) (hoisted []loop.Stmt, v te.Expr) {
	hoisted, value := loop.HoistLets(s.n.Values[0])
	return hoisted, te.Map(s.join, func(e te.Expr) te.Expr {
		switch e.(type) {
		case te.Acc:
			return before
		case te.In:
			return value
		}
		return e
	})
}

// sideBySide scans neighbours of a row together.
func (s *scan) sideBySide(grid []te.Axis, step, row te.Axis) ([]te.Axis, []loop.Stmt) {
	f, rows := s.n.Facts, sym.Const(1)
	for _, a := range grid {
		rows = sym.Mul(rows, a.Extent)
	}
	whole := sym.AtMost(row.Extent, scanRow, f) && sym.AtLeast(rows, micro.FewTasks, f)
	if !whole && !sym.AtMost(row.Extent, scanChunk, f) {
		var number te.Axis
		s, number, row = s.cut(row, scanChunk)
		grid = append(grid, number)
	}
	over := s.ascending
	if whole && s.back {
		over = s.descending
	}
	body := over(row, func(s *scan) []loop.Stmt {
		one, at, v := s.begin()
		return append(one, loop.Store{Buf: s.n.Out[0], Index: at, Value: v})
	})
	return grid, append(body, Loops([]te.Axis{step}, over(row, func(s *scan) []loop.Stmt {
		one, v := s.next(loop.Mem{Buf: s.n.Out[0], Index: s.from})
		return append(one, loop.Store{Buf: s.n.Out[0], Index: s.to, Value: v})
	}))...)
}

// ascending is what is to be done for each element of a row, in their order.
func (s *scan) ascending(row te.Axis, one func(*scan) []loop.Stmt) []loop.Stmt {
	return Loops([]te.Axis{row}, one(s))
}

// descending is ascending in vectors, the last one first: where the row before is next, memory is walked as one stream, down.
func (s *scan) descending(row te.Axis, one func(*scan) []loop.Stmt) []loop.Stmt {
	n := s.n
	extent, known := row.Extent.Const()
	if !known || n.lanes == 1 || extent < 2*n.lanes {
		return s.ascending(row, one)
	}
	number, lane := te.Axis{Var: vars.Chunk, Extent: sym.Const(extent / n.lanes)}, te.Axis{Var: vars.Part, Extent: sym.Const(n.lanes)}
	n.AddRanges([]te.Axis{number, lane})
	at := sym.Add(sym.Sub(sym.Const(extent-n.lanes), sym.Scale(sym.Var(number.Var), n.lanes)), sym.Var(lane.Var))
	body := Loops([]te.Axis{number, lane}, one(s.subst(map[string]sym.Expr{row.Var: at})))
	switch rest := extent % n.lanes; rest {
	case 0:
		return body
	case 1: // without a loop, whose variable would be in scope in all that follows
		return append(body, one(s.subst(map[string]sym.Expr{row.Var: sym.Const(0)}))...)
	default:
		return append(body, s.ascending(te.Axis{Var: row.Var, Extent: sym.Const(rest)}, one)...)
	}
}

// inRegister scans rows whose elements lie beside each other along the scan.
func (s *scan) inRegister(grid []te.Axis, step te.Axis) ([]te.Axis, []loop.Stmt) {
	last := len(grid) - 1
	binds, _ := s.next(te.Number(s.n.Out[0].Type, 0))
	if last < 0 || len(binds) > 0 || s.n.target.WorkItems() || !sym.AtLeast(grid[last].Extent, scanRows*micro.FewTasks, s.n.Facts) {
		return grid, registers([]*scan{s}, step)
	}
	t, number, part := s.cut(grid[last], scanRows)
	each := make([]*scan, scanRows)
	for i := range each {
		each[i] = t.subst(map[string]sym.Expr{part.Var: sym.Const(int64(i))})
	}
	body, grid := registers(each, step), append(grid[:last:last], number)
	if part.Extent.Is(scanRows) {
		return grid, body
	}
	some := []te.Within{{E: part.Extent, Lo: sym.Const(scanRows), Hi: sym.Const(scanRows + 1)}}
	return grid, []loop.Stmt{loop.If{Cond: some, Then: body, Else: Loops([]te.Axis{part}, registers([]*scan{t}, step))}}
}

// registers scans rows, each in a register.
func registers(rows []*scan, step te.Axis) []loop.Stmt {
	var body, one, store []loop.Stmt
	for i, s := range rows {
		acc := loop.Ref{Name: s.n.accName(i), Type: s.n.Out[0].Type}
		first, at, v := s.begin()
		body = append(append(body, first...), loop.Def{Name: acc.Name, Init: v}, loop.Store{Buf: s.n.Out[0], Index: at, Value: acc})
		next, v := s.next(acc)
		one = append(append(one, next...), loop.Set{Name: acc.Name, Value: v})
		store = append(store, loop.Store{Buf: s.n.Out[0], Index: s.to, Value: acc})
	}
	return append(body, Loops([]te.Axis{step}, append(one, store...))...)
}
