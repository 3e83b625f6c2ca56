package block

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/shape"
	"rules_dnn/gen/te"
)

// Form makes a block of each stage of each node's meaning; what one stage reads of
// another is a value of its own. Shapes must have been inferred. What the stages demand
// of a run's dimensions becomes the graph's checks, and each output gets a block that writes it.
func Form(g *ir.Graph) (*Graph, error) {
	out := &Graph{Name: g.Name, Inputs: g.Inputs, Outputs: g.Outputs, Symbols: g.Symbols, Facts: shape.Facts(g)}
	for _, n := range g.Nodes {
		m, err := ops.Build(n, out.Facts)
		if err != nil {
			return nil, err
		}
		bs, err := fromMeaning(n, m)
		if err != nil {
			return nil, err
		}
		out.Blocks = append(out.Blocks, bs...)
		out.addChecks(n, m.Checks)
	}
	out.ownOutputs()
	if err := out.Verify(); err != nil {
		return nil, err
	}
	return out, nil
}

func fromMeaning(n *ir.Node, m *ops.Meaning) ([]*Block, error) {
	if len(m.Outputs) < len(n.Outputs) {
		return nil, n.Errorf("%d results, the operator gives %d", len(n.Outputs), len(m.Outputs))
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
		out = append(out, stageBlock(n, i, s, results))
	}
	for _, c := range copies {
		out = append(out, copyBlock(n, c, results))
	}
	return out, nil
}

// stageBlock makes the block of stage i; values between stages are made as they are met.
func stageBlock(n *ir.Node, i int, s *te.Stage, results map[te.Source]*ir.Value) *Block {
	b := &Block{Origins: []string{n.Label()}, Ops: []string{n.Op}}
	index := map[*ir.Value]int{} // a value that is read twice is one operand
	b.Stage = s.MapExprs(func(e te.Expr) te.Expr {
		l, ok := e.(te.Load)
		if !ok {
			return e
		}
		v := sourceValue(n, l.Source, results)
		if _, ok := index[v]; !ok {
			index[v] = len(b.Operands)
			b.Operands = append(b.Operands, v)
		}
		l.Source = te.Source{N: index[v]}
		return l
	})
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

func sourceValue(n *ir.Node, s te.Source, results map[te.Source]*ir.Value) *ir.Value {
	if s.Stage {
		return results[s]
	}
	return n.Inputs[s.N]
}

func copyBlock(n *ir.Node, r Result, results map[te.Source]*ir.Value) *Block {
	from := sourceValue(n, r.From, results)
	return Copy(from, r.Value, n.Label(), n.Op)
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
