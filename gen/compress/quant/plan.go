package quant

import (
	"fmt"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// plan is which values of a graph are quantized, and which have one scale together.
type plan struct {
	g        *ir.Graph
	settings *Settings
	uses     map[*ir.Value]int
	bounds   map[*ir.Value]*ir.Node // that read a value
	nodes    map[*ir.Node]rule      // those that are quantized
	group    map[*ir.Value]*scaled
	order    []*scaled
	joined   [][]*ir.Value // operands that a node puts together, and then its result
}

// scaled are values that have one scale: an activation, or several of which moves make one another.
type scaled struct {
	values []*ir.Value
	wide   bool
	// least is the least width of what nodes put together here, before they gave it the scale of their results.
	least float64
	seen  seen
	param param
}

// newPlan decides. What is named in the settings must be there.
func newPlan(g *ir.Graph, s *Settings) (*plan, error) {
	p := &plan{g: g, settings: s, uses: edit.Uses(g), bounds: map[*ir.Value]*ir.Node{}, nodes: map[*ir.Node]rule{}, group: map[*ir.Value]*scaled{}}
	if err := p.named(); err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if slices.Contains(follows, n.Op) {
			p.bounds[n.Inputs[0]] = n
		}
		if r, ok := of(n); ok && !r.moves && !s.float(n) && floats(n) {
			p.nodes[n] = r
		}
	}
	p.products()
	p.moves()
	for _, n := range g.Nodes {
		if r, ok := p.nodes[n]; ok {
			p.assign(n, r)
		}
	}
	return p, nil
}

// float reports whether the settings leave a node float: by its operator, its name, or that of a node that was folded into it.
func (s *Settings) float(n *ir.Node) bool {
	return slices.Contains(s.Float, n.Op) || n.Name != "" && slices.Contains(s.Float, n.Name) ||
		slices.ContainsFunc(n.Origins, func(name string) bool { return name != "" && slices.Contains(s.Float, name) })
}

// result is the first result that a node has.
func result(n *ir.Node) *ir.Value {
	for _, v := range n.Outputs {
		if v != nil {
			return v
		}
	}
	return nil
}

// named refuses settings about nodes that are not there.
func (p *plan) named() error {
	known := map[string]bool{}
	for _, n := range p.g.Nodes {
		known[n.Name], known[n.Op] = true, true
		for _, o := range n.Origins {
			known[o] = true
		}
	}
	for _, name := range p.settings.Float {
		if !known[name] {
			return fmt.Errorf("the settings leave %s float, but the model has no node or operator of this name", ir.Show(name))
		}
	}
	for _, name := range p.settings.Wide {
		if !slices.ContainsFunc(p.g.Nodes, func(n *ir.Node) bool { return n.Name == name }) {
			return fmt.Errorf("the settings set 16 bits for %s, but the model has no node of this name", ir.Show(name))
		}
	}
	return nil
}

// products leaves those nodes that are worth it: elementwise operators between others that stay float would only be rounded.
func (p *plan) products() {
	for changed := true; changed; {
		changed = false
		for _, n := range p.g.Nodes {
			r, ok := p.nodes[n]
			if !ok || r.weight != nil {
				continue
			}
			if !slices.ContainsFunc(r.activations(n), p.fromQuantized) {
				delete(p.nodes, n)
				changed = true
			}
		}
	}
}

// fromQuantized reports whether a value is the result of a quantized node, or moved from one.
func (p *plan) fromQuantized(v *ir.Value) bool {
	for v.Def != nil {
		if _, ok := p.nodes[v.Def]; ok {
			return true
		}
		r, ok := of(v.Def)
		if !ok || !r.moves || len(r.activations(v.Def)) == 0 {
			return false
		}
		v = r.activations(v.Def)[0]
	}
	return false
}

// moves adds moves of what is quantized.
func (p *plan) moves() {
	for _, n := range p.g.Nodes {
		r, ok := of(n)
		if !ok || !r.moves || p.settings.float(n) {
			continue
		}
		as := r.activations(n)
		if len(as) > 0 && !slices.ContainsFunc(as, func(v *ir.Value) bool { return v.Const == nil && !p.fromQuantized(v) }) {
			p.nodes[n] = r
		}
	}
}

// assign puts operands and results of a node into groups of one scale.
func (p *plan) assign(n *ir.Node, r rule) {
	wide := slices.Contains(p.settings.Wide, n.Name)
	var of []*ir.Value
	of = append(of, r.activations(n)...)
	if !p.followed(n) {
		for _, v := range n.Outputs {
			if v != nil && v.Type == ir.F32 {
				of = append(of, v)
			}
		}
	}
	if !r.moves && slices.Contains(follows, n.Op) && p.follows(n) {
		of = of[1:] // the operand is never in memory
	}
	for i, v := range of {
		g := p.of(v)
		g.wide = g.wide || wide
		if r.moves && !r.every && i > 0 {
			p.join(p.group[of[0]], g)
		}
	}
	if r.moves && r.every {
		p.joined = append(p.joined, of)
	}
}

// joinAlike gives what nodes put together the scale of the result, so that integers are moved as they are, but operands that it would cost more
// than a bit: these have a scale of their own. Over a chain of such nodes each group keeps the least width that it began with, since
// what was put together in one node is as wide as its result in the next.
func (p *plan) joinAlike() {
	for _, s := range p.order {
		s.least = s.seen.width()
	}
	for _, of := range p.joined {
		result := of[len(of)-1]
		for _, v := range of[:len(of)-1] {
			to, g := p.group[result], p.group[v]
			if 2*min(to.least, g.least) >= max(to.seen.width(), g.seen.width()) {
				p.join(to, g)
			}
		}
	}
}

// followed reports whether the node's result goes to a bound alone, which is computed with it.
func (p *plan) followed(n *ir.Node) bool {
	if len(n.Outputs) != 1 || p.uses[n.Outputs[0]] != 1 || p.nodes[n].moves {
		return false
	}
	_, quantized := p.nodes[p.bounds[n.Outputs[0]]]
	return quantized && !slices.Contains(follows, n.Op)
}

// floats reports whether a node's first result is one of floats.
func floats(n *ir.Node) bool {
	v := result(n)
	return v != nil && v.Type == ir.F32
}

// follows reports whether a bound is computed with the node before it.
func (p *plan) follows(n *ir.Node) bool {
	def := n.Inputs[0].Def
	if def == nil {
		return false
	}
	_, ok := p.nodes[def]
	return ok && p.followed(def)
}

func (p *plan) of(v *ir.Value) *scaled {
	if p.group[v] == nil {
		p.group[v] = &scaled{values: []*ir.Value{v}}
		p.order = append(p.order, p.group[v])
	}
	return p.group[v]
}

// join makes two groups one.
func (p *plan) join(a, b *scaled) {
	if a == b {
		return
	}
	a.values, a.wide, a.least = append(a.values, b.values...), a.wide || b.wide, min(a.least, b.least)
	if b.seen.any {
		a.seen.extend([]float64{b.seen.lo, b.seen.hi})
	}
	for _, v := range b.values {
		p.group[v] = a
	}
	p.order = slices.DeleteFunc(p.order, func(s *scaled) bool { return s == b })
}
