package pipeline

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// graph makes the steps of a graph that a block runs: first what it demands of dimensions.
func (b *builder) graph(g *block.Graph) ([]plan.Step, error) {
	var out []plan.Step
	later := computedBy(g)
	for i := range g.Checks {
		if !uses(g.Checks[i], later) {
			out = append(out, plan.Step{Check: &g.Checks[i]})
		}
	}
	steps, err := b.blocks(g)
	return append(out, steps...), err
}

// live lets a value lie in another one's storage.
func (b *builder) live(v, in *ir.Value) { b.p.Homes[v] = plan.Home{Of: in, At: sym.Const(0)} }

// branches lets either branch write into the block's results.
func (b *builder) branches(x *block.Block, c *block.If) ([]plan.Step, error) {
	s := &plan.If{Label: x.Label(), Cond: c.Cond}
	for i, g := range []*block.Graph{c.Then, c.Else} {
		for k, v := range g.Outputs {
			b.live(v, x.Results[k])
		}
		steps, err := b.graph(g)
		if err != nil {
			return nil, err
		}
		for _, set := range c.Sets {
			steps = append(steps, plan.Step{Set: &plan.Set{Name: set.Name, Value: []sym.Expr{set.Then, set.Else}[i]}})
		}
		*[]*[]plan.Step{&s.Then, &s.Else}[i] = steps
	}
	return []plan.Step{{If: s}}, nil
}

// loop keeps a state where its last value lies: it is copied there before the loop, and at the end
// of the body. Parts are written to their places in the wholes.
func (b *builder) loop(x *block.Block, l *block.Loop) ([]plan.Step, error) {
	s := &plan.Loop{Label: x.Label(), Counter: l.Counter, Trips: l.Trips, Max: l.Max, Made: l.Made}
	if l.While {
		s.While = l.States[0].Last
	}
	var before, after []plan.Step
	first, next := &plan.Carry{Label: x.Label()}, &plan.Carry{Label: x.Label()}
	for _, st := range l.States {
		b.live(st.In, st.Last)
		begin, end := plan.Copy{From: st.Init, To: st.Last}, plan.Copy{From: st.Next, To: st.Last}
		if st.Dims == nil {
			before, after = append(before, plan.Step{Copy: &begin}), append(after, plan.Step{Copy: &end})
			continue
		}
		first.Copies, next.Copies = append(first.Copies, begin), append(next.Copies, end)
		for _, d := range st.Dims {
			first.Sets, next.Sets = append(first.Sets, plan.Set{Name: d.Name, Value: d.First}), append(next.Sets, plan.Set{Name: d.Name, Value: d.Next})
		}
	}
	for _, part := range l.Parts {
		b.part(l, part, first, next)
	}
	if first.Sets != nil {
		before, after = append(before, plan.Step{Carry: first}), append(after, plan.Step{Carry: next})
	}
	steps, err := b.graph(l.Body)
	if err != nil {
		return nil, err
	}
	s.Body = append(steps, after...)
	return append(before, plan.Step{Loop: s}), nil
}

// part lets a loop's part lie in its whole. One whose dimensions only the iterations know lies by itself, and is
// copied to its place once they have been held against those of the first one.
func (b *builder) part(l *block.Loop, part block.Part, first, next *plan.Carry) {
	v := part.Value
	if part.Dims != nil {
		v = &ir.Value{Name: v.Name + ".part", Type: v.Type, Shape: part.Whole.Shape[1:], HasShape: true}
		next.Copies = append(next.Copies, plan.Copy{From: part.Value, To: v})
	}
	for _, d := range part.Dims {
		first.Sets = append(first.Sets, plan.Set{Name: d.Name, Value: d.First})
		next.Sets = append(next.Sets, plan.Set{Name: d.Name, Value: d.Next, Once: l.Counter})
	}
	at := sym.Mul(part.At(l), layout.RowMajor.Elements(v.Shape))
	b.p.Homes[v] = plan.Home{Of: part.Whole, At: at, Part: true}
}
