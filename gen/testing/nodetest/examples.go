package nodetest

import (
	"slices"

	"rules_dnn/gen/ir"
)

// families are the lists of our own examples. Their results are worked out by hand or by
// ONNX's reference implementation.
var families = []func() []example{activationExamples, newTypeExamples, borderExamples, roiExamples, alignExamples, normExamples, trainExamples, extremeExamples}

func activationExamples() []example {
	celu := each([]ir.DType{ir.F16, ir.BF16, ir.F64}, func(t ir.DType) example {
		return example{
			name: "celu", op: "Celu", opset: 28, attrs: attrs("alpha", float32(2)),
			in:  tensors(numbers(t, dims(4), -2, -0.5, 0, 1.5)),
			out: tensors(numbers(t, dims(4), -1.26424, -0.442398, 0, 1.5)),
		}
	})
	return append(celu, swiGLUExamples()...)
}

func swiGLUExamples() []example {
	swiglu := func(name string, at ir.Attrs, want ...float64) []example {
		return each([]ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64}, func(t ir.DType) example {
			return example{
				name: "swiglu" + name, op: "SwiGLU", opset: 28, attrs: at,
				in: tensors(
					numbers(t, dims(2, 4), 1, -2, 3, 4, -1, 2, -3, 0.5),
					numbers(t, dims(2, 4), 0.5, 1, -1, 2, 2, -1, 0.5, 1),
				),
				out: tensors(numbers(t, dims(2, 4), want...)),
			}
		})
	}
	return slices.Concat(
		swiglu("", nil, 0.365529, -0.238406, -2.857722, 7.856110, -0.537883, -1.761594, -0.0711388, 0.311230),
		swiglu("_alpha", attrs("alpha", float32(-2)), 0.0596015, -1.964028, -0.00741787, 0.00268280, -1.761594, -0.0359724, -1.496291, 0.134471),
	)
}

// newTypeExamples have types that opset 28 gave to older operators.
func newTypeExamples() []example {
	signed := []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64}
	shift := func(name, direction string, want ...float64) []example {
		return each(signed, func(t ir.DType) example {
			return example{
				name: "bitshift_" + name, op: "BitShift", opset: 28, attrs: attrs("direction", direction),
				in:  tensors(numbers(t, dims(4), -16, -1, 7, 25), numbers(t, dims(4), 1, 3, 2, 2)),
				out: tensors(numbers(t, dims(4), want...)),
			}
		})
	}
	half := []ir.DType{ir.BF16}
	out := append(shift("left", "LEFT", -32, -8, 28, 100), shift("right", "RIGHT", -8, -1, 1, 6)...)
	out = append(out, each(half, func(t ir.DType) example {
		return example{
			name: "einsum_outer", op: "Einsum", opset: 28, attrs: attrs("equation", "i,j->ij"),
			in:  tensors(numbers(t, dims(2), 1, -2), numbers(t, dims(3), 0.5, 3, -1)),
			out: tensors(numbers(t, dims(2, 3), 0.5, 3, -1, -1, -6, 2)),
		}
	})...)
	out = append(out, each(half, func(t ir.DType) example {
		return example{
			name: "onehot", op: "OneHot", opset: 28,
			in:  tensors(numbers(ir.I64, dims(3), 2, 0, -2), numbers(ir.I64, dims(), 3), numbers(t, dims(2), -1, 5)),
			out: tensors(numbers(t, dims(3, 3), -1, -1, 5, 5, -1, -1, -1, 5, -1)),
		}
	})...)
	return append(out, each(half, func(t ir.DType) example {
		return example{
			name: "reversesequence", op: "ReverseSequence", opset: 28, attrs: attrs("batch_axis", int64(0), "time_axis", int64(1)),
			in:  tensors(numbers(t, dims(2, 3), 1, 2, 3, 4, 5, 6), numbers(ir.I64, dims(2), 3, 2)),
			out: tensors(numbers(t, dims(2, 3), 3, 2, 1, 5, 4, 6)),
		}
	})...)
}

// borderExamples sample between the centre and the border of a tensor's first elements, where
// the element before is clamped to the first.
func borderExamples() []example {
	return each([]ir.DType{ir.F32, ir.F64}, func(t ir.DType) example {
		return example{
			name: "gridsample_first_border", op: "GridSample", opset: 20, attrs: attrs("padding_mode", "border"),
			in: tensors(
				numbers(t, dims(1, 1, 2, 2), 1, 2, 3, 4),
				numbers(t, dims(1, 1, 4, 2), -0.75, -0.5, -0.5, -0.75, -0.9, -0.9, 0.9, -0.9),
			),
			out: tensors(numbers(t, dims(1, 1, 1, 4), 1, 1, 1, 2)),
		}
	})
}

// roiExamples pool regions within the tensor, across its border, beside it, of halves, and one
// that ends before it begins. ONNX has none of MaxRoiPool; these are ONNX Runtime's results.
func roiExamples() []example {
	x := []float64{3, -1, 4, 1, -5, 9, 2, -6, 5, 3, 5, -8, 9, 7, 9, -3, 2, 3, -8, 4}
	for _, v := range x[:20] {
		x = append(x, -v)
	}
	rois := []float64{
		0, 0, 0, 4, 3,
		1, 1, 1, 6, 5,
		0, -3, -2, 1, 0,
		1, 4, 3, 2, 1,
		0, 7, 7, 9, 9,
		1, 1.5, 0.5, 2.5, 3.5,
	}
	pool := func(name string, opset int, ts []ir.DType, scale float32, want ...float64) []example {
		return each(ts, func(t ir.DType) example {
			return example{
				name: "maxroipool" + name, op: "MaxRoiPool", opset: opset, attrs: attrs("pooled_shape", dims(2, 2), "spatial_scale", scale),
				in:  tensors(numbers(t, dims(2, 1, 4, 5), x...), numbers(t, dims(6, 5), rois...)),
				out: tensors(numbers(t, dims(6, 1, 2, 2), want...)),
			}
		})
	}
	whole := []float64{9, 5, 9, 9, 8, -3, 8, -4, 0, 0, 0, 3, -4, -4, -4, -4, 0, 0, 0, 0, 6, -5, -3, 8}
	half := []float64{9, 4, 9, 9, 8, 6, 8, 8, 0, 0, 0, 3, -9, -9, -9, -9, 0, 0, 0, 0, 1, 1, 8, 8}
	return slices.Concat(pool("", 22, floats, 1, whole...), pool("_half", 22, floats, 0.5, half...), pool("_opset7", 7, []ir.DType{ir.F32}, 1, whole...))
}
