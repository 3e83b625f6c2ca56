package shape

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// Origin is where an element of a small integer tensor comes from: element At of Value, which operators
// only move. Value is nil where the element is known.
type Origin struct {
	Value *ir.Value
	At    int
}

// Origins finds where elements come from, in one graph.
type Origins struct {
	facts sym.Facts
	// memo are elements of values, each known or the symbol of its origin; places tells of which one.
	memo   map[*ir.Value][]value
	names  map[Origin]sym.Expr
	places map[string]Origin
}

// OriginsIn finds origins by what is known of the symbols of the whole model.
func OriginsIn(facts sym.Facts) *Origins {
	return &Origins{facts: maps.Clone(facts), memo: map[*ir.Value][]value{}, names: map[Origin]sym.Expr{}, places: map[string]Origin{}}
}

// Of are the origins of a value's elements: the value itself where they are computed, or come from
// outside of the graph. It is nil unless they are few integers.
func (o *Origins) Of(v *ir.Value) []Origin {
	elems := o.elements(v)
	if elems == nil {
		return nil
	}
	out := make([]Origin, len(elems))
	for i, e := range elems {
		out[i], _ = o.place(e.num)
	}
	return out
}

// place is the origin that an expression is the symbol of.
func (o *Origins) place(e sym.Expr) (Origin, bool) {
	name, _ := e.AsVar()
	from, is := o.places[name]
	return from, is
}

// elements are those of a value, each known or the symbol of its origin; nil unless they are few integers.
func (o *Origins) elements(v *ir.Value) []value {
	dims, ok := v.Static()
	n, err := ir.Len(dims)
	if !ok || err != nil || n > maxElems || v.Type != ir.I64 && v.Type != ir.I32 {
		return nil
	}
	if out, seen := o.memo[v]; seen {
		return out
	}
	out := o.moved(v)
	if out == nil {
		out = make([]value, n)
	}
	for i, e := range out {
		x, ok := e.whole()
		if _, is := o.place(x); !ok || !is && o.mentions(x) {
			out[i] = integer(o.name(Origin{v, i}))
		}
	}
	o.memo[v] = out
	return out
}

// mentions reports whether an expression depends on an element that is not known.
func (o *Origins) mentions(e sym.Expr) bool {
	used := map[string]bool{}
	e.Vars(used)
	for name := range used {
		if _, is := o.places[name]; is {
			return true
		}
	}
	return false
}

// moved are the elements of a value as far as they follow from those that its node reads, or nil.
func (o *Origins) moved(v *ir.Value) []value {
	switch {
	case v.Const != nil:
		return slices.Clone(constElems(v.Const))
	case v.Elems != nil:
		return symbols(v.Elems)
	case v.Def == nil || ops.IsControl(v.Def) || ops.IsComposition(v.Def):
		return nil
	}
	m, err := ops.Build(v.Def, o.facts)
	if err != nil {
		return nil
	}
	i := slices.Index(v.Def.Outputs, v)
	switch {
	case m.Call != nil && i == 0 && m.Call.Elements != nil:
		dims, _ := v.Static()
		n, _ := ir.Len(dims)
		out := make([]value, n)
		for k, e := range m.Call.Elements {
			out[k] = integer(e)
		}
		return out
	case m.Call != nil:
		return nil
	case m.Outputs[i].Stage:
		return newEvaluator(m, o.facts, func(k int) ([]int64, []value) { return o.operand(v.Def.Input(k)) }).elements(m.Outputs[i])
	}
	_, elems := o.operand(v.Def.Input(m.Outputs[i].N))
	return slices.Clone(elems)
}

func (o *Origins) operand(v *ir.Value) ([]int64, []value) {
	if v == nil {
		return nil, nil
	}
	dims, _ := v.Static()
	return dims, o.elements(v)
}

// name is the symbol of an element that is not known, of which nothing else is known either.
func (o *Origins) name(at Origin) sym.Expr {
	e, ok := o.names[at]
	if !ok {
		name := fmt.Sprintf("origin_%d", len(o.names))
		for _, taken := o.facts[name]; taken; _, taken = o.facts[name] {
			name += "_"
		}
		e = sym.Var(name)
		o.facts[name] = sym.Range{Lo: math.MinInt64 / 4, Hi: math.MaxInt64 / 4}
		o.names[at], o.places[name] = e, at
	}
	return e
}

func symbols(es []sym.Expr) []value {
	out := make([]value, len(es))
	for i, e := range es {
		out[i] = integer(e)
	}
	return out
}
