package nodetest

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
)

var floats = []ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64}

// trainExamples are operators of models that were exported for training.
func trainExamples() []example {
	return slices.Concat(batchNormExamples(), dropoutExamples(), likelihoodExamples(), entropyExamples())
}

// batchNormExamples have statistics of the batch. Definitions 7 and 9 have none of ONNX's.
func batchNormExamples() []example {
	x := []float64{1, 2, 3, 4, 5, -6, 7, 8, -1, 0.5, 2, -2, 0.25, 3, 1, 1.5}
	y := []float64{0.2997283, 1.367844, 2.435959, 3.504075, 0.3897383, 3.04174, -0.09244371, -0.3335347,
		-1.836503, -0.2343294, 1.367844, -2.904618, 1.534921, 0.8719204, 1.354102, 1.233557}
	of := func(t, scale, statistic ir.DType, results ...*ir.Tensor) example {
		return example{
			name: "batchnorm_training_" + t.String() + "_" + scale.String() + "_" + statistic.String(), op: "BatchNormalization", opset: 15,
			attrs: attrs("momentum", float32(0.75), "epsilon", float32(0.01), "training_mode", int64(1)),
			in: tensors(
				numbers(t, dims(2, 2, 4), x...), numbers(scale, dims(2), 2, -1), numbers(scale, dims(2), 0.5, 1),
				numbers(statistic, dims(2), 1, -2), numbers(statistic, dims(2), 4, 0.25),
			),
			out: append(tensors(numbers(t, dims(2, 2, 4), y...)), results...),
		}
	}
	statistics := func(t ir.DType) []*ir.Tensor {
		return tensors(numbers(t, dims(2), 1.046875, -0.8828125), numbers(t, dims(2), 3.874023, 4.486084))
	}
	out := []example{
		of(ir.F32, ir.F32, ir.F32, statistics(ir.F32)...),
		of(ir.F16, ir.F16, ir.F32, statistics(ir.F32)...),
		of(ir.F32, ir.F16, ir.BF16, statistics(ir.BF16)...),
		of(ir.F64, ir.F32, ir.F64, nil, statistics(ir.F64)[1]),
		of(ir.F32, ir.F32, ir.F64),
	}
	for _, opset := range []int{7, 9} {
		all := of(ir.F32, ir.F32, ir.F32, append(statistics(ir.F32),
			numbers(ir.F32, dims(2), 1.1875, 2.46875), numbers(ir.F32, dims(2), 3.496094, 17.19434))...)
		unused := of(ir.F32, ir.F32, ir.F32, nil, nil, nil, numbers(ir.F32, dims(2), 3.496094, 17.19434))
		for i, e := range []example{all, unused} {
			e.name, e.opset, e.attrs = []string{"batchnorm_five_results", "batchnorm_last_result"}[i]+opsetName(opset), opset,
				attrs("momentum", float32(0.75), "epsilon", float32(0.01))
			out = append(out, e)
		}
	}
	return append(out, example{
		name: "batchnorm_training_vector", op: "BatchNormalization", opset: 15, attrs: attrs("training_mode", int64(1)),
		in: tensors(numbers(ir.F32, dims(3), 1, 2, 4), numbers(ir.F32, dims(1), 2), numbers(ir.F32, dims(1), 0.5),
			numbers(ir.F32, dims(1), 1), numbers(ir.F32, dims(1), 4)),
		out: tensors(numbers(ir.F32, dims(3), -1.638083, -0.03452077, 3.172604), numbers(ir.F32, dims(1), 1.133333), numbers(ir.F32, dims(1), 3.755556)),
	})
}

func opsetName(opset int) string {
	return map[int]string{7: "_opset7", 9: "_opset9", 12: "_opset12", 13: "_opset13", 22: "_opset22"}[opset]
}

// dropoutExamples drop nothing in training, by a ratio of any type.
func dropoutExamples() []example {
	var out []example
	for _, ratio := range []ir.DType{ir.F16, ir.F64} {
		out = append(out, each(floats, func(t ir.DType) example {
			x := numbers(t, dims(3), 1, -2, 0.5)
			return example{
				name: "dropout_training_" + ratio.String(), op: "Dropout", opset: 22,
				in:  tensors(x, numbers(ratio, dims(), 0), numbers(ir.Bool, dims(), 1)),
				out: tensors(x, numbers(ir.Bool, dims(3), 1, 1, 1)),
			}
		})...)
	}
	return out
}

// likelihoodExamples have weights, and class 7, which is ignored and does not exist.
func likelihoodExamples() []example {
	var out []example
	for _, r := range []struct {
		reduction string
		want      []float64
		shape     []int64
	}{
		{"none", []float64{3, 0.25, 5, 0}, dims(2, 2)},
		{"sum", []float64{8.25}, dims()},
		{"mean", []float64{2.357143}, dims()},
	} {
		out = append(out, each(floats, func(t ir.DType) example {
			return example{
				name: "nllloss_" + r.reduction, op: "NegativeLogLikelihoodLoss", opset: 22,
				attrs: attrs("ignore_index", int64(7), "reduction", r.reduction),
				in: tensors(
					numbers(t, dims(2, 3, 2), -1, -0.5, -2, -0.25, -3, -1.5, -0.75, -4, -2.5, -1.25, -0.125, -3.5),
					numbers(ir.I32, dims(2, 2), 2, 0, 1, 7), numbers(t, dims(3), 0.5, 2, 1),
				),
				out: tensors(numbers(t, r.shape, r.want...)),
			}
		})...)
	}
	return out
}

// entropyExamples ignore a sample whose scores are no numbers, or all samples.
func entropyExamples() []example {
	nan := math.NaN()
	entropy := func(name string, ignore int64, labels []float64, scores, loss, logs []float64) []example {
		return each(floats, func(t ir.DType) example {
			return example{
				name: "sce_" + name, op: "SoftmaxCrossEntropyLoss", opset: 13, attrs: attrs("ignore_index", ignore),
				in:  tensors(numbers(t, dims(2, 3), scores...), numbers(ir.I32, dims(2), labels...)),
				out: tensors(numbers(t, dims(), loss...), numbers(t, dims(2, 3), logs...)),
			}
		})
	}
	first := []float64{-1.349012, -0.3490122, -3.349012}
	return slices.Concat(
		entropy("ignored_nan", -1, []float64{1, -1}, []float64{1, 2, -1, nan, 1, 2}, []float64{0.3490122}, append(slices.Clone(first), nan, nan, nan)),
		entropy("ignored_all", 2, []float64{2, 2}, []float64{1, 2, -1, 1, 2, -1}, []float64{nan}, slices.Concat(first, first)),
	)
}
