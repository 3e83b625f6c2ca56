package shape

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/ops/opaque"
)

// known is what is known of a value where it is handed to a region or back.
type known struct {
	typ      ir.DType
	shape    ir.Shape
	hasShape bool
	elems    []value
	tainted  bool
}

func (in *inference) known(v *ir.Value) known {
	if v == nil {
		return known{}
	}
	_, elems := in.elemsOf(v)
	return known{v.Type, v.Shape, v.HasShape, elems, in.tainted[v]}
}

func single(t ir.DType, elems ...value) known { return known{t, ir.Shape{}, true, elems, false} }

// truth is a condition that is known.
func (in *inference) truth(v *ir.Value) (cond, ok bool) {
	_, elems := in.elemsOf(v)
	if len(elems) != 1 {
		return false, false
	}
	c, ok := elems[0].constant()
	return c != 0, ok
}

// control infers a node that runs regions. They are inferred with the symbols of the
// graph around them and with what is known of the values that they are given.
func (in *inference) control(n *ir.Node, tainted bool) error {
	var err error
	switch n.Op {
	case "If":
		err = in.branches(n, tainted)
	case "Loop":
		err = in.loop(n, tainted)
	default:
		err = in.scan(n, tainted)
	}
	var unknown *ops.UnknownError
	if errors.As(err, &unknown) {
		in.fail(n, unknown, tainted)
		return nil
	}
	return err
}

// one checks that what control flow follows has a single element of its type, as far as it is known.
func (in *inference) one(n *ir.Node, v *ir.Value, t ir.DType, what string) error {
	if v == nil || in.tainted[v] || v.Type == ir.Invalid || !v.HasShape {
		return nil
	}
	elements := sym.Const(1)
	for _, d := range v.Shape {
		elements = sym.Mul(elements, d)
	}
	computed := slices.ContainsFunc(in.graph.Symbols, func(s ir.Symbol) bool { return s.Computed && elements.Uses(s.Name) })
	if v.Type == t && computed {
		return &ops.UnknownError{What: fmt.Sprintf("whether %s, %q, of shape %v has one element", what, v.Name, v.Shape)}
	}
	if v.Type != t || !elements.Is(1) {
		return n.Errorf("%s, %q, has type %s and shape %v; supported is one element of type %s", what, v.Name, v.Type, v.Shape, t)
	}
	return nil
}

// give hands what is known to a region's input, whose own type and shape are only declared.
func (in *inference) give(n *ir.Node, v *ir.Value, k known) error {
	if v.Type != ir.Invalid && k.typ != ir.Invalid && v.Type != k.typ {
		return n.Errorf("input %q of its graph has type %s, but receives %s", v.Name, v.Type, k.typ)
	}
	if k.typ != ir.Invalid {
		v.Type = k.typ
	}
	v.Shape, v.HasShape, v.Elems = k.shape, k.hasShape, wholeElems(k.typ, k.elems)
	in.elems[v] = k.elems
	in.tainted[v] = k.tainted || !k.hasShape
	return nil
}

// captures hands the node's captures to a region.
func (in *inference) captures(n *ir.Node, r *ir.Graph) error {
	for i, v := range n.Inputs[len(n.Own()):] {
		if err := in.give(n, r.Inputs[len(r.Inputs)-n.Captures+i], in.known(v)); err != nil {
			return err
		}
	}
	return nil
}

// region infers a region's nodes.
func (in *inference) region(r *ir.Graph, maybe bool) error {
	if maybe {
		in.maybe++
		defer func() { in.maybe-- }()
	}
	for _, n := range r.Nodes {
		if err := in.node(n); err != nil {
			return err
		}
	}
	return nil
}

// settle sets what is known of a result.
func (in *inference) settle(n *ir.Node, v *ir.Value, k known, tainted bool) error {
	if k.typ == ir.Invalid || !k.hasShape {
		in.tainted[v] = true // for a reason that is recorded where it arises
		return nil
	}
	if d := leaves(n, k.shape); d != "" {
		in.unsettled(n, v, fmt.Errorf("the shape %v of result %q depends on %s, which its regions compute in each iteration", k.shape, v.Name, d))
		return nil
	}
	if err := in.check(n, v, k.typ, k.shape); err != nil {
		return err
	}
	if leaves(n, wholeElems(k.typ, k.elems)) != "" {
		k.elems = nil
	}
	v.Type, v.Shape, v.HasShape, v.Elems = k.typ, k.shape, true, wholeElems(k.typ, k.elems)
	in.elems[v] = k.elems
	if k.tainted || tainted {
		in.tainted[v] = true
	}
	return nil
}

// unsettled records why the structure of a result is not known.
func (in *inference) unsettled(n *ir.Node, v *ir.Value, err error) {
	in.unknown.add(&Cause{Node: n, Err: err})
	in.tainted[v] = true
}

// branches infers an If: the branch that is taken, where that is known, or both.
func (in *inference) branches(n *ir.Node, tainted bool) error {
	s, err := ops.IfOf(n)
	if err != nil {
		return err
	}
	if err := in.one(n, s.Cond, ir.Bool, "the condition"); err != nil {
		return err
	}
	taken := []*ir.Graph{s.Then, s.Else}
	if c, ok := in.truth(s.Cond); ok {
		taken = []*ir.Graph{s.Branch(c)}
	}
	var wrong []*Cause
	for _, b := range taken {
		if err := in.captures(n, b); err != nil {
			return err
		}
		var use *ops.UseError
		if err := in.region(b, len(taken) > 1); err != nil && len(taken) > 1 && !errors.As(err, &use) {
			// Shapes that do not fit are an error of the runs that take the branch.
			wrong = append(wrong, &Cause{Node: n, Err: fmt.Errorf("a branch that may run is invalid: %w", err), Branch: b})
		} else if err != nil {
			return err
		}
	}
	if wrong != nil {
		in.fail(n, wrong[0].Err, false)
		if len(wrong) == 1 {
			in.unknown.Causes[len(in.unknown.Causes)-1] = wrong[0]
		}
		return nil
	}
	before := n.Computes
	n.Computes = nil
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		k := in.known(taken[0].Outputs[i])
		if len(taken) > 1 {
			var differ error
			if k, differ, err = in.join(n, v, before, k, in.known(taken[1].Outputs[i])); err != nil {
				return n.Errorf("result %d (%q): %w", i, v.Name, err)
			} else if differ != nil {
				in.unsettled(n, v, fmt.Errorf("result %d (%q): %w%s", i, v.Name, differ, in.undecided(s.Cond)))
				in.unknown.Causes[len(in.unknown.Causes)-1].Ranks = true
				continue
			}
		}
		if err := in.settle(n, v, k, tainted); err != nil {
			return err
		}
	}
	return nil
}

// undecided says which symbols decide a condition, if any do.
func (in *inference) undecided(cond *ir.Value) string {
	_, elems := in.elemsOf(cond)
	used := map[string]bool{}
	for _, e := range elems {
		e.num.Vars(used)
	}
	if len(used) == 0 {
		return ""
	}
	return fmt.Sprintf(", or bounds of %s that decide the condition (dims = {...})", strings.Join(slices.Sorted(maps.Keys(used)), " and "))
}

// join is what is known of a result that either branch may give: what both agree in. A dimension in
// which they differ is a symbol, which the node computes.
func (in *inference) join(n *ir.Node, v *ir.Value, before []string, a, b known) (k known, differ, err error) {
	switch {
	case a.typ == ir.Invalid || b.typ == ir.Invalid || !a.hasShape || !b.hasShape:
		return known{}, nil, nil
	case a.typ != b.typ:
		return k, nil, fmt.Errorf("then_branch returns type %s, else_branch %s", a.typ, b.typ)
	case len(a.shape) != len(b.shape):
		return k, fmt.Errorf("then_branch returns shape %v, else_branch %v; want the same rank", a.shape, b.shape), nil
	}
	joined := make(ir.Shape, len(a.shape))
	for i, d := range a.shape {
		if joined[i] = d; !d.Equal(b.shape[i]) {
			joined[i] = in.either(n, sym.Identifier(fmt.Sprintf("%s_dim%d", v.Name, i)), before, d, b.shape[i])
		}
	}
	a.shape = joined
	k = a
	k.tainted = a.tainted || b.tainted
	if len(a.elems) != len(b.elems) {
		k.elems = nil
		return k, nil, nil
	}
	for i := range a.elems {
		if !a.elems[i].equal(b.elems[i]) {
			k.elems = nil
			break
		}
	}
	return k, nil, nil
}

// either is a symbol of a node's own that is one of two numbers.
func (in *inference) either(n *ir.Node, name string, before []string, a, b sym.Expr) sym.Expr {
	name = in.fresh(n, name, before)
	n.Computes = append(n.Computes, name)
	lowA, highA := a.Bounds(in.facts)
	lowB, highB := b.Bounds(in.facts)
	hi := max(highA, highB, 0)
	if r, ok := in.graph.Bounded[name]; ok && n.Op == "Loop" { // which counts; an If has written by then
		hi = max(min(hi, r.Hi), 0)
	}
	in.declare(opaque.Symbol{Name: name, Lo: max(min(lowA, lowB), 0), Hi: hi, Max: sym.Max(a, b, in.facts)})
	return sym.Var(name)
}

// fresh is a name that no symbol has but one that the node had before.
func (in *inference) fresh(n *ir.Node, base string, before []string) string {
	name := base
	for i := 2; slices.Contains(n.Computes, name) || in.declared(name) >= 0 && !slices.Contains(before, name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

func sameShape(a, b ir.Shape) bool {
	for i := range min(len(a), len(b)) {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}
