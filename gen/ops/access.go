package ops

import (
	"fmt"
	"maps"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// access is one way in which a result reads an operand: indices over the result's
// axes, through all stages between.
type access struct {
	operand int
	index   []sym.Expr
	axes    []te.Axis // of the result
	// reduced and loaded are the variables of reductions and of loaded indices.
	reduced, loaded map[string]bool
	facts           sym.Facts
}

// tracer follows a result's loads down to the operands.
type tracer struct {
	m               *Meaning
	axes            []te.Axis
	reduced, loaded map[string]bool
	facts           sym.Facts
	numbers         map[string]int // in the names of these variables
	visited         map[visit]bool
	out             []access
}

// visit is a result of a stage at a point of its axes, as text. What a stage reads there is the same whoever asks for it: of stages that each read two
// before them there are as many ways as there are points, and not twice as many with each.
type visit struct {
	stage, part int
	at          string
}

// accesses are how a result reads the operands. A result that is an operand reads it
// as it is.
func accesses(m *Meaning, src te.Source) []access {
	if !src.Stage {
		return []access{{operand: src.N}}
	}
	s := m.Stages[src.N]
	t := &tracer{m: m, axes: s.Axes, reduced: map[string]bool{}, loaded: map[string]bool{}, facts: sym.Facts{}, numbers: map[string]int{}, visited: map[visit]bool{}}
	at := map[string]sym.Expr{}
	for _, a := range s.Axes {
		at[a.Var] = t.loop(a, a.Var)
	}
	t.stage(s, src.Part, at)
	return t.out
}

// loop is the variable of a loop under a name, or 0 where it has one iteration.
func (t *tracer) loop(a te.Axis, name string) sym.Expr {
	if a.Extent.Is(1) {
		return sym.Const(0)
	}
	_, hi := a.Extent.Bounds(t.facts)
	t.facts[name] = sym.Range{Lo: 0, Hi: max(0, hi-1)}
	return sym.Var(name)
}

// reduce gives axes of a sum at a point variables of their own. They are called alike wherever the point is, so that points within sums of many stages
// are few; ranges are a part of names.
func (t *tracer) reduce(axes []te.Axis, at map[string]sym.Expr) map[string]sym.Expr {
	inner := maps.Clone(at)
	n := t.unused(at)
	for _, a := range axes {
		_, hi := a.Extent.Bounds(t.facts)
		name := fmt.Sprintf("%s.%d.%d", a.Var, n, hi)
		t.reduced[name], t.numbers[name] = true, n
		inner[a.Var] = t.loop(a, name)
	}
	return inner
}

// unused is the least number that is in the name of no variable of the tracer's at a point.
func (t *tracer) unused(at map[string]sym.Expr) int {
	used := map[int]bool{}
	vars := map[string]bool{}
	for _, e := range at {
		e.Vars(vars)
	}
	for v := range vars {
		used[t.numbers[v]] = true
	}
	n := 1
	for used[n] {
		n++
	}
	return n
}

// stage follows part of a stage at the point `at` of its axes.
func (t *tracer) stage(s *te.Stage, part int, at map[string]sym.Expr) {
	t.expr(s.Results[part], at)
	t.update(s.Update, at)
	if s.Combine == nil || !usesAcc(s.Results[part]) {
		return
	}
	inner := t.reduce(s.Reduce, at)
	for _, v := range s.Values {
		t.expr(v, inner)
	}
}

// update follows what is stored into a stage's result: any element may come from any.
func (t *tracer) update(u *te.Update, at map[string]sym.Expr) {
	if u == nil {
		return
	}
	inner := t.reduce(u.Axes, at)
	t.expr(u.Value, inner)
	for _, b := range u.Binds {
		t.expr(b.Value, inner)
	}
}

func usesAcc(e te.Expr) bool {
	used := false
	te.Walk(e, func(x te.Expr) {
		if _, ok := x.(te.Acc); ok {
			used = true
		}
	})
	return used
}

func (t *tracer) expr(e te.Expr, at map[string]sym.Expr) {
	switch x := e.(type) {
	case te.Call:
		for _, a := range x.Args {
			t.expr(a, at)
		}
	case te.Select:
		t.expr(x.Then, at)
		t.expr(x.Else, at)
	case te.Let:
		t.expr(x.Value, at)
		along := t.alongReduction(x.Value, at)
		n := t.unused(at)
		name := fmt.Sprintf("%s.%d.%t", x.Var, n, along)
		t.loaded[name], t.reduced[name], t.numbers[name] = true, along, n
		inner := maps.Clone(at)
		inner[x.Var] = sym.Var(name)
		t.expr(x.Body, inner)
	case te.Load:
		t.load(x, at)
	}
}

// alongReduction reports whether what an index is loaded from changes along a reduction.
func (t *tracer) alongReduction(e te.Expr, at map[string]sym.Expr) bool {
	reduces := false
	for _, r := range t.reduced {
		reduces = reduces || r
	}
	if !reduces {
		return false
	}
	vars := map[string]bool{}
	te.Walk(e, func(x te.Expr) {
		switch x := x.(type) {
		case te.Load:
			for _, i := range x.Index {
				i.Subst(at, t.facts).Vars(vars)
			}
		case te.Index:
			x.E.Subst(at, t.facts).Vars(vars)
		}
	})
	for v := range vars {
		if t.reduced[v] {
			return true
		}
	}
	return false
}

func (t *tracer) load(x te.Load, at map[string]sym.Expr) {
	index := make([]sym.Expr, len(x.Index))
	for i, e := range x.Index {
		index[i] = e.Subst(at, t.facts)
	}
	if x.Default != nil {
		t.expr(x.Default, at)
	}
	if !x.Source.Stage {
		t.out = append(t.out, access{x.Source.N, index, t.axes, t.reduced, t.loaded, t.facts})
		return
	}
	s := t.m.Stages[x.Source.N]
	inner := map[string]sym.Expr{}
	var text strings.Builder
	for i, a := range s.Axes {
		inner[a.Var] = index[i]
		text.WriteString(index[i].String() + "\n")
	}
	if v := (visit{x.Source.N, x.Source.Part, text.String()}); !t.visited[v] {
		t.visited[v] = true
		t.stage(s, x.Source.Part, inner)
	}
}

// mapping is the mapping type of one access to an operand of the shape.
func (a access) mapping(operand ir.Shape) MappingType {
	if a.axes == nil && a.index == nil && len(operand) > 0 {
		return OneToOne // the result is the operand
	}
	vars := map[string]bool{}
	for _, e := range a.index {
		e.Vars(vars)
	}
	loaded := false
	for v := range vars {
		if a.reduced[v] {
			return ManyToMany
		}
		loaded = loaded || a.loaded[v]
	}
	d := newDigits(a)
	switch {
	case loaded || !d.injective():
		return OneToMany
	case a.aligned():
		return OneToOne
	case d.ordered():
		return Reorganize
	}
	return Shuffle
}

// aligned reports whether each index depends on the axis at its own place only.
func (a access) aligned() bool {
	if len(a.index) != len(a.axes) {
		return false
	}
	for i, e := range a.index {
		vars := map[string]bool{}
		e.Vars(vars)
		for k, ax := range a.axes {
			if k != i && vars[ax.Var] {
				return false
			}
		}
	}
	return true
}
