package block

import (
	"fmt"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
)

// Form makes a block of each stage of each node's meaning; what one stage reads of
// another is a value of its own. Shapes must have been inferred. What the stages demand
// of a run's dimensions becomes the graph's checks, and each output gets a block that writes it.
func Form(g *ir.Graph) (*Graph, error) {
	f := &former{facts: shape.Facts(g), stands: map[*ir.Value]*ir.Value{}}
	out := &Graph{Name: g.Name, Inputs: g.Inputs, Outputs: g.Outputs, Symbols: g.Symbols, Facts: f.facts}
	if err := f.nodes(out, g.Nodes); err != nil {
		return nil, err
	}
	out.Counters = f.counters
	out.ownOutputs()
	if err := out.Verify(); err != nil {
		return nil, err
	}
	return out, nil
}

// former is the state of a run.
type former struct {
	facts    sym.Facts // of symbols and counters
	counters []Counter
	// stands tells what an input of a region stands for: the value of the graph around it.
	stands map[*ir.Value]*ir.Value
	// around are the checks of the graphs around the current one.
	around []Check
}

// value is v, or what it stands for.
func (f *former) value(v *ir.Value) *ir.Value {
	for f.stands[v] != nil {
		v = f.stands[v]
	}
	return v
}

// nodes appends the blocks of nodes to out.
func (f *former) nodes(out *Graph, nodes []*ir.Node) error {
	for _, n := range nodes {
		bs, err := f.node(out, n)
		if err != nil {
			return err
		}
		out.Blocks = append(out.Blocks, bs...)
	}
	return nil
}

func (f *former) node(out *Graph, n *ir.Node) ([]*Block, error) {
	if ops.IsControl(n) {
		return f.control(out, n)
	}
	m, err := ops.Build(n, f.facts)
	if err != nil {
		return nil, err
	}
	f.addChecks(out, n, m.Checks)
	if m.Call != nil {
		return []*Block{f.call(n, m.Call)}, nil
	}
	return f.fromMeaning(n, m)
}

func (f *former) fromMeaning(n *ir.Node, m *ops.Meaning) ([]*Block, error) {
	if len(m.Outputs) < len(n.Outputs) {
		return nil, n.Errorf("the node has %d results; the operator computes %d", len(n.Outputs), len(m.Outputs))
	}
	results := map[te.Source]*ir.Value{}
	var copies []Result // a result that is also another result, or an operand itself
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		if src := m.Outputs[i]; !src.Stage || results[src] != nil {
			copies = append(copies, Result{v, src})
		} else {
			results[src] = v
		}
	}
	var out []*Block
	for i, s := range m.Stages {
		out = append(out, f.stageBlock(n, i, s, results))
	}
	for _, c := range copies {
		out = append(out, Copy(f.source(n, c.From, results), c.Value, n.Label(), n.Op))
	}
	return out, nil
}

// stageBlock makes the block of stage i; values between stages are made as they are met.
func (f *former) stageBlock(n *ir.Node, i int, s *te.Stage, results map[te.Source]*ir.Value) *Block {
	b := (&Block{Origins: []string{n.Label()}, Ops: []string{n.Op}}).madeFor(n)
	index := map[*ir.Value]int{} // a value that is read twice is one operand
	b.Stage = s.MapExprs(func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok {
			return e
		}
		v := f.source(n, l.Source, results)
		if _, ok := index[v]; !ok {
			index[v] = len(b.Operands)
			b.Operands = append(b.Operands, v)
		}
		if from := (te.Source{N: index[v]}); l.Source != from {
			l.Source = from
			return l
		}
		return e
	})
	if s := b.Shorter(f.facts); s != nil {
		b.Stage = s
	}
	for part, r := range s.Results {
		src := te.Source{Stage: true, N: i, Part: part}
		if results[src] == nil {
			results[src] = &ir.Value{Name: fmt.Sprintf("%s.stage%d.%d", n.Outputs0(), i, part)}
		}
		v := results[src]
		v.Type, v.Shape, v.HasShape = r.DType(), s.Shape(), true
		b.Results = append(b.Results, v)
	}
	return b
}

func (f *former) source(n *ir.Node, s te.Source, results map[te.Source]*ir.Value) *ir.Value {
	if s.Stage {
		return results[s]
	}
	return f.value(n.Inputs[s.N])
}

// Copy is a block whose expression is the identity.
func Copy(from, to *ir.Value, origin, op string) *Block {
	s := &te.Stage{Name: "copy"}
	for i, d := range from.Shape {
		s.Axes = append(s.Axes, te.Axis{Var: fmt.Sprintf("i%d", i), Extent: d})
	}
	s.Results = []te.Expr{te.Operand(0, from.Type, te.AxisVars(s.Axes)...)}
	return &Block{Stage: s, Operands: []*ir.Value{from}, Results: []*ir.Value{to}, Origins: []string{origin}, Ops: []string{op}}
}

// ownOutputs copies what a caller's buffer cannot be the home of: an output that is an
// input or a constant, or that is listed twice.
func (g *Graph) ownOutputs() {
	taken := map[*ir.Value]bool{}
	for _, v := range g.Inputs {
		taken[v] = true
	}
	outputs := make([]*ir.Value, len(g.Outputs)) // the list is the graph's that g was made of
	for i, v := range g.Outputs {
		outputs[i] = v
		if taken[v] || v.Const != nil {
			to := &ir.Value{Name: v.Name, Type: v.Type, Shape: v.Shape, HasShape: true}
			g.Blocks = append(g.Blocks, Copy(v, to, fmt.Sprintf("output %q", v.Name), "Identity"))
			outputs[i] = to
		}
		taken[outputs[i]] = true
	}
	g.Outputs = outputs
}
