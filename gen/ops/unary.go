package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// unaryRows are the operators that are one scalar function of one operand.
func unaryRows() []*Row {
	type u struct {
		name     string
		versions []int
		types    []ir.DType
		fn       string
	}
	var rows []*Row
	for _, x := range []u{
		{"Neg", []int{6, 13}, append(append([]ir.DType{}, signed...), floats...), "neg"},
		{"Abs", []int{6, 13}, numbers, "abs"},
		{"Sign", []int{9, 13}, numbers, "sign"},
		{"Sqrt", []int{6, 13}, floats, "sqrt"},
		{"Exp", []int{6, 13}, floats, "exp"},
		{"Log", []int{6, 13}, floats, "log"},
		{"Floor", []int{6, 13}, floats, "floor"},
		{"Ceil", []int{6, 13}, floats, "ceil"},
		{"Round", []int{11, 22}, floats, "round"},
		{"Sin", []int{7, 22}, floats, "sin"},
		{"Cos", []int{7, 22}, floats, "cos"},
		{"Tan", []int{7, 22}, floats, "tan"},
		{"Asin", []int{7, 22}, floats, "asin"},
		{"Acos", []int{7, 22}, floats, "acos"},
		{"Atan", []int{7, 22}, floats, "atan"},
		{"Sinh", []int{9, 22}, floats, "sinh"},
		{"Cosh", []int{9, 22}, floats, "cosh"},
		{"Tanh", []int{6, 13}, floats, "tanh"},
		{"Asinh", []int{9, 22}, floats, "asinh"},
		{"Acosh", []int{9, 22}, floats, "acosh"},
		{"Atanh", []int{9, 22}, floats, "atanh"},
		{"Not", []int{1}, bools, "not"},
		{"BitwiseNot", []int{18}, integers, "bitnot"},
	} {
		rows = append(rows, unaryRow(x.name, x.versions, x.types, func(_ *Ctx, v []te.Expr) (te.Expr, error) {
			return call(x.fn, v[0]), nil
		}))
	}
	return append(rows,
		unaryRow("Reciprocal", []int{6, 13}, floats, func(_ *Ctx, x []te.Expr) (te.Expr, error) {
			return div(num(x[0], 1), x[0]), nil
		}),
		unaryRow("Erf", []int{9, 13}, numbers, func(_ *Ctx, x []te.Expr) (te.Expr, error) {
			if t := x[0].DType(); !t.IsFloat() {
				return cast(t, call("erf", cast(floating(t), x[0]))), nil
			}
			return call("erf", x[0]), nil
		}),
		unaryRow("Identity", []int{1, 13, 14, 16, 19, 21, 23, 24, 25}, anyType, identity),
		unaryRow("IsNaN", []int{9, 13, 20}, floats, func(_ *Ctx, x []te.Expr) (te.Expr, error) {
			return test("isnan", x[0]), nil
		}),
		unaryRow("IsInf", []int{10, 20}, floats, isInf, intAttr("detect_negative"), intAttr("detect_positive")),
		// saturate and round_mode concern float8 types only, which are not supported.
		unaryRow("Cast", []int{6, 9, 13, 19, 21, 23, 24, 25, 28}, anyType, castTo,
			intAttr("to").required(), intAttr("saturate").from(19), strAttr("round_mode").from(24)),
		castLikeRow(),
		unaryRow("BitCast", []int{26}, anyType, bitCast, intAttr("to").required()),
	)
}

// unaryRow is an operator on one operand.
func unaryRow(name string, versions []int, types []ir.DType, f body, attrs ...AttrSpec) *Row {
	return &Row{
		Name: name, Versions: versions, Inputs: []Param{in("X", types)}, Attrs: attrs,
		MinOutputs: 1, MaxOutputs: 1, Build: elementwise(f),
	}
}

func identity(_ *Ctx, x []te.Expr) (te.Expr, error) { return x[0], nil }

func isInf(c *Ctx, x []te.Expr) (te.Expr, error) {
	neg, err := c.flag("detect_negative", 1)
	if err != nil {
		return nil, err
	}
	pos, err := c.flag("detect_positive", 1)
	if err != nil {
		return nil, err
	}
	inf, zero := test("isinf", x[0]), num(x[0], 0)
	switch {
	case neg && pos:
		return inf, nil
	case neg:
		return te.Fn(ir.Bool, "and", inf, test("lt", x[0], zero)), nil
	case pos:
		return te.Fn(ir.Bool, "and", inf, test("gt", x[0], zero)), nil
	}
	return te.Int(ir.Bool, 0), nil
}

// onnxTypes are the element types by their number in ONNX's TensorProto.DataType.
var onnxTypes = map[int64]ir.DType{
	1: ir.F32, 2: ir.U8, 3: ir.I8, 4: ir.U16, 5: ir.I16, 6: ir.I32, 7: ir.I64, 9: ir.Bool,
	10: ir.F16, 11: ir.F64, 12: ir.U32, 13: ir.U64, 16: ir.BF16,
}

// dataType is a type's number in onnxTypes.
func dataType(t ir.DType) int64 {
	for k, x := range onnxTypes {
		if x == t {
			return k
		}
	}
	panic(fmt.Sprintf("type %s has no number in ONNX", t))
}

// otherTypes are the names of ONNX's data types that are no element types here.
var otherTypes = map[int64]string{
	8: "string", 14: "complex64", 15: "complex128", 17: "float8e4m3fn", 18: "float8e4m3fnuz", 19: "float8e5m2",
	20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2",
	27: "float6e2m3", 28: "float6e3m2",
}

// typeAttr reads an attribute that is a TensorProto.DataType.
func (c *Ctx) typeAttr(attr string) (ir.DType, error) {
	k := c.Node.Int(attr, 0)
	t, ok := onnxTypes[k]
	if name, known := otherTypes[k]; known {
		return 0, fmt.Errorf("attribute %s is data type %d (%s); supported are %s", attr, k, name, typeNames(anyType))
	} else if !ok {
		return 0, fmt.Errorf("attribute %s is data type %d; supported are %s", attr, k, typeNames(anyType))
	}
	return t, nil
}

func castTo(c *Ctx, x []te.Expr) (te.Expr, error) {
	t, err := c.typeAttr("to")
	if err != nil {
		return nil, err
	}
	return cast(t, x[0]), nil
}

func castLikeRow() *Row {
	return &Row{
		Name: "CastLike", Versions: []int{15, 19, 21, 23, 24, 25},
		Inputs:     []Param{in("input", anyType), {Name: "target_type", Types: anyType}},
		Attrs:      []AttrSpec{intAttr("saturate").from(19), strAttr("round_mode").from(24)},
		MinOutputs: 1, MaxOutputs: 1,
		Build: func(c *Ctx) (*Meaning, error) {
			s, err := c.Shape(0)
			if err != nil {
				return nil, err
			}
			as := axes(s)
			return one("CastLike", as, cast(c.Type(1), te.Operand(0, c.Type(0), te.AxisVars(as)...))), nil
		},
	}
}
