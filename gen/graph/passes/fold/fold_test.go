package fold_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/fold"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// graph reads and infers the lines of a graph of symbol N.
func graph(t *testing.T, lines string) *ir.Graph {
	t.Helper()
	g := irtest.Parse(t, "  symbol N 1..8\n"+lines)
	require.NoError(t, shape.Infer(g))
	return g
}

// text is a graph without its first line.
func text(t *testing.T, g *ir.Graph) string {
	t.Helper()
	require.NoError(t, ir.Verify(g))
	var b strings.Builder
	require.NoError(t, ir.Print(&b, g))
	_, lines, _ := strings.Cut(b.String(), "\n")
	return lines
}

// TestSteps: what constants are computed from in steps is let go with each step, not when all are folded.
func TestSteps(t *testing.T) {
	g := graph(t, `
  const @a f32[2] = {1, 2}
  input %x f32[2]
  %s f32[2] = Neg.13(@a)
  %m f32[2] = Exp.13(%s)
  %y f32[2] = Sub.14(%x, %m)
  output %y
`)
	nodes := g.Nodes
	_, err := fold.Run(g)
	require.NoError(t, err)
	require.Len(t, g.Nodes, 1)
	for _, n := range nodes[:2] {
		require.Empty(t, n.Inputs, n.Op)
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"constants", `
  const @a f32[2] = {1, 2}
  const @b f32[2] = {10, 20}
  input %x f32[2]
  %s f32[2] = Add.14(@a, @b)
  %m f32[2] = Mul.14(%s, @a)
  %y f32[2] = Sub.14(%x, %m)
  output %y
`, `  const @m f32[2] = {11, 44}
  input %x f32[2]
  %y f32[2] = Sub.14(%x, @m)
  output %y
}
`},
		{"an output stays a result, under its name; what reads it is folded too", `
  const @a f32[] = {1}
  const @y.value f32[] = {5}
  %y f32[] = Neg.13(@a) "n"
  %z f32[] = Add.14(%y, @y.value) "m"
  output %y
  output %z
`, `  const @y.value.1 f32[] = {-1}
  const @z.value f32[] = {4}
  %y f32[] = Identity.16(@y.value.1) "n"
  %z f32[] = Identity.16(@z.value) "m"
  output %y
  output %z
}
`},
		{"elements that shapes decide, but for symbols", `
  input %x f32[N, 3]
  %s i64[2] = Shape.15(%x)
  %n i64[1], %three i64[1] = Split.18(%s) {num_outputs = 2}
  %w i64[] = Size.13(%three)
  output %n
  output %three
  output %w
`, `  symbol N 1..8
  const @three.value i64[1] = {3}
  const @w.value i64[] = {1}
  input %x f32[N, 3]
  %s i64[2] <N, 3> = Shape.15(%x)
  %n i64[1] <N>, _ = Split.18(%s) {num_outputs = 2}
  %three i64[1] = Identity.16(@three.value)
  %w i64[] = Identity.16(@w.value)
  output %n
  output %three
  output %w
}
`},
		{"what would make the model much larger stays", `
  const @one f32[1] = {1}
  const @many i64[1] = {20000}
  const @few i64[1] = {3}
  input %x f32[20000]
  input %w f32[3]
  %large f32[20000] = Expand.13(@one, @many)
  %small f32[3] = Expand.13(@one, @few)
  %y f32[20000] = Add.14(%x, %large)
  %z f32[3] = Add.14(%w, %small)
  output %y
  output %z
`, `  const @one f32[1] = {1}
  const @many i64[1] = {20000}
  const @small f32[3] = {1, 1, 1}
  input %x f32[20000]
  input %w f32[3]
  %large f32[20000] = Expand.13(@one, @many)
  %y f32[20000] = Add.14(%x, %large)
  %z f32[3] = Add.14(%w, @small)
  output %y
  output %z
}
`},
		{"in regions, where an output may be a constant and a mistake may never happen", `
  const @a f32[2] = {1, 2}
  const @nine i64[2] = {9, 0}
  input %c bool[]
  %y f32[2] = If.16(%c) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      %two f32[2] = Add.14(@a, @a)
      output %two
    }
    graph "then" opset 17 {
      %bad f32[2] = GatherElements.13(@a, @nine)
      output %bad
    }
  }
  output %y
`, `  const @two f32[2] = {2, 4}
  const @a f32[2] = {1, 2}
  const @nine i64[2] = {9, 0}
  input %c bool[]
  %y f32[2] = If.16(%c) {else_branch = region 0, then_branch = region 1} "if" regions {
    graph "else" opset 17 {
      output @two
    }
    graph "then" opset 17 {
      %bad f32[2] = GatherElements.13(@a, @nine)
      output %bad
    }
  }
  output %y
}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := graph(t, c.lines)
			changed, err := fold.Run(g)
			require.NoError(t, err)
			require.True(t, changed)
			require.Equal(t, c.want, text(t, g))
			changed, err = fold.Run(g)
			require.NoError(t, err)
			require.False(t, changed, "what is folded stays so")
		})
	}
}

// TestMistake: what is certain to go wrong in a run is an error now, which names the node.
func TestMistake(t *testing.T) {
	g := graph(t, `
  const @a f32[2] = {1, 2}
  const @nine i64[2] = {9, 0}
  %bad f32[2] = GatherElements.13(@a, @nine) "pick"
  output %bad
`)
	_, err := fold.Run(g)
	require.ErrorContains(t, err, `node GatherElements "pick": `)
	require.ErrorContains(t, err, "folding constants: ")
}

// TestNothingToFold: nodes whose operands are inputs stay as they are.
func TestNothingToFold(t *testing.T) {
	g := graph(t, `
  input %x f32[N, 3]
  %s i64[2] = Shape.15(%x)
  %y f32[N, 3] = Neg.13(%x)
  output %s
  output %y
`)
	before := text(t, g)
	changed, err := fold.Run(g)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, before, text(t, g))
}

// TestWeights: a conversion of more bytes than a constant needs no reason for is folded, as it has no more elements than the constant; what
// extends one stays.
func TestWeights(t *testing.T) {
	for lines, folded := range map[string]bool{
		"  input %k i8[200, 200]\n  input %l f32[]\n  input %x f32[200, 200]\n  %v f32[200, 200] = DequantizeLinear.13(%k, %l)\n  %y f32[200, 200] = MatMul.13(%x, %v)\n":               true,
		"  input %k i8[200, 200]\n  input %l f32[200]\n  input %x f32[200, 200]\n  %v f32[200, 200] = DequantizeLinear.13(%k, %l) {axis = 0}\n  %y f32[200, 200] = MatMul.13(%x, %v)\n": true,
		"  input %k f32[1, 20000]\n  input %l f32[4, 1]\n  input %x f32[4, 20000]\n  %v f32[4, 20000] = Add.14(%k, %l)\n  %y f32[4, 20000] = Mul.14(%x, %v)\n":                          false,
	} {
		g := graph(t, lines+"  output %y\n")
		for _, v := range g.Inputs[:2] {
			dims, _ := v.Static()
			v.Const = ir.NewTensor(v.Type, dims...)
		}
		g.Inputs = g.Inputs[2:]
		changed, err := fold.Run(g)
		require.NoError(t, err)
		require.Equal(t, folded, changed, lines)
		require.Equal(t, folded, g.Nodes[len(g.Nodes)-1].Inputs[1].Const != nil, lines)
	}
}
