package shape

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// varying is what a body does to the shapes of the values that it carries.
type varying struct {
	lost map[int]error // values of whose shape nothing holds in every iteration, and why
	// dims are symbols for the dimensions that differ: each is what the dimension is in the
	// current iteration and, after the loop, in the result.
	dims  map[dimension]string
	names []string // of the symbols
}

// dimension is one of a carried value.
type dimension struct{ value, axis int }

// shape is what value k has in every iteration, of the shape that it begins with.
func (x *varying) shape(k int, first ir.Shape) ir.Shape {
	out := slices.Clone(first)
	for d := range out {
		if name, ok := x.dims[dimension{k, d}]; ok {
			out[d] = sym.Var(name)
		}
	}
	return out
}

func (x *varying) uses(e sym.Expr) bool { return slices.ContainsFunc(x.names, e.Uses) }

// findVarying finds carried values that the body's outputs do not keep.
func (in *inference) findVarying(n *ir.Node, b *body, x *varying, names []string) (bool, error) {
	found := false
	for k, before := range b.carried {
		after := in.known(b.Outputs[b.from+k])
		name := b.Inputs[len(b.first)+k].Name
		switch {
		case x.lost[k] != nil || !before.hasShape:
			continue
		case after.typ != ir.Invalid && after.typ != before.typ:
			return false, n.Errorf("the carried value %q begins with type %s; its body returns %s", name, before.typ, after.typ)
		case !after.hasShape || after.typ == ir.Invalid:
			x.lost[k] = fmt.Errorf("the carried value %q begins with shape %v; its shape after an iteration is unknown", name, before.shape)
		case len(before.shape) != len(after.shape):
			x.lost[k] = changes(name, before.shape, after.shape, "rank")
		case sameShape(x.shape(k, before.shape), after.shape):
			continue
		case !b.grows:
			x.lost[k] = changes(name, before.shape, after.shape, "shape")
		default:
			if !in.differ(n, b, k, x, before.shape, after.shape, names) {
				continue
			}
		}
		found = true
	}
	return found, nil
}

func changes(name string, before, after ir.Shape, what string) error {
	return fmt.Errorf("the carried value %q begins with shape %v and has shape %v after an iteration; supported are values that keep their %s", name, before, after, what)
}

// differ makes symbols of the dimensions of carried value k that have none and that the body changes, and
// reports whether there are such. Of earlier inferences it keeps the names.
func (in *inference) differ(n *ir.Node, b *body, k int, x *varying, before, after ir.Shape, names []string) bool {
	found := false
	for d := range before {
		at := dimension{k, d}
		if _, ok := x.dims[at]; ok || before[d].Equal(after[d]) {
			continue
		}
		base := b.Inputs[len(b.first)+k].Name
		if v := n.Outputs[k]; v != nil {
			base = v.Name
		}
		name := in.fresh(n, sym.Identifier(fmt.Sprintf("%s_dim%d", base, d)), names)
		x.dims[at], x.names, n.Computes = name, append(x.names, name), append(n.Computes, name)
		in.declare(in.carriedSymbol(name))
		found = true
	}
	return found
}

// partShape is the shape of what a loop stacks: of the dimensions that its iterations compute the first
// iteration decides, by symbols that the node computes, and a run is refused in which others differ.
func (in *inference) partShape(n *ir.Node, x *varying, v *ir.Value, part ir.Shape, before []string) ir.Shape {
	out := slices.Clone(part)
	for d, e := range part {
		if !x.uses(e) && leaves(n, ir.Shape{e}) == "" {
			continue
		}
		name := in.fresh(n, sym.Identifier(fmt.Sprintf("%s_dim%d", v.Name, d+1)), before)
		n.Computes = append(n.Computes, name)
		s := in.carriedSymbol(name)
		s.Max = e
		in.declare(s)
		out[d] = sym.Var(name)
	}
	return out
}

// carriedSymbol is a symbol of which only the user's bounds are known.
func (in *inference) carriedSymbol(name string) opaque.Symbol {
	s := opaque.Symbol{Name: name, Hi: sym.MaxDim, Max: sym.Const(sym.MaxDim)}
	if r, ok := in.graph.Bounded[name]; ok {
		s.Lo, s.Hi = max(r.Lo, 0), max(min(r.Hi, sym.MaxDim), r.Lo, 0)
	}
	return s
}

// course is how a dimension begins, and what an iteration makes of it.
type course struct {
	dimension
	first, next sym.Expr
}

// limitDims bounds the symbols of carried dimensions where each iteration adds at most a number to
// one of them, or makes it a number; trips is the most iterations.
func (in *inference) limitDims(n *ir.Node, b *body, x *varying, trips sym.Expr) error {
	courses := map[string]course{}
	for at, name := range x.dims {
		courses[name] = course{at, b.carried[at.value].shape[at.axis], in.known(b.Outputs[b.from+at.value]).shape[at.axis]}
	}
	for _, name := range x.names {
		if x.lost[courses[name].value] != nil {
			continue
		}
		s := in.carriedSymbol(name)
		lo, most, ok := in.extremes(name, courses, x, trips)
		if ok {
			s.Max = most
		}
		if c := courses[name]; lo > s.Hi {
			return n.Errorf("dimension %d of the carried value %q is at least %d, but %s is bound to %d..%d",
				c.axis, b.Inputs[len(b.first)+c.value].Name, lo, name, s.Lo, s.Hi)
		}
		s.Lo = max(s.Lo, lo)
		open := in.graph.Symbols[in.declared(name)].Max.Is(sym.MaxDim)
		in.declare(s)
		if open && !in.graph.Symbols[in.declared(name)].Max.Is(sym.MaxDim) {
			in.limits = true
		}
	}
	return nil
}

// extremes are what a carried dimension is at least and at most, if that is known. It follows the dimensions that
// an iteration makes it of: values may change places.
func (in *inference) extremes(name string, courses map[string]course, x *varying, trips sym.Expr) (lo int64, most sym.Expr, ok bool) {
	growth, falls := sym.Const(0), false
	lo = sym.MaxDim
	reached := []string{name}
	may := func(e sym.Expr) {
		least, _ := e.Bounds(in.facts)
		lo, most = min(lo, max(least, 0)), sym.Max(most, e, in.facts)
	}
	for i := 0; i < len(reached); i++ {
		c := courses[reached[i]]
		may(c.first)
		if !x.uses(c.next) {
			may(c.next)
			continue
		}
		from, more, ok := in.grown(c.next, x)
		if !ok {
			return 0, most, false
		}
		growth = sym.Max(growth, more, in.facts)
		falls = falls || !sym.AtLeast(more, 0, in.facts)
		if !slices.Contains(reached, from) {
			reached = append(reached, from)
		}
	}
	if falls {
		lo = 0
	}
	if growth.Is(0) {
		return lo, most, true
	}
	times, isConst := trips.Const()
	most = sym.Add(most, sym.Mul(growth, trips))
	least, _ := most.Bounds(in.facts)
	return lo, most, !(isConst && times >= sym.MaxDim) && !most.Overflow() && least <= sym.MaxDim
}

// grown tells of which carried dimension an expression is the sum with a number that no iteration
// changes; of one that is at most a dimension, the number is 0 or less.
func (in *inference) grown(e sym.Expr, x *varying) (from string, more sym.Expr, ok bool) {
	for _, name := range x.names {
		more := sym.Sub(e, sym.Var(name))
		switch {
		case !e.Uses(name):
		case !x.uses(more):
			return name, more, true
		case sym.AtMost(more, 0, in.facts):
			return name, sym.Const(-1), true
		}
	}
	return "", more, false
}
