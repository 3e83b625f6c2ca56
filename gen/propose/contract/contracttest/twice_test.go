package contracttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/contract/winograd"
)

// TestWeightsReadTwice: what is stored transformed cannot be read as it was.
func TestWeightsReadTwice(t *testing.T) {
	b, env := Convolution(t, ir.F32, "32, 32, 5, 5; 32, 32, 3, 3; ", "x86_64_v3", true)
	env.Winograd = true
	kernels, err := winograd.Candidates(b, env)
	require.NoError(t, err)
	assert.NotEmpty(t, kernels)
	at := te.AxisVars(b.Stage.Axes)
	b.Stage.Results = []te.Expr{te.Fn(ir.F32, "add", b.Stage.Results[0], te.Operand(1, ir.F32, at...))}
	kernels, err = winograd.Candidates(b, env)
	require.NoError(t, err)
	assert.Empty(t, kernels)
	direct, err := tiled.Candidates(b, env)
	require.NoError(t, err)
	require.NotEmpty(t, direct)
	args, err := direct[0].Args()
	require.NoError(t, err)
	assert.Equal(t, b.Operands[1], args[1], "as the results read it")
	assert.Len(t, args, 4, "X, W, W packed, and the result")
}
