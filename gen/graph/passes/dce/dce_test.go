package dce

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
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

// TestShare: of nodes that count alike the first stays, but where what the others give is an output, or has a shape that the model declares.
func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, output string
		want          int
	}{
		"one mask":           {"%a ?[*] = NonZero.13(%x)\n%b ?[*] = NonZero.13(%x)\n%c ?[*] = NonZero.13(%x)\n", "%y", 1},
		"of what was shared": {"%a ?[*] = NonZero.13(%x)\n%b ?[*] = NonZero.13(%x)\n%p ?[*] = NonZero.13(%a)\n%c ?[*] = NonZero.13(%b)\n", "%y", 2},
		"other masks":        {"%a ?[*] = NonZero.13(%x)\n%b ?[*] = NonZero.13(%z)\n%c ?[*] = NonZero.13(%z)\n", "%y", 2},
		"other attributes":   {"%a ?[*] = Compress.11(%x, %z) {axis = 0}\n%b ?[*] = Compress.11(%x, %z)\n%c ?[*] = Compress.11(%x, %z) {axis = 0}\n", "%y", 2},
		"an output":          {"%a ?[*] = NonZero.13(%x)\n%b ?[*] = NonZero.13(%x)\n%c ?[*] = NonZero.13(%x)\n", "%c", 2},
		"a declared shape":   {"%a ?[*] = NonZero.13(%x)\n%b ?[*] = NonZero.13(%x)\n%c i64[1, 3] = NonZero.13(%x)\n", "%y", 2},
		"more results":       {"%a ?[*], %q ?[*] = Unique.11(%x)\n%b ?[*] = Unique.11(%x)\n%c ?[*], _, %r ?[*] = Unique.11(%x)\n", "%y", 2},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ir.Parse(strings.NewReader("graph \"g\" opset 17 {\n  input %x bool[4]\n  input %z bool[4]\n"+c.nodes+"  %y ?[*] = Concat.13(%a, %b, %c) {axis = 0}\n  output "+c.output+"\n}\n"), nil)
			require.NoError(t, err)
			require.Equal(t, Share(g), c.want < strings.Count(c.nodes, "\n"))
			require.NoError(t, ir.Verify(g))
			require.Len(t, g.Nodes, c.want+1, g)
			require.False(t, Share(g))
		})
	}
}
