package train

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/training/grad"
)

// program is a network for a number of images as one list of stages.
type program struct {
	stages   []*te.Stage
	nodes    []*ir.Node // that the stages are of; nil: of the loss
	operands []grad.Operand
	names    map[string]int // operands by name: images, weights, statistics
	fixed    map[int]*ir.Tensor
	logits   te.Source
	moved    []te.Source // statistics after the batch
	classes  int64
}

// program makes the list; in training, nodes take statistics of the batch.
func (n *Network) program(images int64, training bool) (*program, error) {
	g, err := n.read(images)
	if err != nil {
		return nil, err
	}
	logits(g)
	var moved map[string]*ir.Value
	if training {
		moved = normaliseByBatch(g)
	}
	n.operands(g)
	for _, s := range n.Statistics {
		if v := moved[s.Name]; v != nil {
			g.Outputs = append(g.Outputs, v)
		}
	}
	if err := simplify.Run(g); err != nil {
		return nil, err
	}
	p := &program{names: map[string]int{}, fixed: map[int]*ir.Tensor{}}
	return p, p.build(g)
}

// operands makes inputs of the constants that are weights, so that nothing is folded with them.
func (n *Network) operands(g *ir.Graph) {
	mine := map[string]bool{}
	for _, w := range n.All() {
		mine[w.Name] = true
	}
	for _, node := range g.Nodes {
		for _, v := range node.Inputs {
			if v != nil && v.Const != nil && mine[v.Name] {
				v.Shape, v.HasShape, v.Const = ir.Dims(v.Const.Shape...), true, nil
				g.Inputs = append(g.Inputs, v)
			}
		}
	}
}

// build makes the stages of the graph's nodes.
func (p *program) build(g *ir.Graph) error {
	at := map[*ir.Value]te.Source{}
	for _, v := range g.Inputs {
		shape, ok := v.Static()
		if !ok {
			return fmt.Errorf("input %s has shape %v; training wants numbers", ir.Show(v.Name), v.Shape)
		}
		p.names[v.Name] = len(p.operands)
		at[v] = p.operand(v.Type, shape)
	}
	for _, node := range g.Nodes {
		if err := p.node(node, at); err != nil {
			return err
		}
	}
	for i, v := range g.Outputs {
		s, ok := at[v]
		if !ok {
			return fmt.Errorf("output %s does not depend on the input", ir.Show(v.Name))
		}
		if i > 0 {
			p.moved = append(p.moved, s)
			continue
		}
		shape, _ := v.Static()
		if v.Type != ir.F32 || len(shape) != 2 {
			return fmt.Errorf("output %s has type %s and shape %v; training wants logits, f32 of shape [images, classes]", ir.Show(v.Name), v.Type, v.Shape)
		}
		p.logits, p.classes = s, shape[1]
	}
	return nil
}

func (p *program) operand(t ir.DType, shape []int64) te.Source {
	p.operands = append(p.operands, grad.Operand{Type: t, Shape: slices.Clone(shape)})
	return te.Source{N: len(p.operands) - 1}
}

// node appends the stages of a node.
func (p *program) node(node *ir.Node, at map[*ir.Value]te.Source) error {
	if ops.IsControl(node) {
		return node.Errorf("training does not support If, Loop and Scan")
	}
	m, err := ops.Build(node, nil)
	if err != nil {
		return err
	}
	if m.Call != nil {
		return node.Errorf("training does not support the operator, which has no derivative")
	}
	from := make([]te.Source, len(node.Inputs))
	for i, v := range node.Inputs {
		if v == nil {
			continue
		}
		s, ok := at[v]
		if !ok && v.Const == nil {
			return node.Errorf("operand %d (%s) is not computed before", i, ir.Show(v.Name))
		}
		if !ok {
			s = p.operand(v.Const.Type, v.Const.Shape)
			p.fixed[s.N], at[v] = v.Const, s
		}
		from[i] = s
	}
	first := len(p.stages)
	place := func(s te.Source) te.Source {
		if !s.Stage {
			return from[s.N]
		}
		s.N += first
		return s
	}
	for _, s := range m.Stages {
		p.nodes = append(p.nodes, node)
		p.stages = append(p.stages, s.MapExprs(func(e te.Expr) te.Expr {
			if l, ok := e.(te.Load); ok {
				l.Source = place(l.Source)
				return l
			}
			return e
		}))
	}
	for i, v := range node.Outputs {
		if v != nil {
			at[v] = place(m.Outputs[i])
		}
	}
	return nil
}

// explain names the node that an error of a stage is of.
func (p *program) explain(err error) error {
	var e *grad.Error
	if errors.As(err, &e) && e.Stage < len(p.nodes) && p.nodes[e.Stage] != nil {
		return p.nodes[e.Stage].Errorf("%w", err)
	}
	return err
}
