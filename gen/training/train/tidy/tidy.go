// Package tidy makes fewer and longer stages of those that differentiation gives, for the interpreter: what is computed twice is computed
// once, chains of elementwise stages are one stage, factors that a sum's terms share are multiplied with the sum, and sums over
// images and pixels are sums over images first, of whole images.
//
// It changes the order of sums, and so the last bits of results; what it does depends on the stages alone, so that results are the same on every machine.
package tidy

import (
	"slices"

	"rules_dnn/gen/ir/te"
)

// Stages are a list of stages and what is read of it.
type Stages struct {
	Stages  []*te.Stage
	Outputs []te.Source
}

// Run makes the list shorter. All extents are numbers.
func Run(stages []*te.Stage, outputs []te.Source) *Stages {
	l := &list{outputs: slices.Clone(outputs)}
	for _, s := range stages {
		l.add(s)
	}
	for i, o := range l.outputs {
		l.outputs[i] = l.moved(o)
	}
	l.join()
	l.split()
	return &Stages{l.stages, l.outputs}
}

// list is stages that are made one after the other.
type list struct {
	stages  []*te.Stage
	outputs []te.Source
	at      []te.Source          // what each of the old stages is now; those with several results have Part 0 of it
	known   map[string]te.Source // by text
}

// moved is a source of the old list in the new one.
func (l *list) moved(s te.Source) te.Source {
	if !s.Stage {
		return s
	}
	to := l.at[s.N]
	if to.Stage {
		to.Part += s.Part
	}
	return to
}

// add appends an old stage: as others that are simpler, or not at all where it is there already.
func (l *list) add(s *te.Stage) {
	s = s.MapExprs(func(e te.Expr) te.Expr {
		if x, ok := e.(te.Load); ok {
			x.Source = l.moved(x.Source)
			return l.through(x)
		}
		return e
	})
	if from, ok := l.copied(s); ok {
		l.at = append(l.at, from)
		return
	}
	for _, part := range l.factored(s) {
		last := l.once(part)
		if part.last {
			l.at = append(l.at, last)
		}
	}
}

// once appends a stage, or finds it.
func (l *list) once(p part) te.Source {
	w := te.NewWriter()
	w.Stage(p.Stage)
	if l.known == nil {
		l.known = map[string]te.Source{}
	}
	key := w.String()
	if s, ok := l.known[key]; ok {
		return s
	}
	l.stages = append(l.stages, p.Stage)
	s := te.Source{Stage: true, N: len(l.stages) - 1}
	l.known[key] = s
	return s
}

// copied is what a stage is the copy of.
func (l *list) copied(s *te.Stage) (te.Source, bool) {
	if !elementwise(s) {
		return te.Source{}, false
	}
	x, ok := s.Results[0].(te.Load)
	return x.Source, ok && x.Source.Stage && whole(x, s.Axes) && slices.EqualFunc(l.stages[x.Source.N].Axes, s.Axes, func(a, b te.Axis) bool {
		return a.Extent.Equal(b.Extent)
	})
}

// elementwise reports whether a stage is one expression over its axes.
func elementwise(s *te.Stage) bool { return s.Combine == nil && s.Update == nil && len(s.Results) == 1 }

// whole reports whether a load at the axes themselves reads what has their shape: all of it, in order.
func whole(x te.Load, axes []te.Axis) bool {
	if len(x.Guard) > 0 || len(x.Index) != len(axes) {
		return false
	}
	for d, e := range te.AxisVars(axes) {
		if !x.Index[d].Equal(e) {
			return false
		}
	}
	return true
}

// through is a load of a stage that only loads, as that stage's load.
func (l *list) through(x te.Load) te.Expr {
	if !x.Source.Stage || len(x.Guard) > 0 {
		return x
	}
	s := l.stages[x.Source.N]
	if !elementwise(s) {
		return x
	}
	if from, ok := s.Results[0].(te.Load); !ok || len(from.Guard) > 0 {
		return x
	}
	return inlined(s, x)
}
