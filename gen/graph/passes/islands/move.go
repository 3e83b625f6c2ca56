package islands

import (
	"maps"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// dropPair takes out integers made of floats that are made of the same integers: round((q - z) * s / s) is q - z.
func dropPair(p *pass, n *ir.Node) []*ir.Node {
	to := quantizer(n)
	if to == nil {
		return nil
	}
	q, from := dequantized(n.Inputs[0])
	if from == nil || !from.sole() || !from.equal(to) {
		return nil
	}
	return p.stands(n, q)
}

// stands makes a value stand for a node's result, of which it has the type and the shape; nil where both have a name that stays.
func (p *pass) stands(n *ir.Node, q *ir.Value) []*ir.Node {
	if edit.IsOutput(p.g, n.Outputs[0]) { // whose name stays; an input, a constant or another output has one already
		if q.Def == nil || edit.IsOutput(p.g, q) {
			return nil
		}
		q.Name = n.Outputs[0].Name
	}
	p.same[n.Outputs[0]] = q
	return []*ir.Node{}
}

// moved are the operands whose elements, and no others, a node gives on: what it does to integers it does to what they stand for. Nil where it computes
// something, and where the definition does not know the type. What a pool gives of nothing but padding, the least number of its type, is another one in
// integers; whole asks that there is no such window.
func (p *pass) moved(n *ir.Node, t ir.DType, whole bool) []int {
	out := result(n)
	if out == nil || !out.HasShape || out.Type != ir.F32 || ops.IsComposition(n) {
		return nil
	}
	m, err := ops.Build(n, p.facts)
	if err != nil || m.Call != nil || len(m.Checks) > 0 || !ops.GivesOn(m) && !p.chooses(m, whole) {
		return nil
	}
	trial := *n
	trial.Inputs, trial.Outputs = slices.Clone(n.Inputs), []*ir.Value{{Name: out.Name, Type: t, Shape: out.Shape, HasShape: true}}
	var data []int
	for i, v := range n.Inputs {
		if v != nil && v.Type == ir.F32 && ops.Mapping(n, m, i, 0) != ops.Unread {
			data = append(data, i)
			trial.Inputs[i] = &ir.Value{Name: v.Name, Type: t, Shape: v.Shape, HasShape: v.HasShape}
		}
	}
	if _, err := ops.Build(&trial, p.facts); err != nil {
		return nil
	}
	return data
}

// chooses reports whether each element is the greatest, or the least, of some, of which there is one at least; it is not padding, if that is asked.
func (p *pass) chooses(m *ops.Meaning, whole bool) bool {
	if !ops.Chooses(m) {
		return false
	}
	s := m.Stages[0]
	empty := func(a te.Axis) bool { return !sym.AtLeast(a.Extent, 1, p.facts) }
	return !slices.ContainsFunc(s.Reduce, empty) && (!whole || p.meets(s))
}

// meets reports whether the windows of a reduction are certain to have an element each: the first tap is before the end of what is read, the last one is
// not before its beginning, and no step is wider than that.
func (p *pass) meets(s *te.Stage) bool {
	facts := maps.Clone(p.facts)
	if facts == nil {
		facts = sym.Facts{}
	}
	for _, a := range s.Axes {
		_, hi := a.Extent.Bounds(p.facts)
		facts[a.Var] = sym.Range{Hi: max(hi, 1) - 1}
	}
	used := map[string]bool{}
	for _, v := range s.Values {
		for _, w := range v.(te.Load).Guard {
			first, last, step := w.E, w.E, sym.Const(0)
			for _, r := range s.Reduce {
				if !w.E.Uses(r.Var) {
					continue
				}
				k, linear := sym.Coefficient(w.E, r.Var, facts)
				if !linear || used[r.Var] || !step.Is(0) || !sym.AtLeast(k, 1, facts) {
					return false
				}
				used[r.Var], step = true, k
				first = w.E.Subst(map[string]sym.Expr{r.Var: sym.Const(0)}, facts)
				last = w.E.Subst(map[string]sym.Expr{r.Var: sym.Sub(r.Extent, sym.Const(1))}, facts)
			}
			if !sym.AtLeast(sym.Sub(w.Hi, first), 1, facts) || !sym.AtLeast(sym.Sub(last, w.Lo), 0, facts) || !sym.AtLeast(sym.Sub(sym.Sub(w.Hi, w.Lo), step), 0, facts) {
				return false
			}
		}
	}
	return true
}

// moveDequantize makes integers move, and floats of them behind it.
func moveDequantize(p *pass, n *ir.Node) []*ir.Node {
	if result(n) == nil || len(n.Inputs) == 0 {
		return nil
	}
	_, of := dequantized(n.Inputs[0]) // operators that move elements have these first
	if of == nil || !of.sole() {
		return nil
	}
	in := slices.Clone(n.Inputs)
	data := p.moved(n, of.typ, true)
	for _, i := range data {
		q, a := dequantized(n.Inputs[i])
		if a == nil || !of.equal(a) {
			return nil
		}
		in[i] = q
	}
	if data == nil {
		return nil
	}
	b := p.replace(n)
	from := n.Inputs[data[0]].Def
	y := b.add(n.Op, n.Version, of.typ, n.Outputs[0].Shape, n.Attrs, in...)
	b.add("DequantizeLinear", from.Version, ir.F32, n.Outputs[0].Shape, nil, y, from.Input(1), from.Input(2))
	return b.done()
}

// moveQuantize makes integers before they are moved, where nothing else reads the floats.
func moveQuantize(p *pass, n *ir.Node) []*ir.Node {
	to := quantizer(n)
	x := n.Inputs
	if to == nil || x[0].Def == nil || p.uses[x[0]] != 1 || x[0].Def.Op == "DequantizeLinear" {
		return nil
	}
	mover := x[0].Def
	data := p.moved(mover, to.typ, false)
	if data == nil || p.drops(mover, data) || slices.ContainsFunc(data, func(i int) bool { return mover.Inputs[i].Const != nil }) {
		return nil
	}
	b := p.replace(n)
	in := slices.Clone(mover.Inputs)
	for _, i := range data {
		in[i] = b.add("QuantizeLinear", n.Version, to.typ, in[i].Shape, n.Attrs, append([]*ir.Value{in[i]}, n.Inputs[1:]...)...)
	}
	b.add(mover.Op, mover.Version, to.typ, n.Outputs[0].Shape, mover.Attrs, in...)
	return b.done()
}

// drops reports whether a node, other than a pool, of which windows overlap, leaves elements out, which would be quantized for nothing.
func (p *pass) drops(n *ir.Node, data []int) bool {
	if n.Op == "MaxPool" {
		return false
	}
	more := sym.Scale(elements(n.Outputs[0]), -1)
	for _, i := range data {
		more = sym.Add(more, elements(n.Inputs[i]))
	}
	return !sym.AtMost(more, 0, p.facts)
}

func elements(v *ir.Value) sym.Expr {
	n := sym.Const(1)
	for _, d := range v.Shape {
		n = sym.Mul(n, d)
	}
	return n
}
