package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// opaqueRows are the operators that are one Go function and one C++ function: they sort, search
// and count, so that what they read, and how much they give, depends on the elements.
//
// Det could be a scan over the columns, but the choice of a pivot needs a reduction in each
// step, and its matrices are small.
func opaqueRows() []*Row {
	return []*Row{
		{
			Name: "TopK", Versions: []int{1, 10, 11, 24}, Form: Opaque, MinOutputs: 2, MaxOutputs: 2,
			Inputs: []Param{in("X", numbers), since(10, structural("K", int64s))},
			Attrs:  []AttrSpec{intAttr("axis"), intAttr("k").until(9).required(), intAttr("largest").from(11), intAttr("sorted").from(11)}, Build: topK,
		},
		{
			Name: "NonMaxSuppression", Versions: []int{10, 11}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1, Executed: true,
			Inputs: []Param{
				{Name: "boxes", Types: []ir.DType{ir.F32}}, {Name: "scores", Types: []ir.DType{ir.F32}},
				opt(Param{Name: "max_output_boxes_per_class", Types: int64s}),
				opt(Param{Name: "iou_threshold", Types: []ir.DType{ir.F32}}), opt(Param{Name: "score_threshold", Types: []ir.DType{ir.F32}}),
			},
			Attrs: []AttrSpec{intAttr("center_point_box")}, Build: nonMaxSuppression,
		},
		{
			Name: "NonZero", Versions: []int{9, 13}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1, Executed: true,
			Inputs: []Param{in("X", anyType)}, Build: nonZero,
		},
		{
			Name: "Compress", Versions: []int{9, 11, 28}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1, Executed: true,
			Inputs: []Param{in("input", anyType), {Name: "condition", Types: bools}}, Attrs: []AttrSpec{intAttr("axis")}, Build: compress,
		},
		{
			Name: "Unique", Versions: []int{11, 28}, Form: Opaque, MinOutputs: 1, MaxOutputs: 4, Executed: true,
			Inputs: []Param{in("X", anyType)}, Attrs: []AttrSpec{intAttr("axis"), intAttr("sorted")}, Build: unique,
		},
		{
			Name: "Det", Versions: []int{11, 22}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("X", floats)}, Build: det,
		},
		{
			Name: "TfIdfVectorizer", Versions: []int{9}, Form: Opaque, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{{Name: "X", Types: indexing}},
			Attrs: []AttrSpec{
				intAttr("max_gram_length").required(), intAttr("max_skip_count").required(), intAttr("min_gram_length").required(), strAttr("mode").required(),
				intsAttr("ngram_counts").required(), intsAttr("ngram_indexes").required(), intsAttr("pool_int64s"),
				{Name: "pool_strings", Zero: []string(nil)}, {Name: "weights", Zero: []float32(nil)},
			},
			Build: tfIdf,
		},
	}
}

// calls is the meaning of a call of the operands that the node has.
func (c *Ctx) calls(call *opaque.Call) *Meaning {
	for _, v := range c.Node.Inputs {
		var t opaque.Tensor
		if v != nil {
			t = opaque.Tensor{Type: v.Type, Shape: v.Shape}
		}
		call.Operands = append(call.Operands, t)
	}
	for _, k := range call.Consts {
		call.Operands = append(call.Operands, opaque.Tensor{Type: k.Type, Shape: ir.Dims(k.Shape...)})
	}
	return &Meaning{Call: call}
}

// counted is the symbol that a call computes, of those that the node computes the i-th, which is
// at least 0 and at most the expression.
func (c *Ctx) counted(call *opaque.Call, what string, most sym.Expr) sym.Expr {
	i := len(call.Computes)
	name := fmt.Sprintf("computed_%d", i)
	if i < len(c.Node.Computes) {
		name = c.Node.Computes[i]
	}
	call.Computes = append(call.Computes, opaque.Symbol{Name: name, Hi: sym.MaxDim, Max: most, What: what})
	return sym.Var(name)
}

// optionalAxis is the attribute axis, or -1 where all elements are one axis.
func (c *Ctx) optionalAxis(x ir.Shape) (int, error) {
	if !c.Node.Has("axis") {
		return -1, nil
	}
	return c.axisAttr("axis", 0, len(x))
}

// lines cut a shape at an axis: what lies before it, the axis, what lies behind.
func lines(x ir.Shape, axis int) (outer, n, inner sym.Expr) {
	if axis < 0 {
		return sym.Const(1), product(x...), sym.Const(1)
	}
	return product(x[:axis]...), x[axis], product(x[axis+1:]...)
}

// along is a shape with another extent along the axis; all elements are one axis where it is -1.
func along(x ir.Shape, axis int, extent sym.Expr) ir.Shape {
	if axis < 0 {
		return ir.Shape{extent}
	}
	to := slices.Clone(x)
	to[axis] = extent
	return to
}
