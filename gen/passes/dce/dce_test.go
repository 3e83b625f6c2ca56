package dce

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/shape"
)

// TestRegions removes dead nodes inside of regions, and a node with regions that nothing uses.
func TestRegions(t *testing.T) {
	const branch = `
    graph "branch" opset 17 {
      input %t f32[1]
      %dead f32[1] = Neg.13(%t)
      %live f32[1] = Abs.13(%t)
      output %live
    }`
	node := func(result string) string {
		return "  " + result + " f32[1] = If.16(%c; %x) {else_branch = region 1, then_branch = region 0} regions {" + branch + branch + "\n  }\n"
	}
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n  input %c bool[]\n  input %x f32[1]\n"+node("%y")+node("%z")+"  output %y\n}\n"), nil)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(g))
	changed := removeDead(g, nil)
	require.True(t, changed)
	require.NoError(t, ir.Verify(g))
	require.Len(t, g.Nodes, 1)
	require.Equal(t, "y", g.Nodes[0].Outputs[0].Name)
	for _, r := range g.Nodes[0].Regions {
		require.Len(t, r.Nodes, 1)
		require.Equal(t, "Abs", r.Nodes[0].Op)
	}
	require.False(t, removeDead(g, nil))
}

// TestUpdateIsNoIdentity: a cumulative sum begins with a copy of its operand, and goes on.
func TestUpdateIsNoIdentity(t *testing.T) {
	g, err := ir.Parse(strings.NewReader(`graph "g" opset 17 {
  const @axis i32[] = {0}
  input %x f32[4]
  %same f32[4] = Identity.14(%x)
  %sum f32[4] = CumSum.14(%same, @axis)
  %y f32[4] = Neg.13(%sum)
  output %y
}
`), nil)
	require.NoError(t, err)
	require.NoError(t, shape.Infer(g))
	_, err = Run(g)
	require.NoError(t, err)
	require.Len(t, g.Nodes, 2)
	require.Equal(t, "CumSum", g.Nodes[0].Op)
	require.Equal(t, "x", g.Nodes[0].Inputs[0].Name)
}

// TestCaptures: regions lose the captures that they do not need, constants go into
// them, and what is captured twice is captured once.
func TestCaptures(t *testing.T) {
	const branch = `
    graph "branch" opset 17 {
      input %unused ?[*]
      input %x f32[1]
      input %again f32[1]
      input %w f32[1]
      %sum f32[1] = Add.14(%x, %again)
      %same f32[1] = Identity.16(%sum)
      %r f32[1] = Mul.14(%same, %w)
      output %r
    }`
	g, err := ir.Parse(strings.NewReader(`graph "g" opset 17 {
  const @w f32[1] = {2}
  input %c bool[]
  input %x f32[1]
  input %u f32[1]
  %y f32[1] = If.16(%c; %u, %x, %x, @w) {else_branch = region 1, then_branch = region 0} regions {`+branch+branch+`
  }
  output %y
}
`), nil)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(g))
	for {
		changed, err := Run(g)
		require.NoError(t, err)
		require.NoError(t, ir.Verify(g))
		if !changed {
			break
		}
	}
	n := g.Nodes[0]
	require.Equal(t, []*ir.Value{g.Inputs[0], g.Inputs[1]}, n.Inputs)
	require.Equal(t, 1, n.Captures)
	for _, r := range n.Regions {
		require.Len(t, r.Inputs, 1)
		require.Len(t, r.Nodes, 2, "the identity is gone")
		require.Equal(t, []*ir.Value{r.Inputs[0], r.Inputs[0]}, r.Nodes[0].Inputs)
		require.Equal(t, "w", r.Nodes[1].Inputs[1].Name)
	}
}
