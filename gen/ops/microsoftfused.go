package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// oldFloats are the floats of definitions that never learned bf16.
var oldFloats = []ir.DType{ir.F16, ir.F32, ir.F64}

// microsoftFusedRows are what ONNX Runtime's optimizers make of several nodes of floats, in terms of these again: what is fused here is
// decided anew.
func microsoftFusedRows() []*Row {
	row := func(name string, inputs []Param, attrs []AttrSpec, compose func(b *composer) ([]*ir.Value, error)) *Row {
		return &Row{Name: Microsoft + name, Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1, Inputs: inputs, Attrs: attrs, Compose: compose}
	}
	simple := func(name string, inputs []Param, compose func(b *composer) *ir.Value, attrs ...AttrSpec) *Row {
		return row(name, inputs, attrs, func(b *composer) ([]*ir.Value, error) { return []*ir.Value{compose(b)}, nil })
	}
	gemm := []ir.DType{ir.I32, ir.I64, ir.U32, ir.U64, ir.F16, ir.F32, ir.F64}
	return []*Row{
		simple("Gelu", []Param{in("X", floats)}, func(b *composer) *ir.Value { return b.op("Gelu", nil, b.operands[0]) }),
		simple("BiasGelu", []Param{in("A", floats).shaped("... hidden"), in("B", floats).shaped("hidden")}, func(b *composer) *ir.Value {
			return b.op("Gelu", nil, b.sum(0, 1))
		}),
		simple("FastGelu", []Param{in("X", floats).shaped("... hidden"), opt(in("bias", floats).shaped("hidden"))}, func(b *composer) *ir.Value {
			return b.op("Gelu", ir.Attrs{"approximate": "tanh"}, b.sum(0, 1))
		}),
		simple("QuickGelu", []Param{in("X", floats)}, func(b *composer) *ir.Value {
			return b.op("Swish", ir.Attrs{"alpha": b.Node.Float("alpha", 1.702)}, b.operands[0])
		}, floatAttr("alpha")),
		row("FusedMatMul", []Param{in("A", floats), in("B", floats)},
			[]AttrSpec{floatAttr("alpha"), intAttr("transA"), intAttr("transB"), intAttr("transBatchA"), intAttr("transBatchB")}, fusedMatMul),
		row("FusedGemm", []Param{in("A", gemm), in("B", gemm), opt(in("C", gemm))}, []AttrSpec{
			floatAttr("alpha"), floatAttr("beta"), intAttr("transA"), intAttr("transB"),
			strAttr("activation"), floatAttr("activation_alpha"), floatAttr("activation_beta"), floatAttr("activation_gamma"),
		}, fusedGemm),
		row("FusedConv", []Param{in("X", oldFloats), in("W", oldFloats), opt(in("B", oldFloats)), opt(in("Z", oldFloats))},
			append(windowAttrs(), intsAttr("dilations"), intAttr("group"), strAttr("activation"), floatsAttr("activation_params")), fusedConv),
		skipNormRow("SkipLayerNormalization", opt(in("beta", shortFloats).shaped("hidden"))),
		skipNormRow("SkipSimplifiedLayerNormalization"),
		embedNormRow(),
	}
}

// sum adds the operands that are present.
func (b *composer) sum(operands ...int) *ir.Value {
	v := b.operands[operands[0]]
	for _, i := range operands[1:] {
		if b.operands[i] != nil {
			v = b.add(v, b.operands[i])
		}
	}
	return v
}

// scaled is v times an attribute, unless that is 1.
func (b *composer) scaled(v *ir.Value, attr string, t ir.DType) *ir.Value {
	x := b.Node.Float(attr, 1)
	if x == 1 {
		return v
	}
	return b.mul(v, b.cast(b.float(ir.F32, float64(x)), ir.F32, t))
}

// fusedMatMul is a product of matrices of which some are turned, and whose first axis may stand before those of the batch.
func fusedMatMul(b *composer) ([]*ir.Value, error) {
	var turned [2]*ir.Value
	x, y, err := b.shapes2()
	if err != nil {
		return nil, err
	}
	for i, name := range []string{"A", "B"} {
		s := []ir.Shape{x, y}[i]
		matrix, err := b.flag("trans"+name, 0)
		if err != nil {
			return nil, err
		}
		batch, err := b.flag("transBatch"+name, 0)
		if err != nil {
			return nil, err
		}
		if batch && len(x) != len(y) {
			return nil, fmt.Errorf("attribute transBatch%s is 1, and the operands have ranks %d and %d; want equal ranks", name, len(x), len(y))
		}
		turned[i] = b.operands[i]
		n := len(s)
		if n < 2 || !matrix && !batch {
			continue // a vector has no axes to swap
		}
		perm := make([]int64, n)
		for k := range perm {
			perm[k] = int64(k)
		}
		if batch {
			perm = append(append(perm[1:n-1:n-1], 0), int64(n-1))
		}
		if matrix {
			perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
		}
		turned[i] = b.op("Transpose", ir.Attrs{"perm": perm}, turned[i])
	}
	return []*ir.Value{b.scaled(b.op("MatMul", nil, turned[0], turned[1]), "alpha", b.Type(0))}, nil
}

// fusedActivations are those that ONNX Runtime fuses, with the names of their parameters in their order.
var fusedActivations = map[string][]string{
	"Relu": nil, "Sigmoid": nil, "Tanh": nil, "Softplus": nil, "Softsign": nil, "HardSwish": nil, "Clip": {"min", "max"},
	"LeakyRelu": {"alpha"}, "Elu": {"alpha"}, "ThresholdedRelu": {"alpha"}, "HardSigmoid": {"alpha", "beta"}, "Selu": {"alpha", "gamma"},
}

// activated applies the function that attribute activation names; param gives its parameters, by number and by name, if the node has them.
func (b *composer) activated(v *ir.Value, param func(i int, name string) (float32, bool)) (*ir.Value, error) {
	name := b.Node.Str("activation", "")
	if name == "" {
		return v, nil
	}
	params, known := fusedActivations[name]
	if !known {
		names := make([]string, 0, len(fusedActivations))
		for n := range fusedActivations {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("attribute activation is %q; supported are %q", name, names)
	}
	attrs, bounds := ir.Attrs{}, []*ir.Value{v}
	for i, p := range params {
		x, has := param(i, p)
		switch {
		case name == "Clip" && !has:
			return nil, fmt.Errorf("attribute activation is Clip, but attribute activation_params is absent; want the minimum and the maximum there")
		case name == "Clip":
			bounds = append(bounds, b.cast(b.float(ir.F32, float64(x)), ir.F32, b.Type(0)))
		case has:
			attrs[p] = x
		}
	}
	return b.op(name, attrs, bounds...), nil
}

func fusedGemm(b *composer) ([]*ir.Value, error) {
	attrs := b.attrsBut("activation", "activation_alpha", "activation_beta", "activation_gamma")
	y, err := b.activated(b.op("Gemm", attrs, present(b.operands[0], b.operands[1], b.operands[2])...), func(_ int, name string) (float32, bool) {
		name = "activation_" + name
		return b.Node.Float(name, 0), b.Node.Has(name)
	})
	return []*ir.Value{y}, err
}

// fusedConv adds another tensor to the convolution before the activation, if there is one.
func fusedConv(b *composer) ([]*ir.Value, error) {
	y := b.op("Conv", b.attrsBut("activation", "activation_params"), present(b.operands[0], b.operands[1], b.operands[2])...)
	if b.operands[3] != nil {
		if err := b.likeConv(3); err != nil {
			return nil, err
		}
		y = b.add(y, b.operands[3])
	}
	y, err := b.activated(y, func(i int, _ string) (float32, bool) {
		if xs := b.Node.Floats("activation_params"); i < len(xs) {
			return xs[i], true
		}
		return 0, false
	})
	return []*ir.Value{y}, err
}

// likeConv requires that an operand has the shape of the convolution of the first three.
func (b *composer) likeConv(i int) error {
	row := b.row("Conv")
	node := &ir.Node{Op: row.Name, Attrs: b.attrsBut("activation", "activation_params"), Inputs: present(b.Node.Inputs[:3]...)}
	m, err := row.Build(&Ctx{Node: node, Facts: b.Facts, Row: row, Version: row.newest()})
	if err != nil {
		return err
	}
	return b.hasShape(i, m.Stages[m.Outputs[0].N].Shape())
}

// attrsBut are the node's attributes without some.
func (b *composer) attrsBut(names ...string) ir.Attrs {
	out := ir.Attrs{}
	for _, name := range b.Node.Attrs.Names() {
		if !slices.Contains(names, name) {
			out[name] = b.Node.Attrs[name]
		}
	}
	return out
}
