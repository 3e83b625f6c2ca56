package shape

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// body is a region that runs repeatedly.
type body struct {
	*ir.Graph
	first   []known // what is known of its inputs before the carried ones
	carried []known // before the first run
	last    []known // of its inputs after the carried ones, but for captures
	from    int     // the number of its first output that is carried
	grows   bool    // what it carries may change its dimensions
}

// passed reports whether the body hands carried value k on as it is.
func (b *body) passed(k int) bool { return b.Outputs[b.from+k] == b.Inputs[len(b.first)+k] }

// iterate infers a body with the shapes that carried values begin with. A dimension that the body
// changes becomes a symbol of its own, a value whose rank changes is given up, and the body is
// inferred again. What varies once stays so, or nested loops would take exponential time.
func (in *inference) iterate(n *ir.Node, b *body, before []string) (*varying, error) {
	x := in.varies[n]
	if x == nil {
		x = &varying{lost: map[int]error{}, dims: map[dimension]string{}}
		in.varies[n] = x
		// What an earlier inference knew of such dimensions holds for others now.
		forget(b.Graph, func(e sym.Expr) bool { return slices.ContainsFunc(before, e.Uses) })
	}
	n.Computes = slices.Clone(x.names)
	causes, dependent := len(in.unknown.Causes), in.unknown.Dependent
	for {
		if err := in.enter(n, b, x); err != nil {
			return x, err
		}
		if err := in.region(b.Graph, true); err != nil {
			return x, &bodyError{err}
		}
		found, err := in.findVarying(n, b, x, before)
		if err != nil || !found {
			return x, err
		}
		in.unknown.Causes, in.unknown.Dependent = in.unknown.Causes[:causes], dependent
		in.forget(b.Graph)
	}
}

// bodyError is a mistake in a body, which may never run.
type bodyError struct{ err error }

func (e *bodyError) Error() string {
	return fmt.Sprintf("its body is invalid if it ever runs: %v", e.err)
}

// enter gives the body's inputs what is known of them in every run.
func (in *inference) enter(n *ir.Node, b *body, x *varying) error {
	carried := slices.Clone(b.carried)
	for k := range carried {
		if !b.passed(k) {
			carried[k].elems = nil
		}
		if carried[k].shape = x.shape(k, carried[k].shape); x.lost[k] != nil {
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
	b := &body{Graph: s.Body, first: []known{single(ir.I64), cond}, from: 1, grows: true}
	for _, v := range s.Carried {
		b.carried = append(b.carried, in.known(v))
	}
	before := n.Computes
	x, err := in.iterate(n, b, before)
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
	never := counted && trips.Is(0)
	if stacks := n.Outputs[len(s.Carried):]; !counted && slices.ContainsFunc(stacks, func(v *ir.Value) bool { return v != nil }) {
		trips, counted = in.counted(n, s, before), true
	}
	if !counted {
		trips = in.most(s)
	}
	if err := in.limitDims(n, b, x, trips); err != nil {
		return err
	}
	for i, v := range n.Outputs {
		switch {
		case v == nil:
		case i < len(s.Carried):
			err = in.carriedResult(n, b, i, tainted, never, b.carried[i])
		default:
			err = in.stackedResult(n, x, v, s.Body.Outputs[1+i], trips, before, tainted)
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
	v, x := n.Outputs[k], in.varies[n]
	if never {
		return in.settle(n, v, before, tainted)
	}
	if why := x.lost[k]; why != nil {
		in.unsettled(n, v, why)
		return nil
	}
	before.shape = x.shape(k, before.shape)
	if !b.passed(k) {
		before.elems = nil
	}
	return in.settle(n, v, before, tainted)
}

// stackedResult sets a result of a Loop that stacks what each iteration gives.
func (in *inference) stackedResult(n *ir.Node, x *varying, v, part *ir.Value, trips sym.Expr, before []string, tainted bool) error {
	k := in.known(part)
	k.shape, k.elems = slices.Concat(ir.Shape{trips}, in.partShape(n, x, v, k.shape, before)), nil
	return in.settle(n, v, k, tainted)
}

// counted is a symbol for the number of a loop's iterations, which the node computes.
func (in *inference) counted(n *ir.Node, s *ops.LoopSpec, before []string) sym.Expr {
	return in.either(n, sym.Identifier(n.Outputs0()+"_iterations"), before, sym.Const(0), in.most(s))
}

// most is the most iterations of a loop: sym.MaxDim where nothing bounds them. What bounds a number of the
// run's, as a dimension in Min does, bounds them.
func (in *inference) most(s *ops.LoopSpec) sym.Expr {
	if _, elems := in.elemsOf(s.Max); len(elems) == 1 {
		if most := elems[0].limits(in.facts).hi; most != nil {
			return sym.Max(*most, sym.Const(0), in.facts)
		}
	}
	return sym.Const(sym.MaxDim)
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
