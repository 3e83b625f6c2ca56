package train

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// crossEntropy appends the stages of the mean loss of images: for logits z and targets t, distributions over the classes,
// the sum of t * (log(sum(exp(z - max z))) + max z - z). It gives the loss, which has no axes.
func crossEntropy(stages []*te.Stage, z, t te.Source, images, classes int64) ([]*te.Stage, te.Source) {
	i, c, r0, r1 := sym.Var("i0"), sym.Var("r0"), sym.Var("r0"), sym.Var("r1")
	image := []te.Axis{{Var: "i0", Extent: sym.Const(images)}}
	class := []te.Axis{{Var: "r0", Extent: sym.Const(classes)}}
	both := []te.Axis{{Var: "r0", Extent: sym.Const(images)}, {Var: "r1", Extent: sym.Const(classes)}}
	load := func(s te.Source, at ...sym.Expr) te.Expr { return te.Load{Source: s, Type: ir.F32, Index: at} }
	fn := func(name string, args ...te.Expr) te.Expr { return te.Fn(ir.F32, name, args...) }
	acc := []te.Expr{te.Acc{Type: ir.F32}}
	n := len(stages)
	at := func(k int) te.Source { return te.Source{Stage: true, N: n + k} }
	most := &te.Stage{Name: "max", Axes: image, Reduce: class, Combine: te.Max(ir.F32), Values: []te.Expr{load(z, i, c)}, Results: acc}
	sum := &te.Stage{Name: "sum", Axes: image, Reduce: class, Combine: te.Sum(ir.F32),
		Values: []te.Expr{fn("exp", fn("sub", load(z, i, c), load(at(0), i)))}, Results: acc}
	log := &te.Stage{Name: "log", Axes: image, Results: []te.Expr{fn("add", fn("log", load(at(1), i)), load(at(0), i))}}
	loss := &te.Stage{Name: "loss", Reduce: both, Combine: te.Sum(ir.F32),
		Values:  []te.Expr{fn("mul", load(t, r0, r1), fn("sub", load(at(2), r0), load(z, r0, r1)))},
		Results: []te.Expr{fn("mul", te.Acc{Type: ir.F32}, te.Number(ir.F32, 1/float64(images)))}}
	return append(stages, most, sum, log, loss), at(3)
}
