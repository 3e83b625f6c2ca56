package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// lossRows are the losses of classification, which models keep that were exported for
// training or for evaluation.
func lossRows() []*Row {
	row := func(name string, versions []int, outputs int, operands [3]string, build func(*Ctx) (*Meaning, error)) *Row {
		return &Row{
			Name: name, Versions: versions, MinOutputs: 1, MaxOutputs: outputs,
			Inputs: []Param{
				in(operands[0], floats), {Name: operands[1], Types: indexing}, opt(in(operands[2], floats)),
			},
			Attrs: []AttrSpec{intAttr("ignore_index"), strAttr("reduction")}, Build: build,
		}
	}
	return []*Row{
		row("NegativeLogLikelihoodLoss", []int{12, 13, 22}, 1, [3]string{"input", "target", "weight"}, negativeLogLikelihood),
		row("SoftmaxCrossEntropyLoss", []int{12, 13}, 2, [3]string{"scores", "labels", "weights"}, softmaxCrossEntropy),
	}
}

// loss is the weighted loss of samples: operand 0 has a score for each sample and class, its
// axis 1; operand 1 is each sample's class; operand 2, if any, is a weight of each class.
type loss struct {
	c         *Ctx
	x         ir.Shape
	samples   ir.Shape // operand 0 without the classes
	reduction string
	typ, t    ir.DType
	// score is the log of a class's probability for the sample at a point.
	score func(class sym.Expr, at []sym.Expr) te.Expr
}

func (c *Ctx) newLoss() (*loss, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 2 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 2 (samples, classes, further axes of samples)", len(x))
	}
	l := &loss{c: c, x: x, samples: slices.Delete(slices.Clone(x), 1, 2), typ: c.Type(0), t: wide(c.Type(0))}
	if err := c.hasShape(1, l.samples); err != nil {
		return nil, err
	}
	if c.Has(2) {
		if err := c.isVector(2, x[1]); err != nil {
			return nil, err
		}
	}
	if err := c.someOf(x[1], 1, l.samples); err != nil {
		return nil, err
	}
	l.reduction, err = c.choice("reduction", "mean", "none", "sum")
	return l, err
}

// terms are the loss of the sample at a point, and its weight. A sample of the class that is
// ignored has neither, whatever its scores are; other classes that do not exist are errors
// of the run.
func (l *loss) terms(at []sym.Expr) (value, weight te.Expr) {
	const name = "g0"
	class := te.Expr(te.Operand(1, l.c.Type(1), at...))
	known := class
	skip := func(e te.Expr) te.Expr { return e }
	if l.c.Node.Has("ignore_index") {
		ignored := test("eq", cast(ir.I64, class), te.Int(ir.I64, l.c.Node.Int("ignore_index", 0)))
		known = sel(ignored, num(class, 0), class)
		skip = func(e te.Expr) te.Expr { return sel(ignored, num(e, 0), e) }
	}
	let := func(e te.Expr) te.Expr {
		return te.Let{Var: name, Value: known, Lo: sym.Const(0), Hi: sym.Sub(l.x[1], sym.Const(1)), Body: skip(e)}
	}
	value = call("neg", l.score(gv(0), at))
	if !l.c.Has(2) {
		return let(value), skip(te.Number(l.t, 1))
	}
	w := cast(l.t, te.Operand(2, l.typ, gv(0)))
	return let(mul(value, w)), let(w)
}

// stage is the loss of each sample, their sum, or their mean by weight.
func (l *loss) stage() *te.Stage {
	name := l.c.Row.Name
	as := axes(l.samples)
	if l.reduction == "none" {
		value, _ := l.terms(te.AxisVars(as))
		return &te.Stage{Name: name, Axes: as, Results: []te.Expr{cast(l.typ, value)}}
	}
	s := &te.Stage{Name: name, Reduce: reduceAxes(l.samples)}
	value, weight := l.terms(te.AxisVars(s.Reduce))
	sum := te.Expr(te.Acc{Type: l.t})
	s.Combine, s.Values = te.Sum(l.t), []te.Expr{value}
	if l.reduction == "mean" {
		total := count(l.t, product(l.samples...))
		if _, same := weight.(te.Const); !same {
			s.Combine, s.Values = sums(l.t), append(s.Values, weight)
			total = te.Acc{N: 1, Type: l.t}
		}
		sum = div(sum, total)
	}
	s.Results = []te.Expr{cast(l.typ, sum)}
	return s
}

// sums adds up two values at once.
func sums(t ir.DType) *te.Combiner {
	join := func(n int) te.Expr { return add(te.Acc{N: n, Type: t}, te.In{N: n, Type: t}) }
	return &te.Combiner{Name: "sums", Init: []te.Expr{te.Number(t, 0), te.Number(t, 0)}, Join: []te.Expr{join(0), join(1)}}
}

// negativeLogLikelihood takes scores that are logs of probabilities already.
func negativeLogLikelihood(c *Ctx) (*Meaning, error) {
	l, err := c.newLoss()
	if err != nil {
		return nil, err
	}
	l.score = func(class sym.Expr, at []sym.Expr) te.Expr {
		return cast(l.t, c.load0(slices.Insert(slices.Clone(at), 1, class)...))
	}
	return stages(l.stage()), nil
}

// softmaxCrossEntropy makes logs of probabilities of the scores first; they are its second
// result.
func softmaxCrossEntropy(c *Ctx) (*Meaning, error) {
	l, err := c.newLoss()
	if err != nil {
		return nil, err
	}
	m, err := c.newMoments([]int{1})
	if err != nil {
		return nil, err
	}
	m.exponentials(plain)
	l.score = func(class sym.Expr, at []sym.Expr) te.Expr {
		x := cast(l.t, c.load0(slices.Insert(slices.Clone(at), 1, class)...))
		return sub(sub(x, te.FromStage(0, l.t, at...)), call("log", te.FromStage(2, l.t, at...)))
	}
	out := stages(append(m.out, l.stage())...)
	if len(c.Node.Outputs) < 2 {
		return out, nil
	}
	as := axes(l.x)
	index := te.AxisVars(as)
	logs := l.score(index[1], slices.Delete(slices.Clone(index), 1, 2))
	out.Stages = append(out.Stages, &te.Stage{Name: "log_prob", Axes: as, Results: []te.Expr{cast(l.typ, logs)}})
	out.Outputs = append(out.Outputs, te.Source{Stage: true, N: len(out.Stages) - 1})
	return out, nil
}
