package tidy

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// part is a stage of those that an old one becomes; the last one stands for it.
type part struct {
	*te.Stage
	last bool
}

// factored is a stage, or a sum of what is left of its terms and a stage that multiplies it with what all terms share.
func (l *list) factored(s *te.Stage) []part {
	if !sums(s) {
		return []part{{s, true}}
	}
	f := &factors{reduce: map[string]bool{}}
	for _, a := range s.Reduce {
		f.reduce[a.Var] = true
	}
	rest := f.out(s.Values[0])
	t := rest.DType()
	if _, direct := s.Results[0].(te.Acc); direct && len(f.wraps) == 0 {
		return []part{{s, true}}
	}
	sum := &te.Stage{Name: s.Name, Axes: s.Axes, Reduce: s.Reduce, Combine: s.Combine, Values: []te.Expr{rest}, Results: []te.Expr{te.Acc{Type: t}}}
	var e te.Expr
	var parts []part
	if l.deviations(sum) {
		e = te.Number(t, 0)
	} else {
		from := l.once(part{Stage: sum})
		e = te.Load{Source: from, Type: t, Index: te.AxisVars(s.Axes)}
	}
	for i := len(f.wraps) - 1; i >= 0; i-- {
		e = f.wraps[i](e)
	}
	result := te.Map(s.Results[0], func(x te.Expr) te.Expr {
		if _, ok := x.(te.Acc); ok {
			return e
		}
		return x
	})
	return append(parts, part{&te.Stage{Name: s.Name, Axes: s.Axes, Results: []te.Expr{result}}, true})
}

// sums reports whether a stage adds up f32 over loops that have points, from 0 on, and is no product of two factors.
func sums(s *te.Stage) bool {
	if s.Combine == nil || s.Update != nil || len(s.Values) != 1 || len(s.Results) != 1 || product(s.Values[0]) || s.Values[0].DType() != ir.F32 {
		return false
	}
	for _, a := range append(append([]te.Axis{}, s.Axes...), s.Reduce...) {
		if n, ok := a.Extent.Const(); !ok || n < 1 {
			return false
		}
	}
	t := ir.F32
	join, ok := s.Combine.Join[0].(te.Call)
	return ok && join.Fn == "add" && join.Args[0] == te.Expr(te.Acc{Type: t}) && join.Args[1] == te.Expr(te.In{Type: t}) &&
		s.Combine.Init[0] == te.Number(t, 0)
}

// factors takes what does not change along a reduction out of its terms.
type factors struct {
	reduce map[string]bool
	wraps  []func(te.Expr) te.Expr // of the sum, from the outermost
}

func (f *factors) wrap(w func(te.Expr) te.Expr) { f.wraps = append(f.wraps, w) }

// out is what is left of a term.
func (f *factors) out(e te.Expr) te.Expr {
	x, ok := e.(te.Call)
	if !ok || x.Type != ir.F32 {
		return e
	}
	switch {
	case x.Fn == "neg":
		f.wrap(func(e te.Expr) te.Expr { return te.Fn(x.Type, "neg", e) })
		return f.out(x.Args[0])
	case x.Fn == "add" && te.Text(x.Args[0]) == te.Text(x.Args[1]):
		f.wrap(func(e te.Expr) te.Expr { return te.Fn(x.Type, "mul", e, te.Number(x.Type, 2)) })
		return f.out(x.Args[0])
	case x.Fn == "div" && f.steady(x.Args[1]):
		f.wrap(func(e te.Expr) te.Expr { return te.Fn(x.Type, "div", e, x.Args[1]) })
		return f.out(x.Args[0])
	case x.Fn == "mul" && f.steady(x.Args[1]):
		f.wrap(func(e te.Expr) te.Expr { return te.Fn(x.Type, "mul", e, x.Args[1]) })
		return f.out(x.Args[0])
	case x.Fn == "mul" && f.steady(x.Args[0]):
		f.wrap(func(e te.Expr) te.Expr { return te.Fn(x.Type, "mul", x.Args[0], e) })
		return f.out(x.Args[1])
	}
	return e
}

// steady reports whether an expression is the same for all points of the reduction.
func (f *factors) steady(e te.Expr) bool {
	same := true
	used := map[string]bool{}
	te.Walk(e, func(e te.Expr) {
		switch x := e.(type) {
		case te.Load:
			for _, i := range x.Index {
				i.Vars(used)
			}
			for _, g := range x.Guard {
				g.E.Vars(used)
				g.Lo.Vars(used)
				g.Hi.Vars(used)
			}
		case te.Const, te.Call:
		default:
			same = false
		}
	})
	for v := range used {
		same = same && !f.reduce[v]
	}
	return same
}

// deviations reports whether a sum is one of distances from the mean of what it sums, which is 0.
func (l *list) deviations(s *te.Stage) bool {
	x, ok := s.Values[0].(te.Call)
	if !ok || x.Fn != "sub" {
		return false
	}
	mean, ok := x.Args[1].(te.Load)
	if !ok || !mean.Source.Stage || !whole(mean, s.Axes) {
		return false
	}
	by := l.stages[mean.Source.N]
	if !elementwise(by) {
		return false
	}
	div, ok := by.Results[0].(te.Call)
	if !ok || div.Fn != "div" {
		return false
	}
	sum, ok := div.Args[0].(te.Load)
	points := int64(1)
	for _, a := range s.Reduce {
		n, _ := a.Extent.Const()
		points *= n
	}
	if !ok || !sum.Source.Stage || !whole(sum, by.Axes) || div.Args[1] != te.Expr(te.Number(ir.F32, float64(points))) {
		return false
	}
	of := *s
	of.Values = x.Args[:1]
	return text(&of) == text(l.stages[sum.Source.N])
}

func text(s *te.Stage) string {
	w := te.NewWriter()
	w.Stage(s)
	return w.String()
}

// partial is how many sums a stage has at least, and how many terms each of the second stage's has at most for one of the
// first's, for a sum to be two.
const partial = 64

// split makes two sums of one over several loops: over the outermost one for each point of the others, whose terms are side by side, and
// then over these.
func (l *list) split() {
	at := make([]int, len(l.stages))
	var out []*te.Stage
	for i, s := range l.stages {
		s = s.MapExprs(func(e te.Expr) te.Expr {
			if x, ok := e.(te.Load); ok && x.Source.Stage {
				x.Source.N = at[x.Source.N]
				return x
			}
			return e
		})
		if first, second := halves(s, len(out)); first != nil {
			out, s = append(out, first), second
		}
		at[i] = len(out)
		out = append(out, s)
	}
	for i, o := range l.outputs {
		if o.Stage {
			l.outputs[i].N = at[o.N]
		}
	}
	l.stages = out
}

// halves are the two stages, or nil. at is where the first one will be.
func halves(s *te.Stage, at int) (first, second *te.Stage) {
	if !sums(s) || len(s.Reduce) < 2 {
		return nil, nil
	}
	outer, _ := s.Reduce[0].Extent.Const()
	inner := int64(1)
	for _, a := range s.Reduce[1:] {
		n, _ := a.Extent.Const()
		inner *= n
	}
	if outer < 8 || inner < partial {
		return nil, nil
	}
	a := *s
	a.Axes, a.Reduce = append(append([]te.Axis{}, s.Axes...), s.Reduce[1:]...), s.Reduce[:1]
	a.Results = []te.Expr{te.Acc{Type: ir.F32}}
	b := *s
	b.Reduce = nil
	var index []te.Axis
	for i, x := range s.Reduce[1:] {
		b.Reduce = append(b.Reduce, te.Axis{Var: fmt.Sprint("part", i), Extent: x.Extent})
	}
	index = append(append(index, s.Axes...), b.Reduce...)
	b.Values = []te.Expr{te.Load{Source: te.Source{Stage: true, N: at}, Type: ir.F32, Index: te.AxisVars(index)}}
	return &a, &b
}
