package dce

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
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
	changed := removeDead(g)
	require.True(t, changed)
	require.NoError(t, ir.Verify(g))
	require.Len(t, g.Nodes, 1)
	require.Equal(t, "y", g.Nodes[0].Outputs[0].Name)
	for _, r := range g.Nodes[0].Regions {
		require.Len(t, r.Nodes, 1)
		require.Equal(t, "Abs", r.Nodes[0].Op)
	}
	require.False(t, removeDead(g))
}
