package shape

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/ops/opaque"
)

// call infers the results of an opaque operator. The symbols that it computes are made when they
// are met first, and keep their names.
func (in *inference) call(n *ir.Node, c *opaque.Call, tainted bool) error {
	if len(n.Computes) != len(c.Computes) {
		in.name(n, c)
		m, err := ops.Build(n, in.facts)
		if err != nil {
			return err
		}
		c = m.Call
	}
	for _, s := range in.limited(n, c) {
		if r, ok := in.graph.Bounded[s.Name]; ok {
			s.Lo = max(s.Lo, r.Lo)
			s.Hi = max(s.Lo, min(s.Hi, r.Hi))
		}
		in.declare(s)
	}
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		k := known{typ: c.Results[i].Type, shape: c.Results[i].Shape, hasShape: true}
		switch {
		case i > 0:
		case n.Op == ops.Steps:
			k.elems = in.steps(n)
		default:
			k.elems = in.bound(n, c)
		}
		if err := in.settle(n, v, k, tainted); err != nil {
			return err
		}
	}
	return nil
}

// limited are the symbols that a call computes, those that are elements of its operand bounded by what is known of these.
func (in *inference) limited(n *ir.Node, c *opaque.Call) []opaque.Symbol {
	_, before := in.operand(n, 0)
	if c.Elements == nil || before == nil {
		return c.Computes
	}
	out := slices.Clone(c.Computes)
	for i, e := range c.Elements {
		name, _ := e.AsVar()
		k := slices.IndexFunc(out, func(s opaque.Symbol) bool { return s.Name == name })
		if most := before[i].limits(in.facts).hi; k >= 0 && most != nil {
			out[k].Max = sym.Min(out[k].Max, *most, in.facts)
		}
	}
	return out
}

// bound are the elements of a result that a call makes symbols of; those that are known are not its own.
// A symbol whose bounds are one number is that.
func (in *inference) bound(n *ir.Node, c *opaque.Call) []value {
	if c.Elements == nil {
		return nil
	}
	dims, before := in.operand(n, 0)
	size, err := ir.Len(dims)
	if err != nil {
		return nil // ops.Build has refused it
	}
	out := make([]value, size)
	copy(out, before)
	for i, e := range c.Elements {
		name, _ := e.AsVar()
		switch r := in.facts[name]; {
		case out[i].state == exact:
		case r.Lo == r.Hi:
			out[i] = number(r.Lo)
		default:
			out[i] = integer(e)
		}
	}
	return out
}

// longest is the bytes of a value's name that its symbols have: the last ones, which tell values
// of one function apart.
const longest = 40

// name gives the symbols that the node computes names that no other symbol has. A node that has come to
// compute more keeps those that it had.
func (in *inference) name(n *ir.Node, c *opaque.Call) {
	before := n.Computes
	n.Computes = nil
	for _, s := range c.Computes {
		base := n.Outputs0()
		n.Computes = append(n.Computes, in.fresh(n, sym.Identifier(base[max(0, len(base)-longest):]+"_"+s.What), before))
	}
}

// declared is where the graph lists a symbol, or -1.
func (in *inference) declared(name string) int {
	return slices.IndexFunc(in.graph.Symbols, func(s ir.Symbol) bool { return s.Name == name })
}

// declare lists a computed symbol, or notes what is known of it now: the narrower bounds stay.
func (in *inference) declare(s opaque.Symbol) {
	limit, ok := ir.Most(s.Max, in.graph.Symbols, in.facts)
	if !ok {
		limit = sym.Const(sym.MaxDim)
	}
	y := ir.Symbol{Name: s.Name, Lo: s.Lo, Hi: s.Hi, Computed: true, Max: limit}
	if i := in.declared(s.Name); i < 0 {
		in.graph.Symbols = append(in.graph.Symbols, y)
	} else {
		old := in.graph.Symbols[i]
		y.Lo, y.Hi = max(y.Lo, old.Lo), min(y.Hi, old.Hi)
		if limit.Is(sym.MaxDim) {
			y.Max = old.Max
		}
		in.graph.Symbols[i] = y
	}
	in.facts[s.Name] = rangeOf(y, in.facts)
}

// rangeOf are a symbol's bounds as numbers.
func rangeOf(s ir.Symbol, f sym.Facts) sym.Range {
	hi := s.Hi
	if s.Computed {
		_, most := s.Max.Bounds(f)
		hi = max(s.Lo, min(hi, most))
	}
	return sym.Range{Lo: s.Lo, Hi: hi}
}

// computed adds the symbols that the graph's nodes compute to a set.
func computed(g *ir.Graph, set map[string]bool) {
	for _, n := range g.Nodes {
		for _, name := range n.Computes {
			set[name] = true
		}
		for _, r := range n.Regions {
			computed(r, set)
		}
	}
}

// leaves is a symbol that a node's regions compute and that a shape of its results mentions, or "":
// outside of the regions such a symbol has no one value.
func leaves(n *ir.Node, s ir.Shape) string {
	inside := map[string]bool{}
	for _, r := range n.Regions {
		computed(r, inside)
	}
	for _, d := range s {
		used := map[string]bool{}
		d.Vars(used)
		for name := range used {
			if inside[name] {
				return d.String()
			}
		}
	}
	return ""
}

// tighten bounds computed symbols by what nodes demand of them: a run is refused where that does not
// hold, before anything uses the symbol. It reports whether it found a bound.
func (in *inference) tighten() bool {
	found := false
	for _, c := range in.demands {
		found = in.boundBy(c.B, c.A) || found
		if c.Kind == ops.SameDim {
			found = in.boundBy(c.A, c.B) || found
		}
	}
	return found
}

// boundBy bounds a symbol by an expression that is at least as great.
func (in *inference) boundBy(e, most sym.Expr) bool {
	name, ok := e.AsVar()
	i := in.declared(name)
	if !ok || i < 0 || !in.graph.Symbols[i].Computed || !in.graph.Symbols[i].Max.Is(sym.MaxDim) {
		return false
	}
	limit, ok := ir.Most(most, in.graph.Symbols, in.facts)
	if !ok || limit.Is(sym.MaxDim) {
		return false
	}
	in.graph.Symbols[i].Max = limit
	return true
}
