// Package grad differentiates stages of tensor expressions in reverse mode.
//
// For each stage it makes the stages that compute the gradients of what it reads. Nothing here
// knows an operator: everything follows from the expressions. The adjoint of an expression is the
// adjoint of its value times the slopes of its functions (package scalar); a reduction's adjoint is
// broadcast over its axes; and a load's adjoint is summed over all points that load one element,
// which is the inverse of the load's index map (preimage.go). A map that has none of the forms that
// are inverted is followed as it is: an update adds each point's adjoint to its element (scatter.go).
package grad

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// Program is stages that read operands and each other, of shapes that are known.
type Program struct {
	Stages   []*te.Stage
	Operands []Operand
}

// Operand is the type and shape of an operand.
type Operand struct {
	Type  ir.DType
	Shape []int64
}

// Seed says where the gradient of the loss by a source is to be read.
type Seed struct{ Of, Gradient te.Source }

// Gradients are a program's stages, followed by those of its gradients.
type Gradients struct {
	Stages []*te.Stage
	// Of are the gradients by the sources that were asked for; those that the seeds do not depend on are absent.
	Of map[te.Source]te.Source
	// At is where the program's stages are now.
	At []int
}

// Error is a stage that has no gradient.
type Error struct {
	Stage  int // of the program
	Reason string
}

func (e *Error) Error() string { return e.Reason }

// Differentiate gives the gradients by sources, operands or stages, of the sum of the seeds' sources times the seeds'
// gradients.
func Differentiate(p *Program, seeds []Seed, by []te.Source) (*Gradients, error) {
	b, err := newBuilder(p, by)
	if err != nil {
		return nil, err
	}
	for _, s := range seeds {
		if of := b.moved(s.Of); b.active[of] {
			b.adjoints[of] = append(b.adjoints[of], b.moved(s.Gradient))
		}
	}
	for i := len(b.stages) - 1; i >= 0; i-- {
		if err := b.stage(i); err != nil {
			return nil, err
		}
	}
	out := &Gradients{Of: map[te.Source]te.Source{}, At: b.at}
	for _, s := range by {
		g, ok, err := b.adjoint(b.moved(s))
		if err != nil {
			return nil, err
		}
		if ok {
			out.Of[s] = g
		}
	}
	out.Stages = b.out
	return out, nil
}

// builder is a differentiation.
type builder struct {
	program  *Program
	stages   []*te.Stage // the program's, those split whose results are no accumulators
	origin   []int       // which of the program's stages each stands for
	at       []int       // the last of each of the program's stages
	out      []*te.Stage // stages, and the gradients'
	active   map[te.Source]bool
	adjoints map[te.Source][]te.Source // their summands
}

func newBuilder(p *Program, by []te.Source) (*builder, error) {
	b := &builder{program: p, active: map[te.Source]bool{}, adjoints: map[te.Source][]te.Source{}}
	for i, s := range p.Stages {
		if _, ok := s.Shape().Static(); !ok {
			return nil, &Error{i, fmt.Sprintf("the shape %v of stage %q is not known", s.Shape(), s.Name)}
		}
		s = s.MapExprs(func(e te.Expr) te.Expr {
			if l, ok := e.(te.Load); ok {
				l.Source = b.moved(l.Source)
				return l
			}
			return e
		})
		for _, part := range split(s, len(b.stages)) {
			b.stages, b.origin = append(b.stages, part), append(b.origin, i)
		}
		b.at = append(b.at, len(b.stages)-1)
	}
	b.out = slices.Clone(b.stages)
	for _, s := range by {
		b.active[b.moved(s)] = true
	}
	for i, s := range b.stages {
		b.activate(i, s)
	}
	return b, nil
}

// moved is a source of the program among the stages after splitting.
func (b *builder) moved(s te.Source) te.Source {
	if s.Stage {
		s.N = b.at[s.N]
	}
	return s
}

// activate marks a stage's results of floats where it reads active sources.
func (b *builder) activate(i int, s *te.Stage) {
	reads := false
	for _, e := range s.Exprs() {
		reads = reads || b.reads(e)
	}
	for k, e := range s.Results {
		if reads && e.DType().IsFloat() {
			b.active[te.Source{Stage: true, N: i, Part: k}] = true
		}
	}
}

// reads reports whether an expression loads what is active.
func (b *builder) reads(e te.Expr) bool {
	found := false
	te.Walk(e, func(n te.Expr) {
		if l, ok := n.(te.Load); ok && b.active[l.Source] {
			found = true
		}
	})
	return found
}

// split makes two stages of a reduction whose results are not its accumulators, where their slopes depend on these: the
// first keeps the accumulators, which the second one reads.
func split(s *te.Stage, at int) []*te.Stage {
	if s.Combine == nil || plain(s) || s.Update == nil && linear(s) {
		return []*te.Stage{s}
	}
	first := *s
	first.Update, first.Results = nil, nil
	for k, v := range s.Values {
		first.Results = append(first.Results, te.Acc{N: k, Type: v.DType()})
	}
	second := &te.Stage{Name: s.Name, Axes: s.Axes, Update: s.Update}
	for _, e := range s.Results {
		second.Results = append(second.Results, te.Map(e, func(n te.Expr) te.Expr {
			if a, ok := n.(te.Acc); ok {
				return te.Load{Source: te.Source{Stage: true, N: at, Part: a.N}, Type: a.Type, Index: te.AxisVars(s.Axes)}
			}
			return n
		}))
	}
	return []*te.Stage{&first, second}
}

// plain reports whether the results are the accumulators.
func plain(s *te.Stage) bool {
	if len(s.Results) != len(s.Values) {
		return false
	}
	for k, e := range s.Results {
		if a, ok := e.(te.Acc); !ok || a.N != k {
			return false
		}
	}
	return true
}

// linear reports whether a sum's results have slopes that no accumulator is in.
func linear(s *te.Stage) bool {
	for k := range s.Values {
		if kind, _ := joinOf(s.Combine, k); kind != "add" {
			return false
		}
	}
	ok := true
	r := &reverser{
		load: func(_ te.Load, adj te.Expr) { ok = ok && !hasAcc(adj) },
		acc:  func(_ int, adj te.Expr) { ok = ok && !hasAcc(adj) },
	}
	for _, e := range s.Results {
		if r.run(e, te.Number(e.DType(), 1)) != nil {
			return false
		}
	}
	return ok
}

func hasAcc(e te.Expr) bool {
	found := false
	te.Walk(e, func(n te.Expr) {
		if _, ok := n.(te.Acc); ok {
			found = true
		}
	})
	return found
}

// fail is an error at a stage.
func (b *builder) fail(i int, format string, args ...any) error {
	return &Error{b.origin[i], fmt.Sprintf("stage %q has no gradient: ", b.stages[i].Name) + fmt.Sprintf(format, args...)}
}

// add appends a stage and gives its result.
func (b *builder) add(s *te.Stage) te.Source {
	b.out = append(b.out, s)
	return te.Source{Stage: true, N: len(b.out) - 1}
}

// adjoint is the sum of what was found of a source's gradient, and whether there is one.
func (b *builder) adjoint(s te.Source) (te.Source, bool, error) {
	parts := b.adjoints[s]
	if len(parts) < 2 {
		return first(parts), len(parts) == 1, nil
	}
	axes, t, err := b.axesOf(s)
	if err != nil {
		return te.Source{}, false, err
	}
	at := te.AxisVars(axes)
	sum := te.Expr(te.Load{Source: parts[0], Type: t, Index: at})
	for _, p := range parts[1:] {
		sum = te.Fn(t, "add", sum, te.Load{Source: p, Type: t, Index: at})
	}
	g := b.add(&te.Stage{Name: "gradient", Axes: axes, Results: []te.Expr{sum}})
	b.adjoints[s] = []te.Source{g}
	return g, true, nil
}

func first(parts []te.Source) te.Source {
	if len(parts) == 0 {
		return te.Source{}
	}
	return parts[0]
}

// axesOf are axes for a source's elements, and its type.
func (b *builder) axesOf(s te.Source) ([]te.Axis, ir.DType, error) {
	var shape []int64
	var t ir.DType
	if s.Stage {
		shape, _ = b.stages[s.N].Shape().Static()
		t = b.stages[s.N].Results[s.Part].DType()
	} else {
		if s.N < 0 || s.N >= len(b.program.Operands) {
			return nil, t, fmt.Errorf("operand %d does not exist", s.N)
		}
		shape, t = b.program.Operands[s.N].Shape, b.program.Operands[s.N].Type
	}
	return axes("i", shape), t, nil
}
