package simplify

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

func print(t *testing.T, g *ir.Graph) string {
	t.Helper()
	require.NoError(t, ir.Verify(g))
	var b strings.Builder
	require.NoError(t, ir.Print(&b, g))
	return b.String()
}

// TestRun states graphs before and after.
func TestRun(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"a chain of shapes leaves only the reshape", `
  symbol N 1..64
  const @zero i64[1] = {0}
  const @rest i64[1] = {-1}
  input %x f32[N, 8, 4, 4]
  %s ?[*] = Shape.15(%x)
  %n ?[*] = Gather.13(%s, @zero)
  %to ?[*] = Concat.13(%n, @rest) {axis = 0}
  %y ?[*] = Reshape.14(%x, %to)
  output %y
`, `
  symbol N 1..64
  const @zero i64[1] = {0}
  const @rest i64[1] = {-1}
  input %x f32[N, 8, 4, 4]
  %s i64[4] <N, 8, 4, 4> = Shape.15(%x)
  %n i64[1] <N> = Gather.13(%s, @zero)
  %to i64[2] <N, -1> = Concat.13(%n, @rest) {axis = 0}
  %y f32[N, 128] = Reshape.14(%x, %to)
  output %y
`},
		{"the same of a static model is constant", `
  const @zero i64[1] = {0}
  const @rest i64[1] = {-1}
  input %x f32[2, 8, 4, 4]
  %s ?[*] = Shape.15(%x)
  %n ?[*] = Gather.13(%s, @zero)
  %to ?[*] = Concat.13(%n, @rest) {axis = 0}
  %y ?[*] = Reshape.14(%x, %to)
  output %y
`, `
  const @to i64[2] = {2, -1}
  input %x f32[2, 8, 4, 4]
  %y f32[2, 128] = Reshape.14(%x, @to)
  output %y
`},
		{"constants", `
  const @a f32[2] = {1, 2}
  const @b f32[2] = {10, 20}
  input %x f32[2]
  %c ?[*] = Add.14(@a, @b)
  %d ?[*] = Sqrt.13(%c)
  %e ?[*] = Mul.14(%d, %d)
  %y ?[*] = Add.14(%x, %c)
  output %y
`, `
  const @c f32[2] = {11, 22}
  input %x f32[2]
  %y f32[2] = Add.14(%x, @c)
  output %y
`},
		{"a constant output", `
  const @a f32[2] = {1, 2}
  input %x f32[2]
  %c ?[*] = Add.14(@a, @a) "add"
  output %c
`, `
  const @c.value f32[2] = {2, 4}
  input %x f32[2]
  %c f32[2] = Identity.16(@c.value) "add"
  output %c
`},
		{"a large constant stays", `
  const @a f32[] = {1}
  const @to i64[1] = {100000}
  input %x f32[100000]
  %c ?[*] = Expand.13(@a, @to)
  %y ?[*] = Add.14(%x, %c)
  output %y
`, `
  const @a f32[] = {1}
  const @to i64[1] = {100000}
  input %x f32[100000]
  %c f32[100000] = Expand.13(@a, @to)
  %y f32[100000] = Add.14(%x, %c)
  output %y
`},
		{"identities", `
  symbol N 1..64
  const @to i64[2] = {0, 6}
  const @none i64[2] = {0, 0}
  const @one i64[1] = {1}
  input %x f32[N, 6]
  %a ?[*] = Relu.14(%x) "relu"
  %b ?[*] = Identity.16(%a)
  %c ?[*], %mask ?[*] = Dropout.13(%b)
  %d ?[*] = Reshape.14(%c, @to)
  %e ?[*] = Transpose.13(%d) {perm = [0, 1]}
  %f ?[*] = Cast.13(%e) {to = 1}
  %h ?[*] = Concat.13(%f) {axis = 0}
  %i ?[*] = Flatten.13(%h) {axis = 1}
  %y ?[*] = Neg.13(%i) "neg"
  output %y
`, `
  symbol N 1..64
  input %x f32[N, 6]
  %a f32[N, 6] = Relu.14(%x) "relu"
  %y f32[N, 6] = Neg.13(%a) "neg"
  output %y
`},
		{"a dropout whose mask is used", `
  input %x f32[2]
  %a ?[*] = Relu.14(%x) "relu"
  %c ?[*], %mask ?[*] = Dropout.13(%a) "drop"
  %y ?[*] = Neg.13(%c) "neg"
  output %y
  output %mask
`, `
  const @mask.value bool[2] = {1, 1}
  input %x f32[2]
  %a f32[2] = Relu.14(%x) "relu"
  %mask bool[2] <1, 1> = Identity.16(@mask.value) "drop"
  %y f32[2] = Neg.13(%a) "neg"
  output %y
  output %mask
`},
		{"an output that is an identity takes its name along", `
  input %x f32[2]
  %a ?[*] = Relu.14(%x) "relu"
  %y ?[*] = Identity.16(%a)
  %z ?[*] = Neg.13(%a) "neg"
  output %y
  output %z
`, `
  input %x f32[2]
  %y f32[2] = Relu.14(%x) "relu"
  %z f32[2] = Neg.13(%y) "neg"
  output %y
  output %z
`},
		{"outputs that are inputs or one another stay copies", `
  input %x f32[2]
  %a f32[2] = Relu.14(%x) "relu"
  %b f32[2] = Identity.16(%a) "b"
  %c f32[2] = Identity.16(%x) "c"
  output %a
  output %b
  output %c
`, `
  input %x f32[2]
  %a f32[2] = Relu.14(%x) "relu"
  %b f32[2] = Identity.16(%a) "b"
  %c f32[2] = Identity.16(%x) "c"
  output %a
  output %b
  output %c
`},
		{"what moves elements stays", `
  symbol N 1..64
  input %x f32[N, 6, 6]
  %a f32[N, 6, 6] = Transpose.13(%x) {perm = [0, 2, 1]}
  output %a
`, `
  symbol N 1..64
  input %x f32[N, 6, 6]
  %a f32[N, 6, 6] = Transpose.13(%x) {perm = [0, 2, 1]}
  output %a
`},
		{"a result that nothing uses", `
  input %x f32[4]
  %a ?[*], %b ?[*] = Split.13(%x) {axis = 0} "split"
  output %b
`, `
  input %x f32[4]
  _, %b f32[2] = Split.13(%x) {axis = 0} "split"
  output %b
`},
		{"unknown structure that nothing uses", `
  input %x f32[4]
  input %to i64[2]
  %a ?[*] = Reshape.14(%x, %to)
  %b ?[*] = Neg.13(%x)
  output %b
`, `
  input %x f32[4]
  input %to i64[2]
  %b f32[4] = Neg.13(%x)
  output %b
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, c.before)
			require.NoError(t, Run(g))
			require.Equal(t, print(t, irtest.Parse(t, c.after)), print(t, g))
			require.NoError(t, Run(g))
			require.Equal(t, print(t, irtest.Parse(t, c.after)), print(t, g), "a second run changes nothing")
		})
	}
}

// TestLimits: a node that would take long or much memory for its size is left to run time.
func TestLimits(t *testing.T) {
	for _, node := range []string{
		"MaxPool.12(@x) {kernel_shape = [2000000000, 1], pads = [1000000000, 0, 999999999, 0]}",
		"LRN.13(@x) {size = 2147483647}",
		"BlackmanWindow.17(@long) {output_datatype = 10}",
		"ConstantOfShape.9(@huge)", // on its way to the one element of a Gather
	} {
		g := irtest.Parse(t, `
  const @x f32[1, 1, 1, 1] = {1}
  const @long i64[] = {30000}
  const @huge i64[2] = {262144, 262144}
  %y ?[*] = `+node+` "n"
  output %y
`)
		require.NoError(t, Run(g))
		require.Len(t, g.Nodes, 1)
		require.NotEqual(t, "Identity", g.Nodes[0].Op, node)
	}
}

func TestErrors(t *testing.T) {
	g := irtest.Parse(t, `
  input %x f32[4]
  input %axes i64[2]
  %a ?[*] = Unsqueeze.13(%x, %axes) "u"
  output %a
`)
	var unknown *shape.UnknownError
	require.ErrorAs(t, Run(g), &unknown)
	require.ErrorContains(t, unknown, `Unsqueeze "u"`)
	require.ErrorContains(t, Run(irtest.Parse(t, `
  const @a f32[2] = {1, 2}
  const @b f32[3] = {1, 2, 3}
  input %x f32[2]
  %c ?[*] = Add.14(@a, @b) "add"
  %y ?[*] = Add.14(%x, %c)
  output %y
`)), `Add "add"`)
}

// TestRegions: what is constant within a region is folded there, and captures of what
// became constant go.
func TestRegions(t *testing.T) {
	g := irtest.Parse(t, `
  const @a i64[2] = {1, 2}
  const @b i64[2] = {3, 4}
  input %c bool[]
  input %x i64[2]
  %k ?[*] = Add.14(@a, @b)
  %z ?[*] = If.16(%c; %x, %k) {else_branch = region 1, then_branch = region 0} "if" regions {
    graph "then" opset 17 {
      input %x ?[*]
      input %k ?[*]
      %double ?[*] = Add.14(%k, %k)
      %r ?[*] = Mul.14(%x, %double)
      output %r
    }
    graph "else" opset 17 {
      input %x ?[*]
      input %k ?[*]
      %r ?[*] = Sub.14(%k, @a)
      output %r
    }
  }
  output %z
`)
	require.NoError(t, Run(g))
	require.Equal(t, `graph "g" opset 17 {
  const @double i64[2] = {8, 12}
  const @r i64[2] = {3, 4}
  input %c bool[]
  input %x i64[2]
  %z i64[2] = If.16(%c; %x) {else_branch = region 1, then_branch = region 0} "if" regions {
    graph "then" opset 17 {
      input %x i64[2]
      %r i64[2] = Mul.14(%x, @double)
      output %r
    }
    graph "else" opset 17 {
      input %x i64[2]
      output @r
    }
  }
  output %z
}
`, print(t, g))
}
