package fold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// TestNaNs states graphs after folding: what is not a number is one that no processor chose.
func TestNaNs(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"not a number", `
  const @zero f32[2] = {0, 1}
  %n ?[*] = Div.14(@zero, @zero)
  %y ?[*] = Neg.13(%n)
  output %y
`, `
  const @y.value f32[2] = {0x7fc00000, -1}
  %y f32[2] = Identity.16(@y.value)
  output %y
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, c.graph)
			for {
				require.NoError(t, shape.Infer(g))
				changed, err := Run(g)
				require.NoError(t, err)
				if !changed {
					break
				}
			}
			var b strings.Builder
			require.NoError(t, ir.Print(&b, g))
			require.Equal(t, c.want, strings.TrimSuffix(b.String()[strings.IndexByte(b.String(), '\n'):], "}\n"))
		})
	}
}

// TestMovedNaNs sees that bits of what is moved and not computed stay.
func TestMovedNaNs(t *testing.T) {
	g := irtest.Parse(t, `
  const @a f32[2] = {nan, 1}
  const @to i64[2] = {2, 1}
  %y ?[*] = Reshape.14(@a, @to)
  output %y
`)
	g.Nodes[0].Inputs[0].Const.Data[0] = 7
	require.NoError(t, shape.Infer(g))
	_, err := Run(g)
	require.NoError(t, err)
	require.Equal(t, byte(7), g.Nodes[0].Inputs[0].Const.Data[0])
}
