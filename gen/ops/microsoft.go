package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// Microsoft is what names of operators of ONNX Runtime's own domain begin with.
const Microsoft = "com.microsoft."

// microsoftRows are ONNX Runtime's own operators on quantized tensors, in terms of ONNX's: what an operator computes of floats, between
// DequantizeLinear and QuantizeLinear, as its documentation says. Package islands makes integer operators of these.
func microsoftRows() []*Row {
	unary := func(name string, params []Param, build func(b *composer, x *ir.Value) (*ir.Value, error), attrs ...AttrSpec) *Row {
		return quantizedRow(name, attrs, params, func(b *composer) (*ir.Value, error) { return build(b, b.dequantized(0)) })
	}
	binary := func(name, op string) *Row {
		params := slices.Concat(quantizedParams("A", true, "", true)[:3], quantizedParams("B", true, "C", true))
		return quantizedRow(name, nil, params, func(b *composer) (*ir.Value, error) {
			return b.op(op, nil, b.dequantized(0), b.dequantized(3)), nil
		})
	}
	params, required := quantizedParams("X", true, "Y", true), quantizedParams("X", false, "Y", false)
	windows := append(windowAttrs(), intAttr("ceil_mode"), intAttr("channels_last"), intAttr("count_include_pad"))
	windows[1] = windows[1].required()
	rows := []*Row{
		binary("QLinearAdd", "Add"),
		binary("QLinearMul", "Mul"),
		unary("QLinearAveragePool", params, averagePooled, windows...),
		unary("QLinearGlobalAveragePool", required, globallyPooled, intAttr("channels_last")),
		unary("QLinearLeakyRelu", params, leakyRelu, floatAttr("alpha")),
		unary("QLinearReduceMean", params, reducedMean, intsAttr("axes").required(), intAttr("keepdims").required()),
		unary("QLinearSigmoid", params, sigmoidOf),
		unary("QLinearSoftmax", quantizedParams("X", true, "Y", false), softmaxOf, intAttr("axis"), intAttr("opset").required()),
		quantizedConcatRow(), quantizedWhereRow(),
	}
	return append(rows, microsoftProductRows()...)
}

func byteParam(name string) Param  { return Param{Name: name, Types: quantized8, Like: "T"} }
func scaleParam(name string) Param { return Param{Name: name, Types: single, Shape: oneNumber} }

// quantizedParams are an operand with its scale and zero point, and the scale and the zero point of another tensor.
func quantizedParams(x string, optional bool, y string, optionalToo bool) []Param {
	zero := func(name string, optional bool) Param {
		p := byteParam(name + "_zero_point").shaped(oneNumber)
		p.Optional = optional
		return p
	}
	return []Param{byteParam(x), scaleParam(x + "_scale"), zero(x, optional), scaleParam(y + "_scale"), zero(y, optionalToo)}
}

// quantizedRow is an operator whose last two operands are the scale and the zero point by which its result is quantized, and whose first is
// of the result's type.
func quantizedRow(name string, attrs []AttrSpec, params []Param, build func(b *composer) (*ir.Value, error)) *Row {
	return &Row{
		Name: Microsoft + name, Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1, Inputs: params, Attrs: attrs,
		Compose: func(b *composer) ([]*ir.Value, error) {
			y, err := build(b)
			if err != nil {
				return nil, err
			}
			n := len(params)
			return []*ir.Value{b.quantize(y, b.operands[n-2], b.operands[n-1], b.Type(0))}, nil
		},
	}
}

// dequantized is what operand i stands for, behind which its scale and its zero point are.
func (b *composer) dequantized(i int) *ir.Value {
	return b.op("DequantizeLinear", nil, present(b.operands[i], b.operands[i+1], b.operands[i+2])...)
}

// quantize makes integers of a type of floats.
func (b *composer) quantize(v, scale, zero *ir.Value, t ir.DType) *ir.Value {
	if zero == nil {
		return b.op("QuantizeLinear", ir.Attrs{"output_dtype": dataType(t)}, v, scale)
	}
	return b.op("QuantizeLinear", nil, v, scale, zero)
}

// present leaves out what is absent at the end.
func present(vs ...*ir.Value) []*ir.Value {
	for len(vs) > 0 && vs[len(vs)-1] == nil {
		vs = vs[:len(vs)-1]
	}
	return vs
}

func leakyRelu(b *composer, x *ir.Value) (*ir.Value, error) {
	return b.op("LeakyRelu", ir.Attrs{"alpha": b.Node.Float("alpha", 0.01)}, x), nil
}

func sigmoidOf(b *composer, x *ir.Value) (*ir.Value, error) { return b.op("Sigmoid", nil, x), nil }

func reducedMean(b *composer, x *ir.Value) (*ir.Value, error) {
	return b.op("ReduceMean", ir.Attrs{"keepdims": b.Node.Int("keepdims", 1)}, x, b.ints(b.Node.Ints("axes")...)), nil
}

// softmaxOf is Softmax of the definition that attribute opset names: before 13 of all axes from one on.
func softmaxOf(b *composer, x *ir.Value) (*ir.Value, error) {
	axis := b.Node.Int("axis", -1)
	if b.Node.Int("opset", 0) >= 13 {
		return b.op("Softmax", ir.Attrs{"axis": axis}, x), nil
	}
	flat := b.op("Flatten", ir.Attrs{"axis": axis}, x)
	soft, zeros := b.op("Softmax", ir.Attrs{"axis": int64(1)}, flat), ir.Attrs{"allowzero": int64(1)} // no copies: of an empty tensor the shape holds zeros
	return b.op("Reshape", zeros, soft, b.op("Shape", nil, x)), nil
}

func averagePooled(b *composer, x *ir.Value) (*ir.Value, error) {
	attrs := ir.Attrs{}
	for _, name := range b.Node.Attrs.Names() {
		if name != "channels_last" {
			attrs[name] = b.Node.Attrs[name]
		}
	}
	return b.pooled("AveragePool", attrs, x)
}

func globallyPooled(b *composer, x *ir.Value) (*ir.Value, error) {
	return b.pooled("GlobalAveragePool", nil, x)
}

// pooled is a pool of channels that may be the last axis.
func (b *composer) pooled(op string, attrs ir.Attrs, x *ir.Value) (*ir.Value, error) {
	last, err := b.flag("channels_last", 0)
	if err != nil || !last {
		return b.op(op, attrs, x), err
	}
	s, err := b.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(s) < 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 3 (batch, spatial axes, channel)", len(s))
	}
	first, back := []int64{0, int64(len(s)) - 1}, []int64{0}
	for k := 1; k < len(s)-1; k++ {
		first, back = append(first, int64(k)), append(back, int64(k+1))
	}
	back = append(back, 1)
	y := b.op(op, attrs, b.op("Transpose", ir.Attrs{"perm": first}, x))
	return b.op("Transpose", ir.Attrs{"perm": back}, y), nil
}

// quantizedConcatRow is Concat of tensors that each have a scale and a zero point behind them.
func quantizedConcatRow() *Row {
	return &Row{
		Name: Microsoft + "QLinearConcat", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1, Attrs: []AttrSpec{intAttr("axis").required()},
		Inputs: []Param{
			scaleParam("Y_scale"), byteParam("Y_zero_point").shaped(oneNumber),
			Param{Name: "inputs", Variadic: true, Types: []ir.DType{ir.I8, ir.U8, ir.F32}}.shaped("...; " + oneNumber + "; " + oneNumber),
		},
		Compose: func(b *composer) ([]*ir.Value, error) {
			n := len(b.Node.Inputs)
			if n < 5 || n%3 != 2 {
				return nil, fmt.Errorf("%d operands; want a scale, a zero point, and three for each tensor: itself, its scale and its zero point", n)
			}
			var parts []*ir.Value
			for i := 2; i < n; i += 3 {
				parts = append(parts, b.dequantized(i))
			}
			y := b.op("Concat", ir.Attrs{"axis": b.Node.Int("axis", 0)}, parts...)
			return []*ir.Value{b.quantize(y, b.operands[0], b.operands[1], b.Type(1))}, nil
		},
	}
}

// quantizedWhereRow is Where of two tensors.
func quantizedWhereRow() *Row {
	params := slices.Concat([]Param{{Name: "condition", Types: bools}}, quantizedParams("X", false, "Y", false)[:3],
		quantizedParams("Y", false, "Z", false))
	return &Row{
		Name: Microsoft + "QLinearWhere", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1, Inputs: params,
		Compose: func(b *composer) ([]*ir.Value, error) {
			y := b.op("Where", nil, b.operands[0], b.dequantized(1), b.dequantized(4))
			return []*ir.Value{b.quantize(y, b.operands[7], b.operands[8], b.Type(1))}, nil
		},
	}
}
