package block

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// renumber is a rewriting of loads to other operands.
func renumber(to map[int]int) func(te.Expr) te.Expr {
	return func(e te.Expr) te.Expr {
		if l, ok := e.(te.Load); ok {
			if n, ok := to[l.Source.N]; ok {
				l.Source.N = n
			}
			return l
		}
		return e
	}
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(g *Graph)
		want string
	}{
		{"nothing", func(*Graph) {}, ""},
		{"order", func(g *Graph) { g.Blocks[0], g.Blocks[1] = g.Blocks[1], g.Blocks[0] }, `block Abs "b" reads "y" before it is computed`},
		{"twice", func(g *Graph) { g.Blocks = append(g.Blocks, g.Blocks[1]) }, `block Abs "b" computes "z" a second time`},
		{"an input again", func(g *Graph) { g.Blocks[1].Results[0] = g.Inputs[0] }, `block Abs "b" computes "x" a second time`},
		{"output", func(g *Graph) { g.Outputs = append(g.Outputs, &ir.Value{Name: "o"}) }, `no block computes the output "o"`},
		{"results", func(g *Graph) { g.Blocks[0].Results = nil }, `block Neg "a": 0 results of a stage that computes 1`},
		{"operand", func(g *Graph) { g.Blocks[0].Operands = nil }, `block Neg "a": stage Neg loads {false 0 0}, but the block has 0 operands`},
		{"stage", func(g *Graph) {
			g.Blocks[0].Stage = g.Blocks[0].Stage.MapExprs(func(e te.Expr) te.Expr {
				if l, ok := e.(te.Load); ok {
					l.Source.Stage = true
					return l
				}
				return e
			})
		}, `block Neg "a": stage Neg loads {true 0 0}, but the block has 1 operands`},
		{"result's type", func(g *Graph) { g.Blocks[1].Results[0].Type = ir.F16 }, `block Abs "b": it computes "z" as f32; want f16`},
		{"load's type", func(g *Graph) { g.Inputs[0].Type = ir.F16 }, `block Neg "a": stage Neg: loads operand 0, which is f16, as f32`},
		{"accumulator", func(g *Graph) {
			g.Blocks[1].Stage.Results = []te.Expr{te.Acc{Type: ir.F32}}
		}, `block Abs "b": stage Abs: reads accumulator 0 as f32`},
		{"reduction", func(g *Graph) {
			g.Blocks[1].Stage.Reduce = []te.Axis{{Var: "k", Extent: sym.Const(2)}}
		}, `block Abs "b": stage Abs reduces 0 values along 1 axes`},
		{"rank", func(g *Graph) { g.Inputs[0].Shape = ir.Shape{sym.Const(2), sym.Const(3)} }, `block Neg "a": stage Neg: a load has 1 indices; want 2, the rank of its operand`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := form(t, "input %x f32[2]\n%y f32[2] = Neg.13(%x) \"a\"\n%z f32[2] = Abs.13(%y) \"b\"\noutput %z\n")
			c.harm(g)
			err := g.Verify()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestIsOutput(t *testing.T) {
	g := form(t, "input %x f32[2]\n%y f32[2] = Mul.14(%x, %x) \"a\"\n%z f32[2] = Add.14(%x, %y) \"b\"\noutput %z\n")
	assert.True(t, g.IsOutput(g.Blocks[1].Results[0]))
	assert.False(t, g.IsOutput(g.Blocks[0].Results[0]))
}
