package fold

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/shape"
)

// TestHosts states graphs after folding: what might differ between build hosts stays, and what is
// not a number is one that no processor chose.
func TestHosts(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"float64 of package math stays", `
  const @a f64[1] = {2}
  %e ?[*] = Sin.7(@a)
  %f ?[*] = Cast.13(%e) {to = 1}
  output %f
`, `
  const @a f64[1] = {2}
  %e f64[1] = Sin.7(@a)
  %f f32[1] = Cast.13(%e) {to = 1}
  output %f
`},
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

// TestStructure sees that no shape follows from what might differ between build hosts.
func TestStructure(t *testing.T) {
	g := irtest.Parse(t, `
  const @a f64[1] = {1.5}
  const @x f32[1] = {1}
  %s ?[*] = Sin.7(@a)
  %r ?[*] = Ceil.13(%s)
  %n ?[*] = Cast.13(%r) {to = 7}
  %y ?[*] = Expand.13(@x, %n)
  output %y
`)
	require.ErrorContains(t, shape.Infer(g), `the value of operand 1 ("n") is not known`)
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
