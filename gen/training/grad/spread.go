package grad

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// spread makes a contraction whose adjoint is read at every s-th place alone, the gradient of a window with strides, one that
// reads all places: of a stage that has zeros between the adjoint's elements. Divisions and their conditions go from the
// contraction, which runs over all taps, to that stage, which runs once over the elements.
func (b *builder) spread(s *te.Stage) *te.Stage {
	if s.Combine == nil || len(s.Values) != 1 {
		return s
	}
	call, ok := s.Values[0].(te.Call)
	if !ok || call.Fn != "mul" {
		return s
	}
	args := append([]te.Expr{}, call.Args...)
	changed := false
	for k, a := range args {
		load, isLoad := a.(te.Load)
		if !isLoad || len(load.Guard) == 0 {
			continue
		}
		if wide, ok := b.spreadLoad(load, loopFacts(s)); ok {
			args[k], changed = wide, true
		}
	}
	if !changed {
		return s
	}
	out := *s
	out.Values = []te.Expr{te.Fn(call.Type, "mul", args...)}
	return &out
}

func loopFacts(s *te.Stage) sym.Facts {
	return facts(append(append([]te.Axis{}, s.Axes...), s.Reduce...))
}

// strided is e = inner // by, with the conditions that inner % by is 0 and that e is in its range.
type strided struct {
	inner sym.Expr
	by    int64
}

// spreadLoad is the load of the stage with zeros, where every division of the load's is one of a stride.
func (b *builder) spreadLoad(l te.Load, f sym.Facts) (te.Load, bool) {
	shape := b.shapeOf(l.Source)
	found := false
	left := append([]te.Within{}, l.Guard...)
	s := &te.Stage{Name: "spread adjoint"}
	from := te.Load{Source: l.Source, Type: l.Type, Default: te.Number(l.Type, 0)}
	to := te.Load{Type: l.Type, Default: l.Default}
	for d, e := range l.Index {
		at := sym.Var(fmt.Sprint("i", d))
		extent := shape[d]
		x, ok := stride(e)
		if ok {
			var conditions int
			left, conditions = without(left, x, e, extent, f)
			if conditions != 2 {
				return l, false
			}
			found = true
			n, _ := extent.Const()
			extent = sym.Const((n-1)*x.by + 1)
			own := sym.Facts{fmt.Sprint("i", d): {Lo: 0, Hi: (n - 1) * x.by}}
			from.Index = append(from.Index, sym.FloorDiv(at, sym.Const(x.by), own))
			from.Guard = append(from.Guard, te.Within{E: sym.Mod(at, sym.Const(x.by), own), Lo: sym.Const(0), Hi: sym.Const(1)})
			to.Index = append(to.Index, x.inner)
			to.Guard = append(to.Guard, te.Within{E: x.inner, Lo: sym.Const(0), Hi: extent})
		} else {
			from.Index, to.Index = append(from.Index, at), append(to.Index, e)
		}
		s.Axes = append(s.Axes, te.Axis{Var: fmt.Sprint("i", d), Extent: extent})
	}
	if !found {
		return l, false
	}
	s.Results = []te.Expr{from}
	to.Source, to.Guard = b.add(s), append(to.Guard, left...)
	return to, true
}

// shapeOf is the shape of what a load of the stages made so far reads.
func (b *builder) shapeOf(s te.Source) ir.Shape {
	if s.Stage {
		return b.out[s.N].Shape()
	}
	return ir.Dims(b.program.Operands[s.N].Shape...)
}

// stride reports whether an index is a sum of loops divided by a number.
func stride(e sym.Expr) (strided, bool) {
	terms, c := e.Terms()
	if c != 0 || len(terms) != 1 || terms[0].Coef != 1 || len(terms[0].Atoms) != 1 || terms[0].Atoms[0].Kind != sym.AtomDiv {
		return strided{}, false
	}
	a := terms[0].Atoms[0]
	by, ok := a.B.Const()
	return strided{a.A, by}, ok
}

// without leaves out the conditions that a spread dimension has by itself, and counts them: what it does not leave out still
// holds, and a dimension of one element has no condition on its place.
func without(ws []te.Within, x strided, e, extent sym.Expr, f sym.Facts) (left []te.Within, conditions int) {
	rest := sym.Mod(x.inner, sym.Const(x.by), f)
	for _, w := range ws {
		switch {
		case w.E.Equal(rest) && w.Lo.Is(0) && w.Hi.Is(1), w.E.Equal(e) && w.Lo.Is(0) && w.Hi.Equal(extent):
			conditions++
		default:
			left = append(left, w)
		}
	}
	if lo, hi := e.Bounds(f); lo >= 0 && sym.AtLeast(sym.Sub(extent, sym.Const(hi+1)), 0, f) {
		conditions++ // it is certain
	}
	return left, conditions
}
