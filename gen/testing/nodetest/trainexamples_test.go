package nodetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
)

// TestLabelsOfNoClass: a label that is no class is an error of the run, unless it is the one
// that is ignored. Negative ones do not count from the end.
func TestLabelsOfNoClass(t *testing.T) {
	for _, op := range []string{"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"} {
		for _, c := range []struct {
			name  string
			label float64
			attrs ir.Attrs
			want  string
		}{
			{"behind the last class", 3, attrs("reduction", "none"), "index 3 (variable g0) is outside of [0, 2]"},
			{"negative", -1, attrs("reduction", "sum"), "index -1 (variable g0) is outside of [0, 2]"},
			{"another than the ignored", 4, attrs("ignore_index", int64(3)), "index 4 (variable g0) is outside of [0, 2]"},
			{"ignored", -1, attrs("ignore_index", int64(-1)), ""},
		} {
			t.Run(op+", "+c.name, func(t *testing.T) {
				x := numbers(ir.F32, dims(2, 3), -1, -2, -3, -4, -5, -6)
				e := example{
					name: "loss", op: op, opset: 22, attrs: c.attrs,
					in: tensors(x, numbers(ir.I64, dims(2), 0, c.label)), out: tensors(numbers(ir.F32, dims(), 0)),
				}
				n, err := e.ownCase()
				require.NoError(t, err)
				g, err := n.Graph()
				require.NoError(t, err)
				_, err = interp.Graph(g, map[string]*ir.Tensor{"x0": n.Inputs[0], "x1": n.Inputs[1]})
				if c.want == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.want)
				}
			})
		}
	}
}
