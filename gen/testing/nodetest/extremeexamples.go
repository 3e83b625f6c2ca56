package nodetest

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// extremeExamples have integers at the ends of their range, and dimensions of 0.
func extremeExamples() []example {
	return slices.Concat(diagonalExamples(), extremeRangeExamples(), emptyResizeExamples(), emptyProductExamples())
}

// whole is a tensor of integers that no float64 holds.
func whole(t ir.DType, shape []int64, xs ...int64) *ir.Tensor { return edit.IntTensor(t, xs, shape...) }

// diagonalExamples name a diagonal beyond either corner of a matrix.
func diagonalExamples() []example {
	var out []example
	x := []float64{1, 2, 3, 4, 5, 6}
	zeros := make([]float64, len(x))
	for i, k := range []int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64, math.MinInt32 - 1, math.MinInt32, math.MaxInt32, math.MaxInt32 + 1} {
		for upper, kept := range []bool{k > 0, k < 0} {
			want := zeros
			if kept {
				want = x
			}
			out = append(out, example{
				name: fmt.Sprintf("trilu_extreme_%d_%d", i, upper), op: "Trilu", opset: 14, attrs: attrs("upper", int64(upper)),
				in: tensors(numbers(ir.F32, dims(2, 3), x...), whole(ir.I64, dims(), k)), out: tensors(numbers(ir.F32, dims(2, 3), want...)),
			})
		}
		out = append(out, example{
			name: fmt.Sprintf("eyelike_extreme_%d", i), op: "EyeLike", opset: 22, attrs: attrs("k", k),
			in: tensors(numbers(ir.F32, dims(2, 3), x...)), out: tensors(numbers(ir.F32, dims(2, 3), zeros...)),
		})
	}
	return out
}

func extremeRangeExamples() []example {
	const least, most = math.MinInt64, math.MaxInt64
	var out []example
	for i, c := range []struct {
		start, limit, delta int64
		want                []int64
	}{
		{least, least + 3, 1, []int64{least, least + 1, least + 2}},
		{most - 2, most, 1, []int64{most - 2, most - 1}},
		{least + 2, least, -1, []int64{least + 2, least + 1}},
		{most, most - 2, -1, []int64{most, most - 1}},
		{least, most, most, []int64{least, -1, most - 1}},
		{most, least, -most, []int64{most, 0, -most}},
		{0, least, least, []int64{0}},
		{most, least, least, []int64{most, -1}},
		{0, most, 1 << 62, []int64{0, 1 << 62}},
		{most, least, 1, []int64{}},
		{least, most, least, []int64{}},
		{least, least, least, []int64{}},
	} {
		out = append(out, example{
			name: fmt.Sprintf("range_extreme_%d", i), op: "Range", opset: 11,
			in:  tensors(whole(ir.I64, dims(), c.start), whole(ir.I64, dims(), c.limit), whole(ir.I64, dims(), c.delta)),
			out: tensors(whole(ir.I64, dims(int64(len(c.want))), c.want...)),
		})
	}
	return append(out, example{
		name: "range_extreme_i32", op: "Range", opset: 11,
		in:  tensors(whole(ir.I32, dims(), math.MinInt32), whole(ir.I32, dims(), math.MaxInt32), whole(ir.I32, dims(), math.MaxInt32)),
		out: tensors(whole(ir.I32, dims(3), math.MinInt32, -1, math.MaxInt32-1)),
	})
}

// emptyResizeExamples have a batch of none, or an axis of none that stays.
func emptyResizeExamples() []example {
	empty := func(name string, at ir.Attrs, from, to []int64, scales ...float64) example {
		in := tensors(numbers(ir.F32, from), nil, nil, nil)
		if scales != nil {
			in = tensors(in[0], nil, numbers(ir.F32, dims(4), scales...))
		} else {
			in[3] = whole(ir.I64, dims(4), to...)
		}
		return example{name: "resize_empty_" + name, op: "Resize", opset: 19, attrs: at, in: in, out: tensors(numbers(ir.F32, to))}
	}
	out := []example{
		empty("batch", nil, dims(0, 1, 4, 4), dims(0, 1, 8, 8)),
		empty("batch_scales", nil, dims(0, 1, 4, 4), dims(0, 1, 8, 8), 1, 1, 2, 2),
		empty("kept_axis", nil, dims(1, 1, 0, 4), dims(1, 1, 0, 8)),
		empty("scaled_axis", nil, dims(1, 1, 0, 4), dims(1, 1, 0, 8), 1, 1, 2, 2),
	}
	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, coords := range []string{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"} {
			at := attrs("mode", mode, "coordinate_transformation_mode", coords)
			out = append(out, empty(mode+"_"+coords, at, dims(0, 1, 4, 4), dims(0, 1, 8, 8)))
		}
	}
	return out
}

// emptyProductExamples have weights without columns, without rows, and factors without rows.
func emptyProductExamples() []example {
	zeros := func(shape ...int64) *ir.Tensor { return ir.NewTensor(ir.F32, shape...) }
	var out []example
	product := func(op string, opset int, at ir.Attrs, want []int64, in ...*ir.Tensor) {
		name := fmt.Sprintf("empty_product_%d", len(out))
		out = append(out, example{name: name, op: op, opset: opset, attrs: at, in: in, out: tensors(zeros(want...))})
	}
	x := numbers(ir.F32, dims(2, 3), 1, 2, 3, 4, 5, 6)
	for _, s := range [][]int64{{3, 0}, {0, 4}, {0, 0}} {
		left := x
		if s[0] == 0 {
			left = zeros(2, 0)
		}
		product("MatMul", 13, nil, dims(2, s[1]), left, zeros(s...))
		product("MatMul", 13, nil, dims(0, s[1]), zeros(0, s[0]), zeros(s...))
		product("MatMul", 13, nil, dims(5, 2, s[1]), zeros(5, 2, s[0]), zeros(s...))
		product("Gemm", 13, nil, dims(2, s[1]), left, zeros(s...))
		product("Gemm", 13, attrs("transB", int64(1)), dims(2, s[1]), left, zeros(s[1], s[0]))
		product("Einsum", 12, attrs("equation", "ij,jk->ik"), dims(2, s[1]), left, zeros(s...))
		product("Einsum", 12, attrs("equation", "bij,jk->bik"), dims(2, 2, s[1]), zeros(2, 2, s[0]), zeros(s...))
	}
	for rank := 1; rank <= 3; rank++ {
		filter, picture, result := slices.Repeat(dims(3), rank), slices.Repeat(dims(5), rank), slices.Repeat(dims(3), rank)
		with := func(a, b int64, rest []int64) []int64 { return append(dims(a, b), rest...) }
		product("Conv", 11, nil, with(2, 0, result), zeros(with(2, 4, picture)...), zeros(with(0, 4, filter)...))
		product("Conv", 11, nil, with(2, 4, result), zeros(with(2, 0, picture)...), zeros(with(4, 0, filter)...))
		product("Conv", 11, nil, with(2, 0, result), zeros(with(2, 0, picture)...), zeros(with(0, 0, filter)...))
		product("Conv", 11, nil, with(0, 8, result), zeros(with(0, 4, picture)...), zeros(with(8, 4, filter)...))
		product("Conv", 11, nil, with(2, 0, result), zeros(with(2, 4, picture)...), zeros(with(0, 4, filter)...), zeros(0))
		product("Conv", 11, attrs("group", int64(2)), with(2, 0, result), zeros(with(2, 4, picture)...), zeros(with(0, 2, filter)...))
		product("Conv", 11, attrs("group", int64(4)), with(2, 4, result), zeros(with(2, 4, picture)...), zeros(with(4, 1, filter)...))
	}
	return out
}
