package nest

import (
	"fmt"
	"reflect"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
)

// What neighbouring results read may lie too far apart, or too irregularly, for vectors, as of a Resize by a fraction, and yet be weighted sums of elements that lie
// one below the other. Such a sum is a function of its column alone: a row of sums is computed once, in vectors of neighbouring columns, and results read that.

// sumsTag is that of the nest of a row of sums, as columnTag; those of further ones follow.
const sumsTag = 95

// mostOfRow bounds a row of sums, which is a local array, and mostRowsOfSums how many there are.
const (
	mostOfRow      = 1 << 11
	mostRowsOfSums = 3
)

// sums are the rows of sums that results read.
type sums struct {
	n      *Nest
	moving []te.Axis // by which neighbours differ
	rows   []*rowOfSums
	saved  int64 // nodes of expressions that a point does not compute where it reads rows
}

// rowOfSums is a row of sums of one kind.
type rowOfSums struct {
	sum    te.Expr // of column columnVar
	nodes  int64
	lo, hi int64 // columns
	buf    *loop.Buffer
}

// shared computes the axes from rows of sums; nil where there are none, or they would not pay.
func (n *Nest) shared(axes []te.Axis) []loop.Stmt {
	last := len(axes) - 1
	if n.separated || n.cut || n.lanes == 1 || n.Combiner != nil || n.stride > 1 || last < 0 || len(n.within) > 0 || n.target.WorkItems() || n.onImages() || n.binds() {
		return nil
	}
	s := &sums{n: n, moving: []te.Axis{axes[last]}}
	if n.phase.Var != "" {
		s.moving = append(s.moving, n.phase)
	} else if n.vectorises(axes[last], 1) {
		return nil
	}
	for _, r := range n.Results {
		s.replace(r)
	}
	if !s.pay() {
		return nil
	}
	var body []loop.Stmt
	for k, r := range s.rows {
		r.buf = n.Local(fmt.Sprintf("s%drow%s", k, n.tag), r.sum.DType(), sym.Const(r.hi-r.lo+1))
		row := s.compute(sumsTag+k, r)
		if row == nil {
			return nil
		}
		body = append(append(body, loop.Alloc{Buf: r.buf}), row...)
	}
	rest := n.alone()
	for i, r := range n.Results {
		rest.Results[i] = s.replace(r)
	}
	body = append(body, rest.run(axes[last:])...)
	n.keep(rest, axes[last])
	return Loops(axes[:last], body)
}

// replace is an expression that reads rows of sums where it has sums, and finds these rows.
func (s *sums) replace(e te.Expr) te.Expr {
	x, ok := e.(te.Call)
	if !ok {
		return e
	}
	if column, nodes, ok := s.column(x); ok {
		return s.read(x, column, nodes)
	}
	args := make([]te.Expr, len(x.Args))
	for i, a := range x.Args {
		args[i] = s.replace(a)
	}
	x.Args = args
	return x
}

// column is that of a sum, and how many nodes it has; false where it is no function of its column, or has but one element of it.
func (s *sums) column(sum te.Call) (column sym.Expr, nodes int64, ok bool) {
	loads, same := 0, true
	te.Walk(sum, func(e te.Expr) {
		nodes++
		switch x := e.(type) {
		case loop.Mem:
			at, moves := s.moved(x.Index)
			if !moves {
				return
			}
			if loads++; loads == 1 {
				column = at
			}
			_, below := sym.Sub(at, column).Const()
			same = same && below && x.Buf.Image == nil
		case te.Index:
			same = same && !s.moves(x.E)
		case te.Select:
			for _, w := range x.Cond {
				same = same && !s.moves(w.E) && !s.moves(w.Lo) && !s.moves(w.Hi)
			}
		case te.Let:
			same = false
		}
	})
	return column, nodes, same && loads > 1
}

// moves reports whether an index differs between neighbours.
func (s *sums) moves(e sym.Expr) bool {
	for _, a := range s.moving {
		if e.Uses(a.Var) {
			return true
		}
	}
	return false
}

// moved is what an index has that differs between neighbours, with what is added to it.
func (s *sums) moved(e sym.Expr) (sym.Expr, bool) {
	terms, c := e.Terms()
	sum, moves := sym.Const(c), false
	for _, t := range terms {
		p := sym.Const(t.Coef)
		for _, a := range t.Atoms {
			p = sym.Mul(p, sym.FromAtom(a))
		}
		if s.moves(p) {
			sum, moves = sym.Add(sum, p), true
		}
	}
	return sum, moves
}

// read reads a sum from its row.
func (s *sums) read(sum te.Call, column sym.Expr, nodes int64) te.Expr {
	lo, hi, known := s.reach(column)
	if !known {
		return sum
	}
	general := loop.MapIndices(sum, func(e sym.Expr) sym.Expr {
		if !s.moves(e) {
			return e
		}
		return sym.Add(sym.Sub(e, column), sym.Var(columnVar))
	})
	for _, r := range s.rows {
		if reflect.DeepEqual(r.sum, general) {
			r.lo, r.hi, s.saved = min(r.lo, lo), max(r.hi, hi), s.saved+nodes-1
			return loop.Mem{Buf: r.buf, Index: sym.Sub(column, sym.Const(r.lo))}
		}
	}
	s.rows = append(s.rows, &rowOfSums{sum: general, nodes: nodes, lo: lo, hi: hi})
	s.saved += nodes - 1
	return sum
}

// reach is the first column and the last one; false where the first and the last point do not have these.
func (s *sums) reach(column sym.Expr) (lo, hi int64, known bool) {
	lo, hi = column.Bounds(s.n.Facts)
	first, last := map[string]sym.Expr{}, map[string]sym.Expr{}
	for _, a := range s.moving {
		first[a.Var], last[a.Var] = sym.Const(0), sym.Sub(a.Extent, sym.Const(1))
	}
	return lo, hi, column.Subst(first, s.n.Facts).Is(lo) && column.Subst(last, s.n.Facts).Is(hi)
}

// pay reports whether rows of sums, which have at least a vector of columns each, take less than the sums of each point.
func (s *sums) pay() bool {
	points := int64(1)
	for _, a := range s.moving {
		n, known := a.Extent.Const()
		if !known {
			return false
		}
		points *= n
	}
	spent := int64(0)
	for _, r := range s.rows {
		number := r.hi - r.lo + 1
		if number < s.n.lanes || number > mostOfRow {
			return false
		}
		spent += (number + s.n.lanes - 1) / s.n.lanes * (r.nodes + 1)
	}
	return len(s.rows) > 0 && len(s.rows) <= mostRowsOfSums && spent < points*s.saved
}

// compute are the statements that fill a row; nil where they are no vectors.
func (s *sums) compute(tag int, r *rowOfSums) []loop.Stmt {
	n := s.n.alone()
	n.tag = fmt.Sprintf("%s_%d", s.n.tag, tag)
	column := te.Axis{Var: columnVar + n.tag, Extent: r.buf.Size}
	n.AddRanges([]te.Axis{column})
	at := sym.Add(sym.Var(column.Var), sym.Const(r.lo))
	n.Results = []te.Expr{loop.SubstIndices(r.sum, map[string]sym.Expr{columnVar: at}, n.Facts)}
	n.Out, n.At = []*loop.Buffer{r.buf}, layout.Position{Index: sym.Var(column.Var)}
	n.phase, n.together = te.Axis{}, 0
	if !n.vectorises(column, 1) {
		return nil
	}
	body := n.run([]te.Axis{column})
	s.n.keep(n, column)
	return body
}
