package modeltest

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// wave is a tensor of numbers between -1.5 and 1.5.
func wave(dims ...int64) *ir.Tensor {
	x := ir.NewTensor(ir.F32, dims...)
	for i := range int(x.Len()) {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(i*11%25-12)/8))
	}
	return x
}

// loss returns a factor of tolerances for a program. The error of Winograd's F(5,3) is three times
// that of F(4,3) (TestError in gen/kernel/winograd).
func loss(p *plan.Program) float64 {
	if slices.ContainsFunc(p.Calls(), func(c *plan.Call) bool { return strings.HasPrefix(c.Kernel.Anchor, "winograd F(5,3)") }) {
		return 3
	}
	return 1
}

// everywhere compiles a graph for each chip, compares the programs' results with the interpreter's,
// and returns the programs.
func everywhere(t *testing.T, build func() *ir.Graph, inputs map[string]*ir.Tensor, disable ...string) map[string]*plan.Program {
	t.Helper()
	g := build()
	require.NoError(t, shape.Infer(g))
	want, err := interp.Graph(g, inputs)
	require.NoError(t, err)
	programs := map[string]*plan.Program{}
	for _, chip := range Chips {
		p, err := Compile(build(), Config{chip, disable})
		require.NoError(t, err)
		got, err := run.Program(p, InputsOf(p, inputs))
		require.NoError(t, err, "%s %v: %s", chip, disable, p)
		for i := range want {
			assertWithin(t, want[i], got[i], loss(p)*tolerances[want[i].Type], chip)
		}
		programs[chip] = p
	}
	return programs
}
