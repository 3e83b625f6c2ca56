package pipeline

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// everyCPU is a feature that all processors of the tests' machines have.
var everyCPU = map[string]string{"amd64": "sse4.1", "arm64": "asimd"}

// TestChoose: of versions the first whose guard holds runs, in Go and in C++: y is a, b or the step's own result, which are x's
// negation, floor and positive part.
func TestChoose(t *testing.T) {
	const text = `graph "g" opset 17 {
  symbol N 1..64
  input %x f32[N]
  %a ?[*] = Neg.13(%x)
  %b ?[*] = Floor.13(%x)
  %y ?[*] = Relu.14(%x)
  output %a
  output %b
  output %y
}
`
	feature := everyCPU[runtime.GOARCH]
	if feature == "" {
		t.Skip("no feature of this machine's processors is known")
	}
	n := sym.Var("N")
	large, even := ops.Check{Kind: ops.AtLeast, A: n, B: sym.Const(5)}, ops.Check{Kind: ops.SameDim, A: sym.Mod(n, sym.Const(2), nil), B: sym.Const(0)}
	var cases []cpptest.Case
	var want [][]byte
	for _, c := range []struct {
		guards []plan.Guard // of a, then of b
		rows   int64
		gives  string
	}{
		{[]plan.Guard{{Dims: []ops.Check{large}}}, 5, "a"},
		{[]plan.Guard{{Dims: []ops.Check{large}}}, 4, "y"},
		{[]plan.Guard{{Dims: []ops.Check{large}}, {Dims: []ops.Check{even}}}, 4, "b"},
		{[]plan.Guard{{Dims: []ops.Check{large, even}}, {Dims: []ops.Check{large}}}, 7, "b"},
		{[]plan.Guard{{Dims: []ops.Check{large, even}}, {Dims: []ops.Check{large}}}, 6, "a"},
		{[]plan.Guard{{Features: []string{"none"}}, {Features: []string{feature}}}, 3, "b"},
		{[]plan.Guard{{Dims: []ops.Check{large}, Features: []string{feature}}}, 3, "y"},
		{[]plan.Guard{{Dims: []ops.Check{large}, Features: []string{feature}}}, 5, "a"},
		{nil, 5, "y"},
	} {
		p := compile(t, text).Program
		choice := &plan.Choose{Label: "versions"}
		for i, g := range c.guards {
			choice.Versions = append(choice.Versions, plan.Version{Guard: g, Steps: []plan.Step{{Copy: &plan.Copy{From: p.Outputs[i], To: p.Outputs[2]}}}})
		}
		last := p.Steps[len(p.Steps)-1]
		require.Equal(t, p.Outputs[2], last.Args[len(last.Args)-1])
		choice.Versions = append(choice.Versions, plan.Version{Steps: []plan.Step{last}})
		p.Steps[len(p.Steps)-1] = plan.Step{Choose: choice}
		require.NoError(t, p.Verify(loop.Proofs{}))
		require.NoError(t, p.Fits())

		x := ir.NewTensor(ir.F32, c.rows)
		for i := range x.Data {
			x.Data[i] = []byte{0, 0, 128, 191}[i%4] // -1
		}
		got, err := run.Program(p, []*ir.Tensor{x}, feature)
		require.NoError(t, err)
		value := map[string][]byte{"a": {0, 0, 128, 63}, "b": {0, 0, 128, 191}, "y": {0, 0, 0, 0}}[c.gives]
		assert.Equal(t, value, got[2].Data[:4], "%+v", c)
		cases = append(cases, cpptest.Case{Name: choice.Label, Program: p, Dims: map[string]int64{"N": c.rows}, Inputs: []*ir.Tensor{x}})
		want = append(want, got[2].Data)
	}
	for i, r := range cpptest.Run(t, "../..", cases, "-O1") {
		require.Zero(t, r.Status)
		assert.Equal(t, want[i], r.Outputs[2].Data, "case %d", i)
	}
}
