package nodetest

import (
	"slices"

	"rules_dnn/gen/ir"
)

// alignExamples are RoiAligns whose bins have as many points as they are long: of regions within the tensor, across its border, beside it, one that
// ends before it begins, one much larger than the tensor, and one of less than a pixel. ONNX has none of them; these are ONNX Runtime's results.
func alignExamples() []example {
	x := []float64{3, -1, 4, 1, -5, 9, 2, -6, 5, 3, 5, -8, 9, 7, 9, -3, 2, 3, -8, 4}
	for _, v := range x[:20] {
		x = append(x, -v)
	}
	rois := []float64{
		0, 0, 4, 3,
		1, 1, 6, 5,
		-3, -2, 1, 0,
		4, 3, 2, 1,
		7, 7, 9, 9,
		1.5, 0.5, 2.5, 3.5,
		-40, -30, 60, 50,
		0.25, 0.25, 0.5, 3,
	}
	align := func(name string, opset int, mode, coordinates string, want ...float64) []example {
		return each([]ir.DType{ir.F32, ir.F64}, func(t ir.DType) example {
			at := attrs("output_height", int64(2), "output_width", int64(2), "mode", mode, "spatial_scale", float32(0.75))
			if coordinates != "" {
				at["coordinate_transformation_mode"] = coordinates
			}
			return example{
				name: "roialign_adaptive_" + name, op: "RoiAlign", opset: opset, attrs: at,
				in:  tensors(numbers(t, dims(2, 1, 4, 5), x...), numbers(t, dims(8, 4), rois...), numbers(ir.I64, dims(8), 0, 1, 0, 1, 0, 1, 0, 1)),
				out: tensors(numbers(t, dims(8, 1, 2, 2), want...)),
			}
		})
	}
	avg := []float64{
		2.320312, 0.04296875, -0.8242188, 4.382812, -0.09375, -6, -1.834961, -0.3496094, 0, 0, 0, 2.25, -1.25, -4.75, 5, -1, 0, 0, 0, 0,
		0.7460938, 2.261719, 0.8691406, -4.888672, 0.04241689, 0, 0, 0, -4.545898, -1.491211, -1.072266, 4.630859,
	}
	greatest := []float64{
		4.746094, 2.636719, 3.339844, 7.628906, 5.46875, 0, 2.34375, 7.25, 0, 0, 0, 3, 3, 1, 6, 2, 0, 0, 0, 0,
		1.757812, 4.101562, 3.90625, 1.148438, 9, 0, 0, 0, 0.2426758, 0.5200195, 3.472656, 7.441406,
	}
	avgHalf := []float64{
		2.620117, 1.379883, 5.198242, -1.081055, -0.3388672, -2.887695, -0.515625, -2.679688, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0,
		-1.308594, -0.1835938, 1.679688, 2.488281, 0.0409424, 0, 0, 0, -4.382812, -4.382812, -7.945312, -7.945312,
	}
	greatestHalf := []float64{
		3.09375, 3.5, 8.15625, 3.691406, 2.460938, 1.523438, 5.03125, 4.15625, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0,
		0.6855469, 0.8085938, 5.484375, 5.484375, 4.5, 0, 0, 0, 0, 0, 0, 0,
	}
	return slices.Concat(
		align("opset10", 10, "avg", "", avg...), align("max_opset10", 10, "max", "", greatest...),
		align("half", 16, "avg", "half_pixel", avgHalf...), align("max_half", 16, "max", "half_pixel", greatestHalf...),
		align("output_half", 16, "avg", "output_half_pixel", avg...), align("max_output_half", 22, "max", "output_half_pixel", greatest...),
	)
}
