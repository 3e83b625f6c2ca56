package bind_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ops"
)

// binds are the values that the graph's nodes bind, and which elements.
func binds(t *testing.T, g *ir.Graph) []string {
	t.Helper()
	require.NoError(t, simplify.Run(g))
	require.NoError(t, ir.Verify(g))
	var out []string
	for _, n := range g.Nodes {
		if n.Op == ops.Bind {
			out = append(out, fmt.Sprint(n.Inputs[0].Name, n.Ints("elements"), n.Ints("lows"), n.Computes))
		}
	}
	return out
}

// TestSources: numbers are bound where operators that only move them take them from, before their first
// reader, once; where they are computed otherwise.
func TestSources(t *testing.T) {
	require.Equal(t, []string{"v[0 2] [-2147483647 0] [v_symbols_0 v_symbols_2]", "sum[1] [0] [sum_symbols_1]"}, binds(t, irtest.Parse(t, `
  const @zero i64[] = {0}
  const @one i64[] = {1}
  const @two i64[] = {2}
  const @axes i64[1] = {0}
  input %v i64[3]
  %first ?[*] = Gather.13(%v, @zero) {axis = 0}
  %last ?[*] = Gather.13(%v, @two) {axis = 0}
  %r ?[*] = Range.11(@zero, %first, @one)
  %narrow ?[*] = Cast.13(%last) {to = 6}
  %wide ?[*] = Cast.13(%narrow) {to = 7}
  %n ?[*] = Unsqueeze.13(%wide, @axes)
  %a ?[*] = ConstantOfShape.9(%n)
  %sum ?[*] = Add.14(%v, %v)
  %s ?[*] = Gather.13(%sum, @one) {axis = 0}
  %m ?[*] = Unsqueeze.13(%s, @axes)
  %b ?[*] = ConstantOfShape.9(%m)
  output %r
  output %a
  output %b
`)))
}

// TestSourceLimit: what needs more numbers of one value than become symbols has its own.
func TestSourceLimit(t *testing.T) {
	got := binds(t, irtest.Parse(t, `
  input %v i64[90]
  %a ?[*], %b ?[*], %c ?[*] = Split.18(%v) {axis = 0, num_outputs = 3}
  %x ?[*] = ConstantOfShape.9(%a)
  %y ?[*] = ConstantOfShape.9(%b)
  %z ?[*] = ConstantOfShape.9(%c)
  output %x
  output %y
  output %z
`))
	require.Len(t, got, 2)
	require.Regexp(t, `^v\[0 1 .* 59\]`, got[0])
	require.Regexp(t, `^c\[0 1 .* 29\]`, got[1])
}

// TestRegionSources: in a region, which may not run, what comes from outside is bound inside.
func TestRegionSources(t *testing.T) {
	g := irtest.Parse(t, `
  input %c bool[]
  input %v i64[2]
  %y ?[*] = If.16(%c; %v) {else_branch = region 1, then_branch = region 0} "if" regions {
    graph "then" opset 17 {
      input %v ?[*]
      %a ?[*] = ConstantOfShape.9(%v)
      output %a
    }
    graph "else" opset 17 {
      input %v ?[*]
      %b ?[*] = Cast.13(%v) {to = 1}
      %n ?[*] = Shape.15(%v)
      %z ?[*] = Expand.13(%b, %v)
      output %z
    }
  }
  output %y
`)
	require.Empty(t, binds(t, g))
	for _, r := range g.Nodes[0].Regions {
		require.Equal(t, ops.Bind, r.Nodes[0].Op)
		require.Equal(t, []int64{0, 1}, r.Nodes[0].Ints("elements"))
	}
}
