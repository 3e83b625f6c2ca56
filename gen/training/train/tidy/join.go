package tidy

import (
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// inlined is the result of an elementwise stage at the indices of a load.
func inlined(s *te.Stage, x te.Load) te.Expr {
	m := map[string]sym.Expr{}
	for d, a := range s.Axes {
		m[a.Var] = x.Index[d]
	}
	return te.SubstIndices(s.Results[0], m, nil)
}

// join puts elementwise stages that one stage alone reads, at its own points and once, into that stage.
func (l *list) join() {
	single := l.single()
	for i, s := range l.stages {
		if s.Update != nil || s.Combine == nil && len(s.Results) != 1 {
			continue
		}
		loops := append(append([]te.Axis{}, s.Axes...), s.Reduce...)
		l.stages[i] = s.MapExprs(func(e te.Expr) te.Expr {
			x, ok := e.(te.Load)
			if !ok || !x.Source.Stage || !single[x.Source.N] || !points(x, loops) {
				return e
			}
			if s.Combine != nil && product(s.Values[0]) {
				return e // it is a contraction, whose factors are loads
			}
			return inlined(l.stages[x.Source.N], x)
		})
	}
	l.sweep()
}

// single are the stages that are elementwise and read by one stage alone, once; or twice where they have one operation.
func (l *list) single() []bool {
	uses, by := make([]int, len(l.stages)), make([]int, len(l.stages))
	last := slices.Repeat([]int{-1}, len(l.stages))
	for _, o := range l.outputs {
		if o.Stage {
			by[o.N] = 2
		}
	}
	for i, s := range l.stages {
		for _, e := range s.Exprs() {
			te.Walk(e, func(e te.Expr) {
				x, ok := e.(te.Load)
				if !ok || !x.Source.Stage {
					return
				}
				n := x.Source.N
				uses[n]++
				if last[n] != i {
					last[n] = i
					by[n]++
				}
			})
		}
	}
	out := make([]bool, len(l.stages))
	for i, s := range l.stages {
		out[i] = by[i] == 1 && elementwise(s) && !hasLet(s) && (uses[i] == 1 || uses[i] == 2 && calls(s) <= 1)
	}
	return out
}

// calls is how many operations a stage has.
func calls(s *te.Stage) (n int) {
	te.Walk(s.Results[0], func(e te.Expr) {
		if _, ok := e.(te.Call); ok {
			n++
		}
	})
	return n
}

// points reports whether a load reads one element for each point of the loops, some of which may be missing.
func points(x te.Load, loops []te.Axis) bool {
	if len(x.Guard) > 0 {
		return false
	}
	used := map[string]bool{}
	for _, e := range x.Index {
		v, ok := e.AsVar()
		if !ok || used[v] {
			return false
		}
		used[v] = true
	}
	for _, a := range loops {
		if n, _ := a.Extent.Const(); n > 1 && !used[a.Var] {
			return false
		}
	}
	return true
}

func hasLet(s *te.Stage) bool {
	found := false
	te.Walk(s.Results[0], func(e te.Expr) {
		if _, ok := e.(te.Let); ok {
			found = true
		}
	})
	return found
}

// product reports whether an expression multiplies two loads.
func product(e te.Expr) bool {
	call, ok := e.(te.Call)
	if !ok || call.Fn != "mul" {
		return false
	}
	for _, a := range call.Args {
		if _, ok := a.(te.Load); !ok {
			return false
		}
	}
	return true
}

// sweep leaves out what no output needs.
func (l *list) sweep() {
	needed := make([]bool, len(l.stages))
	for _, o := range l.outputs {
		if o.Stage {
			needed[o.N] = true
		}
	}
	for i := len(l.stages) - 1; i >= 0; i-- {
		if !needed[i] {
			continue
		}
		for _, e := range l.stages[i].Exprs() {
			te.Walk(e, func(e te.Expr) {
				if x, ok := e.(te.Load); ok && x.Source.Stage {
					needed[x.Source.N] = true
				}
			})
		}
	}
	at := make([]int, len(l.stages))
	var kept []*te.Stage
	moved := func(s te.Source) te.Source {
		if s.Stage {
			s.N = at[s.N]
		}
		return s
	}
	for i, s := range l.stages {
		if !needed[i] {
			continue
		}
		at[i] = len(kept)
		kept = append(kept, s.MapExprs(func(e te.Expr) te.Expr {
			if x, ok := e.(te.Load); ok {
				x.Source = moved(x.Source)
				return x
			}
			return e
		}))
	}
	for i, o := range l.outputs {
		l.outputs[i] = moved(o)
	}
	l.stages = kept
}
