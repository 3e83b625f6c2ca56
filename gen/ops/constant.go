package ops

import (
	"encoding/binary"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func constantRows() []*Row {
	return []*Row{{
		Name: "Constant", Versions: []int{1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
		Attrs: []AttrSpec{
			tensorAttr("value").until(10).required(), tensorAttr("value").from(11), intAttr("value_int").from(12), intsAttr("value_ints").from(12), floatAttr("value_float").from(12),
			floatsAttr("value_floats").from(12),
		},
		Build: constant,
	}}
}

// maxChoice bounds the constants that a stage spells out.
const maxChoice = 4096

// constant spells the elements out. The importer makes values of Constant nodes, so
// this meaning serves graphs that still hold one.
func constant(c *Ctx) (*Meaning, error) {
	t, err := ConstantValue(c.Node)
	if err != nil {
		return nil, err
	}
	xs, err := literals(t)
	if err != nil {
		return nil, fmt.Errorf("attribute value: %w", err)
	}
	if len(xs) > maxChoice {
		return nil, fmt.Errorf("a constant of %d elements; attributes support at most %d: make it an initializer", len(xs), maxChoice)
	}
	as := axes(ir.Dims(t.Shape...))
	at := sym.Const(0)
	for k, a := range as {
		at = sym.Add(sym.Mul(at, a.Extent), iv(k))
	}
	if len(xs) == 0 {
		return one("Constant", as, te.Number(t.Type, 0)), nil
	}
	return one("Constant", as, choose(at, 0, xs)), nil
}

// choose is element at - first of xs, by halving.
func choose(at sym.Expr, first int64, xs []te.Expr) te.Expr {
	if len(xs) == 1 {
		return xs[0]
	}
	half := len(xs) / 2
	mid := first + int64(half)
	before := test("lt", te.Index{Type: ir.I64, E: at}, te.Int(ir.I64, mid))
	return sel(before, choose(at, first, xs[:half]), choose(at, mid, xs[half:]))
}

// ConstantValue is the tensor that a Constant node gives.
func ConstantValue(n *ir.Node) (*ir.Tensor, error) {
	if len(n.Attrs) != 1 {
		return nil, fmt.Errorf("%d attributes %q; want exactly one value", len(n.Attrs), n.Attrs.Names())
	}
	switch v := n.Attrs[n.Attrs.Names()[0]].(type) {
	case *ir.Tensor:
		if v == nil {
			return nil, fmt.Errorf("attribute value holds no tensor")
		}
		return v, nil
	case int64:
		return fill(ir.NewTensor(ir.I64), []int64{v}), nil
	case []int64:
		return fill(ir.NewTensor(ir.I64, int64(len(v))), v), nil
	case float32:
		return fillFloats(ir.NewTensor(ir.F32), []float32{v}), nil
	case []float32:
		return fillFloats(ir.NewTensor(ir.F32, int64(len(v))), v), nil
	}
	return nil, fmt.Errorf("attribute %q is not supported; supported are value, value_int, value_ints, value_float and value_floats", n.Attrs.Names()[0])
}

func fill(t *ir.Tensor, xs []int64) *ir.Tensor {
	for i, x := range xs {
		binary.LittleEndian.PutUint64(t.Data[8*i:], uint64(x))
	}
	return t
}

func fillFloats(t *ir.Tensor, xs []float32) *ir.Tensor {
	for i, x := range xs {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(x))
	}
	return t
}
