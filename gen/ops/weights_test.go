package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestWeights: operands and axes of weights, and what attributes change.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		name              string
		n                 *ir.Node
		operand, rank     int
		filters, channels int
		split, factor     bool
	}{
		{"convolution", node("Conv", attrs("group", 2)), 1, 4, 0, 1, false, false},
		{"transposed convolution", node("ConvTranspose", nil), 1, 4, 1, 0, false, false},
		{"transposed convolution in groups", node("ConvTranspose", attrs("group", 2)), 1, 4, 1, 0, true, false},
		{"Gemm", node("Gemm", nil), 1, 2, 1, 0, false, true},
		{"Gemm, transposed", node("Gemm", attrs("transB", 1)), 1, 2, 0, 1, false, true},
		{"MatMul", node("MatMul", nil), 1, 3, 2, 1, false, true},
		{"product of integers", node("QLinearMatMul", nil), 3, 2, 1, 0, false, false},
		{"recurrent", node("GRU", nil), 1, 3, 1, 2, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := WeightsOf(c.n)
			require.NotNil(t, w)
			filters, channels := w.Axes(c.n, c.rank)
			assert.Equal(t, []int{c.operand, c.filters, c.channels}, []int{w.Operand, filters, channels})
			assert.Equal(t, []bool{c.split, c.factor}, []bool{w.Split(c.n), w.Factor()})
		})
	}
	assert.Nil(t, WeightsOf(node("Add", nil)))
	assert.False(t, WeightsOf(node("Add", nil)).Factor())
	gemm := WeightsOf(node("Gemm", nil))
	assert.False(t, gemm.Scaled(node("Gemm", nil)))
	assert.True(t, gemm.Scaled(node("Gemm", attrs("beta", float32(2)))))
}

// TestWeightOperands: operators have the operands that their rows call weights and bias.
func TestWeightOperands(t *testing.T) {
	for _, row := range table() {
		if w := row.Weights; w != nil {
			require.Less(t, max(w.Operand, w.Bias), len(row.Inputs), row.Name)
			assert.False(t, row.Inputs[w.Operand].Optional, row.Name)
		}
	}
}
