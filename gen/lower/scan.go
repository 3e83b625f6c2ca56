package lower

import (
	"fmt"

	"rules_dnn/gen/block"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
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

// scanChunk is how many neighbours a task scans at most, side by side.
const scanChunk = 256

// scan is a kernel whose tasks scan along the axis: where elements have no neighbours along another one, in a register, and else many neighbours
// side by side, in vectors.
func (n *nest) scan(b *block.Block, env *Env, axis int) *loop.Kernel {
	u := b.Stage.Update
	k := &loop.Kernel{Anchor: "update", Buffers: append(append([]*loop.Buffer{}, n.in...), n.out...)}
	step := te.Axis{Var: fmt.Sprintf("u%d", axis), Extent: u.Axes[axis].Extent}
	n.addRanges([]te.Axis{step})
	others := append(append([]te.Axis{}, n.axes[:axis]...), n.axes[axis+1:]...)
	at := map[string]sym.Expr{} // of the update's axes
	for i, a := range u.Axes {
		at[a.Var] = sym.Var(n.axes[i].Var)
	}
	at[u.Axes[axis].Var] = sym.Var(step.Var)
	first := u.From[axis].Subst(map[string]sym.Expr{u.Axes[axis].Var: sym.Const(0)}, n.facts)
	n.values = n.flatten(b, []te.Expr{u.Value}, at, env.Layouts)
	s := &scan{n: n, join: u.Join, first: map[string]sym.Expr{n.axes[axis].Var: first}, from: offset(b, u.From, at, n), to: offset(b, u.At, at, n)}
	inner := others
	if axis < len(n.axes)-1 && !others[len(others)-1].Extent.Is(1) {
		k.Grid, inner = others[:len(others)-1], others[len(others)-1:]
		if !sym.AtMost(inner[0].Extent, scanChunk, n.facts) {
			saved := n.axes
			n.axes = inner
			k.Grid, inner = s.chunks(k.Grid, inner)
			n.axes = saved
		}
		k.Body = s.sideBySide(step, inner)
	} else {
		k.Grid = others
		k.Body = s.inRegister(step)
	}
	if a := n.axes[axis]; !sym.AtLeast(a.Extent, 1, n.facts) { // nothing is first
		k.Body = []loop.Stmt{loop.If{Cond: []te.Within{{E: a.Extent, Lo: sym.Const(1), Hi: sym.Add(a.Extent, sym.Const(1))}}, Then: k.Body}}
	}
	k.Syms, k.Facts = symbolsOf(k, env.Symbols), n.facts
	return k
}

// offset is where in the result the element lies that an update names.
func offset(b *block.Block, index []sym.Expr, at map[string]sym.Expr, n *nest) sym.Expr {
	out := make([]sym.Expr, len(index))
	for i, e := range index {
		out[i] = e.Subst(at, n.facts)
	}
	return layout.RowMajor.Offset(b.Stage.Shape(), out, n.facts)
}

// scan is a nest whose result is scanned.
type scan struct {
	n        *nest
	join     te.Expr
	first    map[string]sym.Expr // where the scan begins
	from, to sym.Expr            // offsets of an element and the next one
}

// chunks cuts the neighbours into tasks.
func (s *scan) chunks(grid, inner []te.Axis) (outer, rest []te.Axis) {
	n := s.n
	v := inner[0].Var
	number := te.Axis{Var: chunkVar, Extent: sym.CeilDiv(inner[0].Extent, sym.Const(scanChunk), n.facts)}
	part := te.Axis{Var: partOfAxis, Extent: sym.Const(scanChunk)}
	n.addRanges([]te.Axis{number, part})
	begin := sym.Scale(sym.Var(number.Var), scanChunk)
	m := map[string]sym.Expr{v: sym.Add(begin, sym.Var(part.Var))}
	n.subst(m)
	s.from, s.to = s.from.Subst(m, n.facts), s.to.Subst(m, n.facts)
	if c, known := inner[0].Extent.Const(); !known || c%scanChunk != 0 {
		part.Extent = sym.Min(part.Extent, sym.Sub(inner[0].Extent, begin), n.facts)
	}
	return append(append([]te.Axis{}, grid...), number), []te.Axis{part}
}

// begin stores the first element, and gives what it is.
func (s *scan) begin() (hoisted []loop.Stmt, at sym.Expr, v te.Expr) {
	n := s.n
	hoisted, v = loop.HoistLets(substMem(n.results[0], s.first, n.facts))
	return hoisted, n.at.Subst(s.first, n.facts).Index, v
}

// next is an element, of what the one before is.
func (s *scan) next(before te.Expr) (hoisted []loop.Stmt, v te.Expr) {
	hoisted, value := loop.HoistLets(s.n.values[0])
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

// inRegister scans one row.
func (s *scan) inRegister(step te.Axis) []loop.Stmt {
	n := s.n
	acc := loop.Ref{Name: n.accName(0), Type: n.out[0].Type}
	body, at, v := s.begin()
	body = append(body, loop.Def{Name: acc.Name, Init: v}, loop.Store{Buf: n.out[0], Index: at, Value: acc})
	one, v := s.next(acc)
	one = append(one, loop.Set{Name: acc.Name, Value: v}, loop.Store{Buf: n.out[0], Index: s.to, Value: acc})
	return append(body, loops([]te.Axis{step}, one)...)
}

// sideBySide scans neighbours together.
func (s *scan) sideBySide(step te.Axis, lanes []te.Axis) []loop.Stmt {
	n := s.n
	body, at, v := s.begin()
	body = loops(lanes, append(body, loop.Store{Buf: n.out[0], Index: at, Value: v}))
	one, v := s.next(loop.Mem{Buf: n.out[0], Index: s.from})
	one = append(one, loop.Store{Buf: n.out[0], Index: s.to, Value: v})
	return append(body, loops([]te.Axis{step}, loops(lanes, one))...)
}
