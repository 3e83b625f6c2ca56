package nest

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/match"
)

// Variables of a reduction whose accumulators are a vector.
const (
	sumVar  = "s0run"  // run of steps
	nextVar = "s0next" // accumulator of several
)

// maxRun is how many values an accumulator takes at most before it is joined: sums of more lose digits.
const maxRun = 256

// laneSums computes the vector of elements along the axis from several vectors of partial accumulators, so that an addition does not
// wait for the one before it, and long sums from those of runs. It is nil where that is not worth it, or another order than that of
// the reduction gives something else.
func (n *Nest) laneSums(a te.Axis) []loop.Stmt {
	if len(n.Values) != 1 || !match.Reorders[n.Combiner.Name] || len(n.trimmed) > 0 || len(n.fills) > 0 || len(n.Reduce) == 0 {
		return nil
	}
	last := len(n.Reduce) - 1
	r := n.Reduce[last]
	extent, known := r.Extent.Const()
	if !known || extent < 4*partials {
		return nil
	}
	steps := extent / partials
	runs := (steps + maxRun - 1) / maxRun
	run := te.Axis{Var: sumVar + n.tag, Extent: sym.Const(runs)}
	step := te.Axis{Var: stepVar + n.tag, Extent: sym.Const(min(steps, maxRun))}
	next := te.Axis{Var: nextVar + n.tag, Extent: sym.Const(partials)}
	n.AddRanges([]te.Axis{run, step, next})
	s := &laneSum{n: n, lane: a}
	s.parts, s.sums = n.Local("part"+n.tag, n.Values[0].DType(), sym.Scale(a.Extent, partials)), n.Local(n.accName(0), n.Values[0].DType(), a.Extent)
	first := sym.Const(0)
	if runs > 1 {
		first = sym.Scale(sym.Var(run.Var), maxRun)
		step.Extent = sym.Min(step.Extent, sym.Sub(sym.Const(steps), first), n.Facts)
	}
	at := sym.Add(sym.Scale(sym.Add(first, sym.Var(step.Var)), partials), sym.Var(next.Var))
	one := s.clear(next)
	one = append(one, Loops([]te.Axis{step, next}, s.join(s.parts, s.slot(next), s.value(r, at)))...)
	one = append(one, s.halve(next)...)
	one = append(one, s.join(s.sums, sym.Var(a.Var), loop.Mem{Buf: s.parts, Index: sym.Var(a.Var)})...)
	row := Loops([]te.Axis{run}, one)
	if rest := extent - steps*partials; rest > 0 {
		next.Extent = sym.Const(rest)
		row = append(row, Loops([]te.Axis{next}, s.join(s.sums, sym.Var(a.Var), s.value(r, sym.Add(sym.Const(steps*partials), sym.Var(next.Var)))))...)
	}
	body := []loop.Stmt{loop.Alloc{Buf: s.parts}, loop.Alloc{Buf: s.sums}}
	body = append(body, s.each(loop.Store{Buf: s.sums, Index: sym.Var(a.Var), Value: n.Combiner.Init[0]})...)
	body = append(body, Loops(n.Reduce[:last], row)...)
	return append(body, s.each(n.Stores(func(int) te.Expr { return loop.Mem{Buf: s.sums, Index: sym.Var(a.Var)} }, n.At)...)...)
}

// laneSum is the nest with its vectors of accumulators: some partial ones, and that of the result.
type laneSum struct {
	n           *Nest
	lane        te.Axis
	parts, sums *loop.Buffer
}

func (s *laneSum) each(body ...loop.Stmt) []loop.Stmt { return Loops([]te.Axis{s.lane}, body) }

// slot is the lane's place in one of the partial accumulators.
func (s *laneSum) slot(next te.Axis) sym.Expr {
	return sym.Add(sym.Mul(sym.Var(next.Var), s.lane.Extent), sym.Var(s.lane.Var))
}

// value is what the reduction takes at a point of its last axis.
func (s *laneSum) value(r te.Axis, at sym.Expr) te.Expr {
	return loop.SubstIndices(s.n.Values[0], map[string]sym.Expr{r.Var: at}, s.n.Facts)
}

// join joins a value into an accumulator, for each lane.
func (s *laneSum) join(to *loop.Buffer, at sym.Expr, v te.Expr) []loop.Stmt {
	body := s.n.joined([]te.Expr{v}, func(int) te.Expr { return loop.Mem{Buf: to, Index: at} })
	return s.each(append(body, loop.Store{Buf: to, Index: at, Value: s.n.newValue(0, v)})...)
}

func (s *laneSum) clear(next te.Axis) []loop.Stmt {
	return Loops([]te.Axis{next}, s.each(loop.Store{Buf: s.parts, Index: s.slot(next), Value: s.n.Combiner.Init[0]}))
}

// halve joins the second half of the partial accumulators into the first, until one is left.
func (s *laneSum) halve(next te.Axis) []loop.Stmt {
	var out []loop.Stmt
	for w := int64(partials / 2); w > 0; w /= 2 {
		next.Extent = sym.Const(w)
		second := loop.Mem{Buf: s.parts, Index: sym.Add(s.slot(next), sym.Scale(s.lane.Extent, w))}
		at := s.slot(next)
		if w == 1 {
			at = sym.Var(s.lane.Var)
			second.Index = sym.Add(at, s.lane.Extent)
			out = append(out, s.join(s.parts, at, second)...)
			continue
		}
		out = append(out, Loops([]te.Axis{next}, s.join(s.parts, at, second))...)
	}
	return out
}
