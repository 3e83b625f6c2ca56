// Package train trains networks on the processor: any network of differentiable operators, in f32, with the same bytes on
// every machine and for every number of workers.
//
// A network is the graph of an ONNX model whose weights became operands. Its stages, those of the loss and those of their
// gradients (package grad) are one list, which the interpreter executes.
package train

import (
	"fmt"
	"slices"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/onnx"
)

// Network is a model whose weights and statistics training changes.
type Network struct {
	model    *ir.File
	external map[string]*ir.File
	batch    string // the symbol of the number of images; "" where it is fixed
	// Image is the shape of an image, Classes how many logits it has.
	Image   []int64
	Classes int64
	// Weights are what training changes, Statistics what batches move: in the order in which the network uses them.
	Weights, Statistics []*Weight
	steps               map[stepKey]*step
	memory              interp.Memory // of steps
}

// Weight is a tensor of the network's.
type Weight struct {
	Name  string
	Shape []int64
	Data  []float32 // the tensor's own memory
	from  *ir.Tensor
}

// New reads a model. Frozen are the names of weights that training keeps. The model's only input is images, its only
// output the logits of their classes, or a softmax of them.
func New(model *ir.File, external map[string]*ir.File, frozen []string) (*Network, error) {
	n := &Network{model: model, external: external, steps: map[stepKey]*step{}}
	g, err := n.read(0)
	if err != nil {
		return nil, err
	}
	if err := n.checkInterface(g); err != nil {
		return nil, err
	}
	if err := n.take(g, frozen); err != nil {
		return nil, err
	}
	p, err := n.program(1, false)
	if err != nil {
		return nil, err
	}
	n.Classes = p.classes
	return n, nil
}

// read reads the graph for a number of images; 0 leaves it open.
func (n *Network) read(images int64) (*ir.Graph, error) {
	opt := onnx.Options{}
	if images > 0 && n.batch != "" {
		opt.Dims = map[string]onnx.Dim{n.batch: {Lo: images, Hi: images}}
	}
	return onnx.Read(n.model, n.external, opt)
}

// checkInterface checks the network's input and output.
func (n *Network) checkInterface(g *ir.Graph) error {
	if len(g.Inputs) != 1 || len(g.Outputs) != 1 {
		return fmt.Errorf("the network has %d inputs and %d outputs; training needs one input, images, and one output, the logits of their classes", len(g.Inputs), len(g.Outputs))
	}
	in := g.Inputs[0]
	if in.Type != ir.F32 || !in.HasShape || len(in.Shape) < 2 {
		return fmt.Errorf("input %s has type %s and shape %v; training wants f32 and images along the first of at least 2 axes", ir.Show(in.Name), in.Type, in.Shape)
	}
	if _, fixed := in.Shape[0].Const(); !fixed {
		name, ok := in.Shape[0].AsVar()
		if !ok {
			return fmt.Errorf("the number of images of input %s is %s; training wants a number or a symbol", ir.Show(in.Name), in.Shape[0])
		}
		n.batch = name
	}
	image, ok := in.Shape[1:].Static()
	if !ok {
		return fmt.Errorf("input %s has shape %v; training wants images of one size", ir.Show(in.Name), in.Shape)
	}
	n.Image = image
	return nil
}

// take makes weights of the constants of floats. Those of one element without axes are parts of formulas, and stay.
func (n *Network) take(g *ir.Graph, frozen []string) error {
	seen := map[string]bool{}
	for _, name := range frozen {
		seen[name] = true
	}
	for _, node := range g.Nodes {
		statistics := statisticsOf(node)
		for i, v := range node.Inputs {
			if v == nil || v.Const == nil || v.Type != ir.F32 || len(v.Const.Shape) == 0 || seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			w, err := newWeight(v)
			if err != nil {
				return node.Errorf("%w", err)
			}
			if slices.Contains(statistics, i) {
				n.Statistics = append(n.Statistics, w)
			} else {
				n.Weights = append(n.Weights, w)
			}
		}
	}
	if len(n.Weights) == 0 {
		return fmt.Errorf("the network has no weights of type f32 to train")
	}
	return nil
}

func newWeight(v *ir.Value) (*Weight, error) {
	raw, err := v.Const.Bytes()
	if err != nil {
		return nil, fmt.Errorf("weights %s: %w", ir.Show(v.Name), err)
	}
	t := ir.NewTensor(ir.F32, v.Const.Shape...)
	copy(t.Data, raw)
	return &Weight{Name: v.Name, Shape: t.Shape, Data: elems.View(ir.F32, t.Data).F32, from: t}, nil
}

// All are the weights and the statistics.
func (n *Network) All() []*Weight { return slices.Concat(n.Weights, n.Statistics) }

// Find is the weight, or statistics, of a name; nil where there is none.
func (n *Network) Find(name string) *Weight {
	for _, w := range n.All() {
		if w.Name == name {
			return w
		}
	}
	return nil
}
