package block

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// control makes the blocks of a node that runs regions.
func (f *former) control(out *Graph, n *ir.Node) ([]*Block, error) {
	around := f.around
	defer func() { f.around = around }()
	f.around = slices.Concat(f.around, out.Checks)
	switch n.Op {
	case "If":
		return f.branches(out, n)
	case "Loop":
		return f.loop(out, n)
	}
	return f.scan(out, n)
}

// graph makes the blocks of a region.
func (f *former) graph(out *Graph, r *ir.Graph) (*Graph, error) {
	g := &Graph{Name: r.Name, Facts: f.facts}
	return g, f.nodes(g, r.Nodes)
}

// capture lets the last inputs of a region stand for what the node captures.
func (f *former) capture(n *ir.Node, r *ir.Graph) {
	for i, v := range n.Inputs[len(n.Own()):] {
		f.stands[r.Inputs[len(r.Inputs)-n.Captures+i]] = f.value(v)
	}
}

// own is v, or a copy of it where v is not computed by g itself or is taken: a value that g
// hands out has a place of its own.
func (f *former) own(g *Graph, v *ir.Value, n *ir.Node, taken ...*ir.Value) *ir.Value {
	v = f.value(v)
	if g.computes(v) && !slices.Contains(taken, v) {
		return v
	}
	to := &ir.Value{Name: v.Name + ".out", Type: v.Type, Shape: v.Shape, HasShape: true}
	g.Blocks = append(g.Blocks, Copy(v, to, n.Label(), n.Op))
	return to
}

func controlBlock(n *ir.Node, c *Control) *Block {
	return (&Block{Control: c, Origins: []string{n.Label()}, Ops: []string{n.Op}}).madeFor(n)
}

func (f *former) branches(out *Graph, n *ir.Node) ([]*Block, error) {
	s, err := ops.IfOf(n)
	if err != nil {
		return nil, err
	}
	c := &If{Cond: f.value(s.Cond)}
	for i, r := range []*ir.Graph{s.Then, s.Else} {
		f.capture(n, r)
		g, err := f.graph(out, r)
		if err != nil {
			return nil, err
		}
		for k, v := range r.Outputs {
			if n.Outputs[k] != nil {
				g.Outputs = append(g.Outputs, f.own(g, v, n, g.Outputs...))
			}
		}
		*[]**Graph{&c.Then, &c.Else}[i] = g
	}
	for _, name := range n.Computes {
		c.Sets = append(c.Sets, setOf(n, name, s))
	}
	b := controlBlock(n, &Control{If: c})
	for _, v := range n.Outputs {
		if v != nil {
			b.Results = append(b.Results, v)
		}
	}
	b.setOperands()
	return []*Block{b}, nil
}

// setOf finds the dimensions of which an If's symbol is one.
func setOf(n *ir.Node, name string, s *ops.IfSpec) Set {
	for k, v := range n.Outputs {
		if v == nil {
			continue
		}
		for d, e := range v.Shape {
			if e.Equal(sym.Var(name)) {
				return Set{name, s.Then.Outputs[k].Shape[d], s.Else.Outputs[k].Shape[d]}
			}
		}
	}
	panic(fmt.Sprintf("%s computes %s, which no result has for a dimension", n.Label(), name))
}

// counter makes the symbol of a loop.
func (f *former) counter(trips sym.Expr) string {
	name := fmt.Sprintf("iter%d", len(f.counters))
	_, hi := trips.Bounds(f.facts)
	f.facts[name] = sym.Range{Lo: 0, Hi: max(hi, 1) - 1}
	f.counters = append(f.counters, Counter{name, sym.Sub(sym.Max(trips, sym.Const(1), f.facts), sym.Const(1))})
	return name
}

func (f *former) loop(out *Graph, n *ir.Node) ([]*Block, error) {
	s, err := ops.LoopOf(n)
	if err != nil {
		return nil, err
	}
	l := &Loop{Trips: sym.Const(sym.MaxDim), While: s.Cond != nil}
	if s.Max != nil {
		if trips, known := element(s.Max); known {
			l.Trips = sym.Max(trips, sym.Const(0), f.facts)
		} else {
			l.Max = f.value(s.Max)
		}
	}
	l.Counter = f.counter(l.Trips)
	cond := always()
	if s.Cond != nil {
		cond = f.value(s.Cond)
		l.While = !holds(s.Cond) || !holds(s.Body.Outputs[0])
	}
	carried := len(s.Carried)
	for _, v := range n.Outputs[carried:] {
		if v != nil {
			l.Made = computed(n, v.Shape[0])
		}
	}
	return f.repeat(n, l, s.Body, f.number(n, l, s.Body.Inputs[0]), repeated{
		in: s.Body.Inputs[1 : 2+carried], next: s.Body.Outputs[:1+carried],
		init: slices.Concat([]*ir.Value{cond}, s.Carried), last: slices.Concat([]*ir.Value{nil}, n.Outputs[:carried]),
		parts: s.Body.Outputs[1+carried:], wholes: n.Outputs[carried:],
	})
}

// computed is a dimension's symbol that the node computes, or "".
func computed(n *ir.Node, d sym.Expr) string {
	if name, ok := d.AsVar(); ok && slices.Contains(n.Computes, name) {
		return name
	}
	return ""
}

// dims are the dimensions of a state in which iterations differ.
func dims(n *ir.Node, init, in, next *ir.Value) []Dim {
	var out []Dim
	for d, e := range in.Shape {
		if name := computed(n, e); name != "" {
			out = append(out, Dim{name, init.Shape[d], next.Shape[d]})
		}
	}
	return out
}

// element is the only element of an integer tensor, where it is known.
func element(v *ir.Value) (sym.Expr, bool) {
	if len(v.Elems) == 1 {
		return v.Elems[0], true
	}
	if v.Const != nil && v.Const.Len() == 1 {
		if xs, err := v.Const.Ints(); err == nil {
			return sym.Const(xs[0]), true
		}
	}
	return sym.Expr{}, false
}

// holds reports whether a condition is known to be true.
func holds(v *ir.Value) bool {
	e, known := element(v)
	return known && e.Is(1)
}

// always is a condition that holds.
func always() *ir.Value {
	t := ir.NewTensor(ir.Bool)
	t.Data[0] = 1
	return ir.ConstValue("true", t)
}

// number is the block that gives a Loop's body the number of the iteration.
func (f *former) number(n *ir.Node, l *Loop, v *ir.Value) []*Block {
	s := &te.Stage{Name: "iteration", Results: []te.Expr{te.Index{Type: ir.I64, E: sym.Var(l.Counter)}}}
	return []*Block{{Stage: s, Results: []*ir.Value{v}, Origins: []string{n.Label()}, Ops: []string{n.Op}}}
}

// repeated is what a node hands to and takes from the body that it repeats.
type repeated struct {
	in, next      []*ir.Value // of the body: the states
	init, last    []*ir.Value // of the node: the same; last may be nil
	parts, wholes []*ir.Value // of the body, and of the node; wholes may be nil
	out           []ops.ScanAxis
}

// repeat makes the blocks of a loop: the body begins with the blocks `first`. A state that the
// body hands on as it is stands for its first value.
func (f *former) repeat(n *ir.Node, l *Loop, r *ir.Graph, first []*Block, x repeated) ([]*Block, error) {
	f.capture(n, r)
	l.Body = &Graph{Name: r.Name, Facts: f.facts, Blocks: first}
	passed := make([]bool, len(x.in))
	for k, in := range x.in {
		if passed[k] = x.next[k] == in && !(l.While && k == 0); passed[k] {
			f.stands[in] = f.value(x.init[k])
		}
	}
	if err := f.nodes(l.Body, r.Nodes); err != nil {
		return nil, err
	}
	b := controlBlock(n, &Control{Loop: l})
	blocks := []*Block{b}
	for k, in := range x.in {
		last := x.last[k]
		switch {
		case !passed[k]:
			if last == nil {
				last = &ir.Value{Name: in.Name + ".last", Type: in.Type, Shape: in.Shape, HasShape: true}
			}
			l.States = append(l.States, State{Init: f.value(x.init[k]), In: in, Next: f.own(l.Body, x.next[k], n), Last: last,
				Dims: dims(n, x.init[k], in, x.next[k])})
		case last != nil:
			blocks = append(blocks, Copy(f.value(x.init[k]), last, n.Label(), n.Op))
		}
	}
	f.parts(n, l, x)
	l.sync(b)
	b.setOperands()
	return blocks, nil
}

func (f *former) parts(n *ir.Node, l *Loop, x repeated) {
	var taken []*ir.Value
	for k, whole := range x.wholes {
		if whole == nil {
			continue
		}
		p := Part{Value: f.own(l.Body, x.parts[k], n, taken...), Whole: whole}
		p.Backward = x.out != nil && x.out[k].Backward
		for d, e := range whole.Shape[1:] {
			if name := computed(n, e); name != "" {
				p.Dims = append(p.Dims, Dim{name, sym.Const(f.facts[name].Lo), x.parts[k].Shape[d]})
			}
		}
		taken = append(taken, p.Value)
		l.Parts = append(l.Parts, p)
	}
}
