package shape

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/sym"
)

// body is a region that runs repeatedly.
type body struct {
	*ir.Graph
	first   []known // what is known of its inputs before the carried ones
	carried []known // before the first run
	last    []known // of its inputs after the carried ones, but for captures
	from    int     // the number of its first output that is carried
}

// passed tells whether the body hands carried value k on as it is.
func (b *body) passed(k int) bool { return b.Outputs[b.from+k] == b.Inputs[len(b.first)+k] }

// iterate infers a body with the shapes that carried values begin with. Those whose
// shape the body changes are given up, and it is inferred again without them. What is
// given up once stays so, or nested loops would take exponential time.
func (in *inference) iterate(n *ir.Node, b *body) error {
	varies := in.varies[n]
	if varies == nil {
		varies = map[int]error{}
		in.varies[n] = varies
	}
	causes, dependent := len(in.unknown.Causes), in.unknown.Dependent
	for {
		if err := in.enter(n, b, varies); err != nil {
			return err
		}
		if err := in.region(b.Graph, true); err != nil {
			return &bodyError{err}
		}
		found, err := in.findVarying(n, b, varies)
		if err != nil || !found {
			return err
		}
		in.unknown.Causes, in.unknown.Dependent = in.unknown.Causes[:causes], dependent
		in.forget(b.Graph)
	}
}

// bodyError is a mistake in a body, which may never run.
type bodyError struct{ err error }

func (e *bodyError) Error() string {
	return fmt.Sprintf("its body is wrong if it ever runs: %v", e.err)
}

// enter gives the body's inputs what is known of them in every run.
func (in *inference) enter(n *ir.Node, b *body, varies map[int]error) error {
	carried := slices.Clone(b.carried)
	for k := range carried {
		if !b.passed(k) {
			carried[k].elems = nil
		}
		if varies[k] != nil {
			carried[k] = known{typ: carried[k].typ}
		}
	}
	for i, k := range slices.Concat(b.first, carried, b.last) {
		if err := in.give(n, b.Inputs[i], k); err != nil {
			return err
		}
	}
	return in.captures(n, b.Graph)
}

// findVarying finds carried values that the body's outputs do not keep.
func (in *inference) findVarying(n *ir.Node, b *body, varies map[int]error) (bool, error) {
	found := false
	for k, before := range b.carried {
		after := in.known(b.Outputs[b.from+k])
		name := b.Inputs[len(b.first)+k].Name
		switch {
		case varies[k] != nil || !before.hasShape:
			continue
		case after.typ != ir.Invalid && after.typ != before.typ:
			return false, n.Errorf("the carried value %q begins with type %s; its body gives %s", name, before.typ, after.typ)
		case !after.hasShape || after.typ == ir.Invalid:
			varies[k] = fmt.Errorf("the carried value %q begins with shape %v; its shape after a run of the body is not known", name, before.shape)
		case !sameShape(before.shape, after.shape):
			varies[k] = fmt.Errorf("the carried value %q begins with shape %v and has shape %v after a run of the body; supported are values that keep their shape",
				name, before.shape, after.shape)
		default:
			continue
		}
		found = true
	}
	return found, nil
}

// forget drops what an earlier sweep learned of a region's values.
func (in *inference) forget(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			if v != nil {
				v.Shape, v.HasShape, v.Elems = nil, false, nil
				delete(in.elems, v)
				delete(in.tainted, v)
			}
		}
		for _, r := range n.Regions {
			in.forget(r)
		}
	}
}

// loop infers a Loop.
func (in *inference) loop(n *ir.Node, tainted bool) error {
	s, err := ops.LoopOf(n)
	if err != nil {
		return err
	}
	if err := in.one(n, s.Max, ir.I64, "the number of iterations"); err != nil {
		return err
	}
	if err := in.one(n, s.Cond, ir.Bool, "the condition"); err != nil {
		return err
	}
	cond := single(ir.Bool)
	if s.Cond != nil {
		cond = single(ir.Bool, truth(true)) // or the body does not run
	}
	b := &body{Graph: s.Body, first: []known{single(ir.I64), cond}, from: 1}
	for _, v := range s.Carried {
		b.carried = append(b.carried, in.known(v))
	}
	err = in.iterate(n, b)
	if wrong, ok := err.(*bodyError); ok {
		in.fail(n, wrong, false)
		return nil
	} else if err != nil {
		return err
	}
	if s.Cond != nil {
		if err := in.one(n, s.Body.Outputs[0], ir.Bool, "the condition after an iteration"); err != nil {
			in.fail(n, &bodyError{err}, false)
			return nil
		}
	}
	trips, counted := in.trips(s)
	before := n.Computes
	n.Computes = nil
	for i, v := range n.Outputs {
		switch {
		case v == nil:
		case i < len(s.Carried):
			err = in.carriedResult(n, b, i, tainted, counted && trips.Is(0), b.carried[i])
		default:
			if !counted {
				trips, counted = in.counted(n, s, before), true
			}
			k := in.known(s.Body.Outputs[1+i])
			k.shape, k.elems = slices.Concat(ir.Shape{trips}, k.shape), nil
			err = in.settle(n, v, k, tainted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// carriedResult sets result k of a node, the carried value k after the last run, of
// which is known what was before the first one.
func (in *inference) carriedResult(n *ir.Node, b *body, k int, tainted, never bool, before known) error {
	v := n.Outputs[k]
	if why := in.varies[n][k]; why != nil && !never {
		in.unsettled(n, v, why)
		return nil
	}
	if !never && !b.passed(k) {
		before.elems = nil
	}
	return in.settle(n, v, before, tainted)
}

// counted is a symbol for the number of a loop's iterations, which the node computes.
func (in *inference) counted(n *ir.Node, s *ops.LoopSpec, before []string) sym.Expr {
	most := sym.Const(sym.MaxDim)
	if _, elems := in.elemsOf(s.Max); len(elems) == 1 {
		if m, ok := elems[0].whole(); ok {
			most = sym.Max(m, sym.Const(0), in.facts)
		}
	}
	return in.either(n, sym.Identifier(n.Outputs0()+"_iterations"), before, sym.Const(0), most)
}

// trips is the number of a loop's iterations, if it follows from what is known.
func (in *inference) trips(s *ops.LoopSpec) (sym.Expr, bool) {
	most, bounded := sym.Expr{}, false
	if _, elems := in.elemsOf(s.Max); len(elems) == 1 {
		if most, bounded = elems[0].whole(); bounded {
			most = sym.Max(most, sym.Const(0), in.facts)
		}
	}
	starts, known := true, true
	if s.Cond != nil {
		starts, known = in.truth(s.Cond)
	}
	switch {
	case known && !starts || bounded && most.Is(0):
		return sym.Const(0), true
	case !known:
		return sym.Expr{}, false
	case s.Cond == nil:
		return most, bounded
	}
	switch again, known := in.truth(s.Body.Outputs[0]); {
	case !known:
	case again:
		return most, bounded
	case bounded:
		return sym.Min(most, sym.Const(1), in.facts), true
	case s.Max == nil:
		return sym.Const(1), true
	}
	return sym.Expr{}, false
}
