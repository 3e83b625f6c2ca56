package nodetest

import (
	"fmt"

	"rules_dnn/gen/ir"
)

// normExamples are definitions of normalisations that ONNX's releases hold no data of: GroupNormalization of opset 18, whose scale and bias are of
// groups (the results are ONNX Runtime's), and BatchNormalization by element, of inference and of training.
func normExamples() []example {
	x := []float64{1, 2, 3, 4, 5, -6, 7, 8, -1, 0.5, 2, -2, 0.25, 3, 1, 1.5}
	out := each(floats, func(t ir.DType) example {
		return example{
			name: "groupnorm_by_group", op: "GroupNormalization", opset: 18, attrs: attrs("num_groups", int64(2)),
			in: tensors(numbers(t, dims(2, 4, 2), x...), numbers(t, dims(2), 2, -1), numbers(t, dims(2), 0.5, 1)),
			out: tensors(numbers(t, dims(2, 4, 2), -2.183271, -0.3944237, 1.394424, 3.183271, 0.7316719, 2.699411, 0.3739011, 0.1950157,
				-0.654698, 1.324784, 3.304267, -1.974353, 2.180597, -0.5534166, 1.434957, 0.9378633)),
		}
	})
	element := func(ys []float64, statistics ...[]float64) func(opset int) example {
		return func(opset int) example {
			matrix := func(xs ...float64) *ir.Tensor { return numbers(ir.F32, dims(2, 4), xs...) }
			e := example{
				name: fmt.Sprintf("batchnorm_by_element_%d_results_opset%d", 1+len(statistics), opset), op: "BatchNormalization", opset: opset,
				attrs: attrs("spatial", int64(0), "momentum", float32(0.75), "epsilon", float32(0.01)),
				in: tensors(numbers(ir.F32, dims(2, 2, 4), x...), matrix(2, -1, 1, 0.5, 0.25, 1, -2, 3), matrix(0.5, 1, 0, -1, 2, 0, 1, -0.5),
					matrix(1, -2, 0, 0.5, 1, 2, -1, 0), matrix(4, 0.25, 1, 2, 0.5, 1, 9, 4)),
				out: tensors(numbers(ir.F32, dims(2, 2, 4), ys...)),
			}
			for _, s := range statistics {
				e.out = append(e.out, matrix(s...))
			}
			return e
		}
	}
	inference := element([]float64{0.5, -6.844645, 2.985112, 0.2343548, 3.40028, -7.960298, -4.330373, 11.48503,
		-1.497505, -3.902903, 1.990074, -1.881682, 1.737447, 0.9950372, -0.3325932, 1.747193})
	training := element([]float64{2.490074, 0.008772099, 0.9805807, -0.5002775, 2.249779, -0.9997532, -0.9988898, 2.498581,
		-1.490074, 1.991228, -0.9805807, -1.499722, 1.750221, 0.9997532, 2.99889, -3.498581},
		[]float64{0.75, -1.1875, 0.625, 0.625, 1.40625, 1.125, 0.25, 1.1875}, []float64{3.25, 0.328125, 0.8125, 3.75, 1.785156, 5.8125, 9, 5.640625},
		[]float64{0, 1.25, 2.5, 1, 2.625, -1.5, 4, 4.75}, []float64{1, 0.5625, 0.25, 9, 5.640625, 20.25, 9, 10.5625})
	return append(out, inference(7), inference(8), training(7))
}
