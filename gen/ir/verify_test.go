package ir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/sym"
)

func TestVerify(t *testing.T) {
	require.Error(t, Verify(nil))
	for _, c := range []struct {
		want   string
		damage func(g *Graph)
	}{
		{"is declared twice", func(g *Graph) { g.Symbols[1].Name = "N" }},
		{"cannot be a symbol's name", func(g *Graph) { g.Symbols[0].Name = "a b" }},
		{"empty range", func(g *Graph) { g.Symbols[0].Lo = 65 }},
		{"undeclared symbol", func(g *Graph) { g.Symbols = g.Symbols[:1] }},
		{"undeclared symbol", func(g *Graph) { g.Nodes[0].Outputs[1].Elems[0] = sym.Var("M") }},
		{`computes the symbol "N"`, func(g *Graph) { g.Nodes[2].Computes[0] = "N" }},
		{`computes the symbol "L"`, func(g *Graph) { g.Nodes[2].Computes[0] = "L" }},
		{"before they are computed: K", func(g *Graph) { g.Nodes[2].Computes = nil }},
		{"before they are computed: L", func(g *Graph) { g.Nodes[0].Outputs[1].Elems[0] = sym.Var("L") }},
		{`symbol "K" is bounded by L`, func(g *Graph) { g.Symbols[2].Max = sym.Var("L") }},
		{`symbol "H" has the bound N`, func(g *Graph) { g.Symbols[1].Max = sym.Var("N") }},
		{"2 known elements", func(g *Graph) { g.Nodes[0].Outputs[1].Shape = Dims(3) }},
		{"input 1: the name \"x:0\" is empty or taken", func(g *Graph) { g.Inputs[1].Name = "x:0" }},
		{"input 1: value \"x:0\" is defined twice", func(g *Graph) { g.Inputs[1] = g.Inputs[0] }},
		{"output 1: the name \"\"", func(g *Graph) { g.Outputs[1].Name = "" }},
		{"output 0 is nil", func(g *Graph) { g.Outputs[0] = nil }},
		{"input 0 is nil", func(g *Graph) { g.Inputs[0] = nil }},
		{"is a constant", func(g *Graph) { g.Inputs[0].Const = NewTensor(F32) }},
		{"is the result of", func(g *Graph) { g.Inputs[0].Def = g.Nodes[0] }},
		{"node 2 is nil", func(g *Graph) { g.Nodes[2] = nil }},
		{"has no operator", func(g *Graph) { g.Nodes[2].Op = "" }},
		{"not defined before its use", func(g *Graph) { g.Nodes[0], g.Nodes[1] = g.Nodes[1], g.Nodes[0] }},
		{"not defined before its use", func(g *Graph) { g.Outputs[0] = &Value{Name: "v"} }},
		{"another node computes it", func(g *Graph) { g.Nodes[1].Outputs[0].Def = g.Nodes[0] }},
		{"another node computes it", func(g *Graph) { g.Nodes[1].Outputs[0].Const = NewTensor(F32) }},
		{"defined twice", func(g *Graph) {
			g.Nodes[2].Outputs = g.Nodes[1].Outputs
			g.Nodes[1].Outputs[0].Def = g.Nodes[2]
			g.Nodes[1].Outputs = nil
			g.Nodes[2].Outputs = append(g.Nodes[2].Outputs, g.Nodes[2].Outputs[0])
			g.Nodes[2].Inputs = nil
		}},
		{"region 2 of 2", func(g *Graph) { g.Nodes[1].Attrs["else_branch"] = RegionRef(2) }},
		{"Go type int", func(g *Graph) { g.Nodes[1].Attrs["x"] = 1 }},
		{"the tensor is nil", func(g *Graph) { g.Nodes[1].Attrs["x"] = (*Tensor)(nil) }},
		{"has 4 bytes", func(g *Graph) { g.Nodes[0].Tensor("t").Shape[0] = 3 }},
		{"type invalid", func(g *Graph) { g.Nodes[0].Tensor("t").Type = Invalid }},
		{"negative dimension", func(g *Graph) { g.Nodes[0].Tensor("t").Shape[0] = -2 }},
		{"beyond its file's end", func(g *Graph) { g.Nodes[0].Inputs[1].Const.Src.Offset = 500 }},
		{"is declared as f32[99]", func(g *Graph) { g.Nodes[0].Inputs[1].Shape = Dims(99) }},
		{"is declared as f16[100]", func(g *Graph) { g.Nodes[0].Inputs[1].Type = F16 }},
		{"constant \"w\" is the result of", func(g *Graph) { g.Nodes[0].Inputs[1].Def = g.Nodes[2] }},
		{"3 captures, ", func(g *Graph) { g.Nodes[1].Captures = 3 }},
		{"1 captures, ", func(g *Graph) { g.Nodes[0].Captures = 1 }},
		{"want at least the 1 captures", func(g *Graph) { g.Nodes[1].Regions[0].Inputs = nil }},
		{"region 0 is nil", func(g *Graph) { g.Nodes[1].Regions[0] = nil }},
		{"declares symbols", func(g *Graph) { g.Nodes[1].Regions[0].Symbols = []Symbol{{Name: "K", Hi: 1}} }},
		{"a region needs it as a capture", func(g *Graph) { g.Nodes[1].Regions[0].Outputs[0] = g.Inputs[0] }},
		{"has the dimension -1", func(g *Graph) { g.Inputs[0].Shape[1] = sym.Const(-1) }},
		{"dtype(77)", func(g *Graph) { g.Inputs[0].Type = 77 }},
	} {
		g, _ := sample()
		require.NoError(t, Verify(g))
		c.damage(g)
		require.ErrorContains(t, Verify(g), c.want)
	}
}

// TestVerifyCarried: a symbol that a region's input has for a dimension is known in the region, one that
// the node computes of what the region does is not.
func TestVerifyCarried(t *testing.T) {
	text := func(inside string) string {
		return `graph "g" opset 17 {
  symbol S 0..9 computed
  symbol T 0..9 computed
  input %x f32[2]
  %y f32[S], %z f32[T, 1] = Loop.16(_, _, %x) {body = region 0} computes [S, T] regions {
    graph "body" opset 17 {
      input %i i64[]
      input %c bool[]
      input %p f32[S]
      %q f32[` + inside + `] = Neg.13(%p)
      output %c
      output %q
    }
  }
  output %y
}
`
	}
	g, err := Parse(strings.NewReader(text("S")), nil)
	require.NoError(t, err)
	require.NoError(t, Verify(g))
	g, err = Parse(strings.NewReader(text("T")), nil)
	require.NoError(t, err)
	require.ErrorContains(t, Verify(g), `value "q", f32[T], uses symbols before they are computed: T`)
}
