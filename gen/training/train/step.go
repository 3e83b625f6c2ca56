package train

import (
	"fmt"
	"slices"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/training/grad"
	"rules_dnn/gen/training/train/tidy"
)

type stepKey struct {
	images   int64
	soft     softened
	training bool
}

// step is a program with its loss and, in training, its gradients.
type step struct {
	*program
	all       []*te.Stage
	outputs   []te.Source // loss, logits; in training the moved statistics and the gradients
	gradients []int       // which of the outputs is a weight's gradient; -1: the loss does not depend on it
	target    int
	teacher   int // the teacher's distributions; -1: nothing is distilled
	seed      int
}

// stepFor makes a step once.
func (n *Network) stepFor(images int64, soft softened, training bool) (*step, error) {
	key := stepKey{images, soft, training}
	if s := n.steps[key]; s != nil {
		return s, nil
	}
	p, err := n.program(images, training)
	if err != nil {
		return nil, err
	}
	s := &step{program: p, teacher: -1}
	target := p.operand(ir.F32, []int64{images, p.classes})
	stages, loss := crossEntropy(p.stages, p.logits, target, images, p.classes)
	if soft.share > 0 {
		teacher := p.operand(ir.F32, []int64{images, p.classes})
		stages, loss = soft.loss(stages, loss, p.logits, teacher, images, p.classes)
		s.teacher = teacher.N
	}
	s.target, s.all, s.outputs = target.N, stages, []te.Source{loss, p.logits}
	if training {
		if err := s.differentiate(n, stages, loss); err != nil {
			return nil, p.explain(err)
		}
	}
	t := tidy.Run(s.all, s.outputs)
	s.all, s.outputs = t.Stages, t.Outputs
	n.steps[key] = s
	return s, nil
}

// differentiate adds the gradients of all weights.
func (s *step) differentiate(n *Network, stages []*te.Stage, loss te.Source) error {
	seed := s.operand(ir.F32, nil)
	s.seed = seed.N
	var by []te.Source
	for _, w := range n.Weights {
		k, ok := s.names[w.Name]
		if !ok {
			return fmt.Errorf("weights %s are not used", ir.Show(w.Name))
		}
		by = append(by, te.Source{N: k})
	}
	d, err := grad.Differentiate(&grad.Program{Stages: stages, Operands: s.program.operands}, []grad.Seed{{Of: loss, Gradient: seed}}, by)
	if err != nil {
		return err
	}
	s.all = d.Stages
	moved := func(x te.Source) te.Source {
		if x.Stage {
			x.N = d.At[x.N]
		}
		return x
	}
	for i, x := range append(s.outputs, s.moved...) {
		if i < len(s.outputs) {
			s.outputs[i] = moved(x)
		} else {
			s.outputs = append(s.outputs, moved(x))
		}
	}
	for _, x := range by {
		g, ok := d.Of[x]
		if !ok {
			s.gradients = append(s.gradients, -1)
			continue
		}
		s.gradients = append(s.gradients, len(s.outputs))
		s.outputs = append(s.outputs, g)
	}
	return nil
}

// Batch is images with the distributions over classes that they shall have.
type Batch struct {
	Images, Targets *ir.Tensor
	// Teacher is the distributions that distillation wants; nil where nothing is distilled.
	Teacher *ir.Tensor
}

// NewBatch is memory for a number of images.
func (n *Network) NewBatch(images int64) *Batch {
	return &Batch{
		Images:  ir.NewTensor(ir.F32, append([]int64{images}, n.Image...)...),
		Targets: ir.NewTensor(ir.F32, images, n.Classes),
	}
}

// outcome is what a step gives.
type outcome struct {
	loss      float32
	whole     float64 // the loss, with the teacher's part of the divergence
	logits    []float32
	moved     [][]float32
	gradients [][]float32 // of the weights, nil where the loss does not depend on them
	done      func()      // gives the memory back
}

// each are the tensors of which batches of several parts have the mean.
func (o *outcome) each() [][]float32 { return slices.Concat(o.moved, o.gradients) }

// run runs a batch. Several may run at a time once their step is made.
func (n *Network) run(b *Batch, soft softened, training bool, workers int) (*outcome, error) {
	s, err := n.stepFor(b.Images.Shape[0], soft, training)
	if err != nil {
		return nil, err
	}
	operands := make([]*ir.Tensor, len(s.program.operands))
	for i, t := range s.fixed {
		operands[i] = t
	}
	for name, i := range s.names {
		if w := n.Find(name); w != nil {
			operands[i] = w.from
		} else {
			operands[i] = b.Images
		}
	}
	operands[s.target] = b.Targets
	if s.teacher >= 0 {
		operands[s.teacher] = b.Teacher
	}
	if training {
		operands[s.seed] = one()
	}
	got, err := interp.Interp{Workers: workers, SkipZeros: true, Memory: &n.memory}.Eval(s.all, s.outputs, operands, nil)
	if err != nil {
		return nil, err
	}
	values := func(i int) []float32 { return elems.View(ir.F32, got[i].Data).F32 }
	out := &outcome{loss: values(0)[0], logits: values(1)}
	out.done = func() { n.memory.Give(computed(s.outputs, got)...) }
	if !training {
		return out, nil
	}
	for i := range s.moved {
		out.moved = append(out.moved, values(2+i))
	}
	own := map[*ir.Tensor]bool{}
	for _, i := range s.gradients {
		var g []float32
		if i >= 0 {
			if g = values(i); own[got[i]] {
				g = slices.Clone(g) // of another weight, too: what is added to one is not the other's
			}
			own[got[i]] = true
		}
		out.gradients = append(out.gradients, g)
	}
	return out, nil
}

// computed are the outputs that stages computed, each once.
func computed(sources []te.Source, got []*ir.Tensor) []*ir.Tensor {
	var out []*ir.Tensor
	for i, s := range sources {
		if s.Stage && !slices.Contains(out, got[i]) {
			out = append(out, got[i])
		}
	}
	return out
}

func one() *ir.Tensor {
	t := ir.NewTensor(ir.F32)
	elems.View(ir.F32, t.Data).F32[0] = 1
	return t
}
