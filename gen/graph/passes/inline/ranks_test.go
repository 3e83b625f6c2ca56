package inline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// squeezed is a squeeze as PyTorch's exporter writes it: an axis goes where it has one element, and the result has two ranks.
func squeezed(bounds, reader string) string {
	return `
  symbol N ` + bounds + `
  const @axis i64[] = {1}
  const @axes i64[1] = {1}
  const @one i64[] = {1}
  const @w f32[3, 2] = {1, 2, 3, 4, 5, 6}
  input %x f32[2, N, 3]
  %shape i64[3] = Shape.15(%x)
  %dim i64[] = Gather.13(%shape, @axis) {axis = 0}
  %single bool[] = Equal.13(%dim, @one)
  %z ?[*] = If.16(%single; %x) {else_branch = region 0, then_branch = region 1} "squeeze" regions {
    graph "else" opset 17 {
      input %x ?[*]
      %same ?[*] = Identity.16(%x)
      output %same
    }
    graph "then" opset 17 {
      input %x ?[*]
      %less ?[*] = Squeeze.13(%x, @axes)
      output %less
    }
  }
  ` + reader + `
  output %y
`
}

// TestRanks: bounds decide which branch is taken, or what reads the result; else the error names the node, and the symbol to bound.
func TestRanks(t *testing.T) {
	const relu, turn, flat = "%y ?[*] = Relu.14(%z)", "%y ?[*] = Transpose.13(%z) {perm = [1, 0]}", "%y ?[*] = Transpose.13(%z) {perm = [0, 2, 1]}"
	for _, c := range []struct {
		bounds, reader, want string
		runs                 int64 // an N that runs, and one that does not
		fails                int64
	}{
		{"2..8", relu, "Relu.14(%x)", 5, 0},
		{"1..1", relu, "f32[2, 3] = Relu.14", 1, 0},
		{"1..8", turn, "perm = [1, 0]", 1, 5},
		{"1..8", flat, "perm = [0, 2, 1]", 5, 1},
		{"1..8", relu, "", 0, 0},
	} {
		t.Run(c.bounds+" "+c.reader, func(t *testing.T) {
			g := irtest.Parse(t, squeezed(c.bounds, c.reader))
			err := simplify.Run(g)
			if c.want == "" {
				require.ErrorContains(t, err, `node If "squeeze": result 0 ("z"): then_branch returns shape [2 3], else_branch [2 N 3]`)
				require.ErrorContains(t, err, "or bounds of N that decide the condition (dims = {...})")
				return
			}
			require.NoError(t, err)
			require.Contains(t, print(t, g), c.want)
			run := func(n int64) error {
				_, err := interp.Graph(g, map[string]*ir.Tensor{"x": edit.FloatTensor(ir.F32, make([]float64, 6*n), 2, n, 3)})
				return err
			}
			require.NoError(t, run(c.runs))
			if c.fails > 0 {
				require.Error(t, run(c.fails), fmt.Sprint("N = ", c.fails))
			}
		})
	}
}
