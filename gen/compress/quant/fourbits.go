package quant

import (
	"errors"
	"fmt"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// fourBits stores the weights of products in 4 bits; all that is computed stays float.
func fourBits(g *ir.Graph, s *Settings, inputs []samples.Input, alone int) (*Report, error) {
	p := &plan{g: g, settings: s, nodes: map[*ir.Node]rule{}}
	if err := p.named(); err != nil {
		return nil, err
	}
	found := &matrices{of: map[matrix]*blocks{}}
	weights := map[*ir.Node]valued{}
	r := &Report{results: map[*ir.Value]int{}}
	for i, n := range g.Nodes {
		x := Node{Name: describe(n), Op: n.Op, Float: s.whyFloat(n)}
		if x.Float == "" {
			w, err := found.blocks(n, s.BlockSize)
			if err != nil {
				return nil, n.Errorf("%w", err)
			}
			if rule, _ := of(n); w.smaller() {
				x.WeightBits, p.nodes[n], weights[n], r.results[n.Outputs[0]] = s.WeightBits, rule, w, i
			} else {
				x.Float = fmt.Sprintf("its weights would not take less memory in blocks of %d", s.BlockSize)
			}
		}
		r.Nodes = append(r.Nodes, x)
	}
	if len(p.nodes) == 0 {
		return nil, errors.New("no weights of the model can have 4 bits; want a float32 MatMul or Gemm with a constant matrix as its second factor that the settings do not leave float")
	}
	if err := p.alone(r, weights, inputs[:min(alone, len(inputs))]); err != nil {
		return nil, err
	}
	found.insert(g, p.nodes)
	return r, nil
}

// whyFloat says why a node's weights do not have 4 bits; empty: they may.
func (s *Settings) whyFloat(n *ir.Node) string {
	if s.float(n) {
		return "the settings leave it float"
	}
	weights := ops.WeightsOf(n)
	if !weights.Factor() {
		return "no MatMul or Gemm"
	}
	x, w := n.Inputs[0], n.Inputs[weights.Operand]
	switch {
	case w.Const == nil:
		return "its second factor is not constant"
	case w.Type != ir.F32:
		return fmt.Sprintf("its weights are %s; want f32", w.Type)
	case len(w.Const.Shape) != 2 || w.Const.Len() == 0:
		return fmt.Sprintf("its weights have shape %v; want a matrix", w.Const.Shape)
	case !x.HasShape || len(x.Shape) < 2:
		return "its first factor is a vector"
	}
	filters, _ := weights.Axes(n, 2)
	switch r, plain := of(n); {
	case !plain || n.Int("transA", 0) != 0:
		return "it has alpha, beta or transA"
	case weights.Bias != 0 && n.Input(weights.Bias) != nil && r.added(n, w.Const.Shape[filters]) == nil:
		return "its bias is not a constant with a number for each column"
	}
	return ""
}

// matrix is a constant that is a second factor, or its transpose.
type matrix struct {
	of     *ir.Value
	turned bool
}

func matrixOf(n *ir.Node) matrix {
	w := ops.WeightsOf(n)
	filters, _ := w.Axes(n, 2)
	return matrix{n.Inputs[w.Operand], filters == 0}
}

// matrices are those of a graph: nodes that share weights go on sharing them.
type matrices struct{ of map[matrix]*blocks }

func (m *matrices) blocks(n *ir.Node, size int64) (*blocks, error) {
	key := matrixOf(n)
	if w := m.of[key]; w != nil {
		return w, nil
	}
	w, err := newBlocks(key.of.Const, key.turned, size)
	m.of[key] = w
	return w, err
}

// insert gives nodes their weights.
func (m *matrices) insert(g *ir.Graph, nodes map[*ir.Node]rule) {
	names := edit.NewNamer(g)
	written := map[*blocks][2]*ir.Value{}
	for _, n := range g.Nodes {
		r, ok := nodes[n]
		if !ok {
			continue
		}
		key := matrixOf(n)
		w := m.of[key]
		if written[w][0] == nil {
			scales := edit.FloatTensor(ir.F32, floatsOf(w.scales), w.columns, w.count())
			written[w] = [2]*ir.Value{
				ir.ConstValue(names.Name(key.of.Name+"_packed"), w.packed()), ir.ConstValue(names.Name(key.of.Name+"_scale"), scales),
			}
		}
		var bias *ir.Value
		if at := r.weight.Bias; at != 0 {
			bias = n.Input(at)
		}
		w.product(n, written[w][0], written[w][1], bias)
	}
}
