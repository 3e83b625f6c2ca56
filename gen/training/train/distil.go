package train

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Distillation makes a share of the loss temperature^2 times the divergence of the softmax of the logits over the temperature from that of the teacher's: so that its
// gradient is as large as that of the classes' loss, whatever the temperature is.

// softened is how the teacher's part of a loss is made; the zero value is none.
type softened struct{ share, temperature float64 }

func (s *Settings) softened() softened {
	if s.Distillation == 0 {
		return softened{}
	}
	return softened{s.Distillation, s.Temperature}
}

// loss appends the stages of the whole loss: of that of the classes, and of the cross entropy of the softened logits z with the teacher's distributions.
func (s softened) loss(stages []*te.Stage, hard, z, teacher te.Source, images, classes int64) ([]*te.Stage, te.Source) {
	i, c := sym.Var("i0"), sym.Var("i1")
	last := func() te.Source { return te.Source{Stage: true, N: len(stages) - 1} }
	scaled := func(x te.Source, by float64, at ...sym.Expr) te.Expr {
		return te.Fn(ir.F32, "mul", te.Load{Source: x, Type: ir.F32, Index: at}, te.Number(ir.F32, by))
	}
	stages = append(stages, &te.Stage{Name: "softened", Axes: []te.Axis{{Var: "i0", Extent: sym.Const(images)}, {Var: "i1", Extent: sym.Const(classes)}},
		Results: []te.Expr{scaled(z, 1/s.temperature, i, c)}})
	stages, soft := crossEntropy(stages, last(), teacher, images, classes)
	stages = append(stages, &te.Stage{Name: "distilled", Results: []te.Expr{te.Fn(ir.F32, "add", scaled(hard, 1-s.share), scaled(soft, s.weight()))}})
	return stages, last()
}

// weight is what the divergence is multiplied by.
func (s softened) weight() float64 { return float64(s.share * s.temperature * s.temperature) }

// teacher gives the distributions that a network shall have, for its batches.
type teacher struct {
	*Network
	softened
}

// newTeacher is the task's, nil where it wants none.
func (t *Task) newTeacher(n *Network) (*teacher, error) {
	if t.Distillation == 0 {
		return nil, nil
	}
	if t.Teacher == nil {
		return nil, errors.New("distillation needs a teacher")
	}
	if t.Teacher.Classes != n.Classes || !slices.Equal(t.Teacher.Image, n.Image) {
		return nil, fmt.Errorf("the teacher has images of shape %v and %d classes; the trained network has %v and %d", t.Teacher.Image, t.Teacher.Classes, n.Image, n.Classes)
	}
	return &teacher{t.Teacher, t.softened()}, nil
}

// teach fills the batch's distributions in. It gives their mean negative entropy, times its weight in the loss: what makes a divergence of a cross entropy.
func (t *teacher) teach(b *Batch, workers int) (float64, error) {
	out, err := t.run(b, softened{}, false, workers)
	if err != nil {
		return 0, fmt.Errorf("the teacher: %w", err)
	}
	defer out.done()
	if b.Teacher == nil {
		b.Teacher = ir.NewTensor(ir.F32, b.Targets.Shape...)
	}
	classes := int(t.Classes)
	sum := 0.0
	for p, z := f32(b.Teacher), out.logits; len(z) > 0; p, z = p[classes:], z[classes:] {
		sum += soften(p[:classes], z[:classes], t.temperature)
	}
	return float64(t.weight() * sum / float64(b.Targets.Shape[0])), nil
}

// soften makes the softmax of logits over a temperature, and gives its negative entropy.
func soften(to, logits []float32, temperature float64) float64 {
	most, sum, entropy := float64(slices.Max(logits)), 0.0, 0.0
	exps := make([]float64, len(logits))
	for c, z := range logits {
		exps[c] = scalar.Exp((float64(z) - most) / temperature)
		sum += exps[c]
	}
	for c, e := range exps {
		to[c] = float32(e / sum)
		entropy += float64(e / sum * ((float64(logits[c])-most)/temperature - scalar.Log(sum)))
	}
	return entropy
}
