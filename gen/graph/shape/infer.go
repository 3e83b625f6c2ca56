package shape

import (
	"errors"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

// Infer sets Type, Shape and Elems of every value that a node computes.
//
// Symbols whose bounds are one number become that number, symbols that operators
// require to be equal become one, and symbols that no graph input uses and no node computes are
// dropped. A number that only a run of an opaque operator knows (the rows of a NonZero) becomes
// a symbol that the node computes. Shapes that the model declares for results are checked against what is inferred: a certain contradiction
// in type or rank is an error, one of dimensions a warning of the graph.
// Where structure stays unknown the error is an *UnknownError that lists all
// nodes concerned, and everything else is inferred nevertheless.
func Infer(g *ir.Graph) error {
	bindSymbols(g)
	for {
		in := &inference{graph: g, facts: Facts(g), elems: map[*ir.Value][]value{}, tainted: map[*ir.Value]bool{}, varies: map[*ir.Node]*varying{}}
		if err := in.sweep(); err != nil {
			return err
		}
		if in.tighten() || in.limits {
			continue
		}
		if unified, err := unify(g, in.equal); err != nil {
			return err
		} else if !unified && !dropSymbols(g) {
			return in.structure()
		}
	}
}

// sweep transfers forward through all nodes.
func (in *inference) sweep() error {
	for _, v := range in.graph.Inputs {
		in.input(v)
	}
	for _, n := range in.graph.Nodes {
		if err := in.node(n); err != nil {
			return err
		}
	}
	return nil
}

// structure is nil where the structure of all is known.
func (in *inference) structure() error {
	if len(in.unknown.Causes) > 0 {
		return &in.unknown
	}
	return nil
}

// Facts are the ranges of the graph's symbols.
func Facts(g *ir.Graph) sym.Facts {
	f := make(sym.Facts, len(g.Symbols))
	for _, s := range g.Symbols {
		f[s.Name] = rangeOf(s, f)
	}
	return f
}

type inference struct {
	graph   *ir.Graph
	facts   sym.Facts
	elems   map[*ir.Value][]value // what is known of elements; nil where nothing is
	tainted map[*ir.Value]bool    // values that depend on an unknown result
	unknown UnknownError
	equal   []equality  // that must hold, or the model is malformed
	demands []ops.Check // of dimensions: a run that breaks one is refused
	// maybe counts the regions around the current node that may not run: what they
	// require says nothing of the model.
	maybe int
	// varies tells which values that a node's body carries change their shape, and how.
	varies map[*ir.Node]*varying
	limits bool // a symbol is bounded now that nodes have met without a bound
}

func (in *inference) input(v *ir.Value) {
	if !v.HasShape {
		in.unknown.add(&Cause{Value: v, Err: errors.New("the model does not declare its rank")})
		in.tainted[v] = true
	}
}

func (in *inference) node(n *ir.Node) error {
	tainted := slices.ContainsFunc(n.Inputs, func(v *ir.Value) bool { return v != nil && in.tainted[v] })
	switch {
	case ops.OfSequences(n):
		return in.sequence(n, tainted)
	case ops.IsControl(n) && ops.TakesSequence(n):
		in.fail(n, ops.SequenceUnknown(n), tainted)
		return nil
	case ops.IsControl(n):
		return in.control(n, tainted)
	case ops.IsComposition(n):
		return in.composition(n, tainted)
	}
	m, err := ops.Build(n, in.facts)
	var unknown *ops.UnknownError
	switch {
	case errors.As(err, &unknown):
		in.fail(n, unknown, tainted)
		return nil
	case err != nil:
		return err
	}
	in.demand(n, m.Checks)
	if m.Call != nil {
		return in.call(n, m.Call, tainted)
	}
	ev := newEvaluator(m, in.facts, func(i int) ([]int64, []value) { return in.operand(n, i) })
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		if err := in.result(n, v, m, i, ev); err != nil {
			return err
		}
		if tainted {
			in.tainted[v] = true
		}
	}
	return nil
}

// sequence records an operator of sequences that is left: a list of tensors has no structure to be known, unless it is an output.
func (in *inference) sequence(n *ir.Node, tainted bool) error {
	if err := ops.CheckSequence(n); err != nil {
		return err
	}
	if err := ops.SequenceUnknown(n); err != nil {
		in.fail(n, err, tainted)
		return nil
	}
	for _, v := range n.Outputs {
		if v != nil && slices.Contains(in.graph.Outputs, v) {
			in.unsettled(n, v, errors.New("the result is an output of the network, but is a sequence; supported are tensors"))
		}
	}
	return nil
}

// demand notes what must be equal, and what bounds a number that a run computes.
func (in *inference) demand(n *ir.Node, checks []ops.Check) {
	if in.maybe > 0 {
		return
	}
	for _, c := range checks {
		if c.Kind != ops.Broadcastable {
			in.demands = append(in.demands, c)
		}
		if c.Kind == ops.SameDim {
			in.equal = append(in.equal, equality{n, c})
		}
	}
}

// fail records a node without known structure. Nodes that depend on it are only counted.
func (in *inference) fail(n *ir.Node, err error, tainted bool) {
	if tainted {
		in.unknown.Dependent++
	} else {
		in.unknown.add(&Cause{Node: n, Err: err})
	}
	for _, v := range n.Outputs {
		if v != nil {
			in.tainted[v] = true
		}
	}
}

// result sets what is known of result i.
func (in *inference) result(n *ir.Node, v *ir.Value, m *ops.Meaning, i int, ev *evaluator) error {
	src := m.Outputs[i]
	var typ ir.DType
	var shape ir.Shape
	var elems []value
	if src.Stage {
		stage := m.Stages[src.N]
		typ, shape = stage.Results[src.Part].DType(), stage.Shape()
		if followed(typ) && (!typ.IsFloat() || alone(shape) || in.allFollowed(n)) {
			elems = ev.elements(src)
		}
	} else {
		operand := n.Inputs[src.N]
		typ, shape = operand.Type, operand.Shape
		_, elems = in.operand(n, src.N)
	}
	if err := in.check(n, v, typ, shape); err != nil {
		return err
	}
	v.Type, v.Shape, v.HasShape = typ, shape, true
	in.elems[v] = elems
	v.Elems = wholeElems(typ, elems)
	return nil
}

// followed reports whether elements of type t are worth evaluating: integers, and
// the float types through which shapes pass.
func followed(t ir.DType) bool { return t != ir.F16 && t != ir.BF16 }

// alone reports whether a shape has one element: of such a float, as a Range ends at, limits are worth to know.
func alone(s ir.Shape) bool {
	for _, d := range s {
		if !d.Is(1) {
			return false
		}
	}
	return true
}

// allFollowed reports whether something is known of each operand's elements. Floats
// that are computed from data are not worth a look.
func (in *inference) allFollowed(n *ir.Node) bool {
	for i, v := range n.Inputs {
		if v != nil {
			if _, elems := in.operand(n, i); elems == nil {
				return false
			}
		}
	}
	return true
}

// wholeElems are the elements as expressions, or nil unless all are known.
func wholeElems(t ir.DType, elems []value) []sym.Expr {
	if elems == nil || t.IsFloat() {
		return nil
	}
	out := make([]sym.Expr, len(elems))
	for i, v := range elems {
		e, ok := v.whole()
		if !ok {
			return nil
		}
		out[i] = e
	}
	return out
}

// operand are the shape and elements of operand i as far as they are known.
func (in *inference) operand(n *ir.Node, i int) ([]int64, []value) {
	return in.elemsOf(n.Input(i))
}

// elemsOf are the shape and elements of a value as far as they are known.
func (in *inference) elemsOf(v *ir.Value) ([]int64, []value) {
	if v == nil {
		return nil, nil
	}
	dims, ok := v.Static()
	if !ok {
		return nil, nil
	}
	elems, seen := in.elems[v]
	if !seen && v.Const != nil {
		elems = constElems(v.Const)
		in.elems[v] = elems
	}
	return dims, elems
}
