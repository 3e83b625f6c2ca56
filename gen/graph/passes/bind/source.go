package bind

import (
	"maps"
	"slices"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// request is which elements of values are to be symbols, what each is at least, and which node asked first.
type request struct {
	lows  map[*ir.Value]map[int64]int64
	first map[*ir.Value]*ir.Node
	order []*ir.Value
}

// add asks for elements where they come from, or of the value itself where these were too many of one.
func (r *request) add(n *ir.Node, v *ir.Value, from []shape.Origin, low int64) {
	more := map[*ir.Value]int{}
	for _, o := range from {
		if _, asked := r.lows[o.Value][int64(o.At)]; !asked {
			more[o.Value]++
		}
	}
	crowded := false
	for source, k := range more {
		crowded = crowded || source != nil && r.bound(source)+k > ops.BindMost
	}
	for i, o := range from {
		if o.Value == nil {
			continue
		}
		if crowded {
			o = shape.Origin{Value: v, At: i}
		}
		if r.lows[o.Value] == nil {
			r.lows[o.Value], r.first[o.Value] = map[int64]int64{}, n
			r.order = append(r.order, o.Value)
		}
		known, asked := r.lows[o.Value][int64(o.At)]
		if !asked || low > known {
			r.lows[o.Value][int64(o.At)] = low
		}
	}
}

// bound is how many elements of a value are symbols, or will be.
func (r *request) bound(v *ir.Value) int {
	n := len(r.lows[v])
	if v.Def != nil && v.Def.Op == ops.Bind {
		n += len(v.Def.Ints("elements"))
	}
	return n
}

// sources binds numbers that nodes take as they are, where they come from.
func (b *binder) sources() bool {
	r := &request{lows: map[*ir.Value]map[int64]int64{}, first: map[*ir.Value]*ir.Node{}}
	for _, n := range b.graph.Nodes {
		if !b.waiting[n] {
			continue
		}
		for i, v := range n.Own() {
			rule, ok := rules[n.Op][i]
			if !ok || rule.prepare != nil || v == nil || !bindable(v) || n.Op == "Range" && !ends(n) {
				continue
			}
			r.add(n, v, b.origins.Of(v), rule.low())
		}
	}
	after := map[*ir.Node][]*ir.Node{} // nil: at the beginning
	for _, v := range r.order {
		if v.Def != nil && v.Def.Op == ops.Bind {
			extend(v.Def, r.lows[v])
			continue
		}
		after[v.Def] = append(after[v.Def], b.bindAll(r.first[v], v, r.lows[v]))
	}
	b.nodes = append(b.nodes, after[nil]...)
	for _, n := range b.graph.Nodes {
		b.nodes = append(append(b.nodes, n), after[n]...)
	}
	b.graph.Nodes = b.nodes
	return len(r.order) > 0
}

// bindAll makes a node in the name of another that binds elements of a value, for all that read it.
func (b *binder) bindAll(at *ir.Node, v *ir.Value, lows map[int64]int64) *ir.Node {
	out := &ir.Value{Name: b.names.Name(v.Name + ".symbols")}
	n := &ir.Node{Op: ops.Bind, Version: 1, Name: at.Name, Inputs: []*ir.Value{v}, Outputs: []*ir.Value{out}, Origins: at.Origins}
	extend(n, lows)
	out.Def = n.MadeFor(at)
	for _, reader := range b.graph.Nodes {
		for i, x := range reader.Inputs {
			if x == v {
				reader.Inputs[i] = out
			}
		}
	}
	return n
}

// extend makes a node bind more elements.
func extend(n *ir.Node, lows map[int64]int64) {
	all := maps.Clone(lows)
	known := n.Ints("lows")
	for i, k := range n.Ints("elements") {
		all[k] = known[i]
	}
	elements := slices.Sorted(maps.Keys(all))
	least := make([]int64, len(elements))
	for i, k := range elements {
		least[i] = all[k]
	}
	n.Attrs = bounds(elements, least)
}
