package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestRoles: what the axes of a contraction are, whatever operator it comes from, and whichever factor has the rows.
func TestRoles(t *testing.T) {
	const batch = "  input %a f32[2, 3, 5, 7]\n  input %b f32[2, 3, 7, 11]\n  %y ?[*] = MatMul.13(%a, %b)\n  output %y\n"
	conv := func(group string, w string) string {
		return "  input %a f32[2, 6, 9, 9]\n  input %b f32[" + w + "]\n  %y ?[*] = Conv.11(%a, %b) {" + group + "}\n  output %y\n"
	}
	for name, c := range map[string]struct {
		graph     string
		x         int
		of        []Role
		row, lane int
		together  bool // lanes are side by side
	}{
		"products":               {batch, 0, []Role{OfBoth, OfBoth, OfRows, OfLanes}, 2, 3, true},
		"the other way around":   {batch, 1, []Role{OfBoth, OfBoth, OfLanes, OfRows}, 3, 2, false},
		"a convolution":          {conv("", "8, 6, 3, 3"), 0, []Role{OfRows, OfLanes, OfRows, OfRows}, 3, 1, false},
		"filters as rows":        {conv("", "8, 6, 3, 3"), 1, []Role{OfLanes, OfRows, OfLanes, OfLanes}, 1, 3, true},
		"groups":                 {conv("group = 2", "8, 3, 3, 3"), 0, []Role{OfRows, OfGroups, OfRows, OfRows}, 3, -1, false},
		"a depthwise one":        {conv("group = 6", "6, 1, 3, 3"), 0, []Role{OfRows, OfBoth, OfRows, OfRows}, 3, -1, false},
		"an axis of one channel": {conv("", "1, 6, 3, 3"), 0, []Role{OfRows, OfLanes, OfRows, OfRows}, 3, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := lowertest.Formed(t, c.graph)
			m, refusal := Find(b.Stage, b.Operands, nil)
			require.Empty(t, refusal)
			r := m.Roles(c.x)
			assert.Equal(t, c.of, r.Of)
			assert.Equal(t, []int{c.row, c.lane}, []int{r.Row, r.Lane})
			assert.Equal(t, c.together, r.SideBySide())
			assert.True(t, r.Summed)
		})
	}
}

// TestTerms: what is read of factors, and what of them no tile takes in.
func TestTerms(t *testing.T) {
	for name, c := range map[string]struct {
		graph    string
		refusal  string
		zero     bool
		constant bool
		sum      ir.DType
	}{
		"floats":            {"  input %a f32[5, 7]\n  input %b f32[7, 3]\n  %y ?[*] = MatMul.13(%a, %b)\n  output %y\n", "", false, false, ir.F32},
		"halves":            {"  input %a f16[5, 7]\n  input %b f16[7, 3]\n  %y ?[*] = MatMul.13(%a, %b)\n  output %y\n", "", false, false, ir.F32},
		"a zero point":      {"  input %a u8[5, 7]\n  input %b s8[7, 3]\n  input %z u8[]\n  %y ?[*] = MatMulInteger.10(%a, %b, %z)\n  output %y\n", "", true, false, ir.I32},
		"none":              {"  input %a u8[5, 7]\n  input %b s8[7, 3]\n  %y ?[*] = MatMulInteger.10(%a, %b)\n  output %y\n", "", false, false, ir.I32},
		"no product at all": {"  input %a f32[5, 7]\n  %y ?[*] = ReduceSum.13(%a)\n  output %y\n", "it is not a contraction", false, false, ir.F32},
	} {
		t.Run(name, func(t *testing.T) {
			b := lowertest.Formed(t, strings.ReplaceAll(c.graph, "s8[", "i8["))
			m, refusal := Find(b.Stage, b.Operands, nil)
			require.Equal(t, c.refusal, refusal)
			if m == nil {
				return
			}
			assert.Equal(t, c.sum, m.Sum())
			assert.Equal(t, c.zero, m.Factors[0].Zero != nil)
			assert.Equal(t, c.constant, m.Factors[0].Constant)
		})
	}
	b := lowertest.Formed(t, "  input %a f32[5, 7]\n  input %b f32[7, 3]\n  %y ?[*] = MatMul.13(%a, %b)\n  output %y\n")
	mul := b.Stage.Values[0].(te.Call)
	b.Stage.Values = []te.Expr{te.Fn(ir.F32, "mul", te.Fn(ir.F32, "exp", mul.Args[0]), mul.Args[1])}
	_, refusal := Find(b.Stage, b.Operands, nil)
	assert.Equal(t, "an operand is computed where it is read, by a node fused to it", refusal)
}

// TestUnpackedWeights: weights that are computed of constants which take less memory are a factor that a tile packs, whatever they are read with.
func TestUnpackedWeights(t *testing.T) {
	b := lowertest.Formed(t, "  input %a f32[5, 7]\n  input %b f32[7, 3]\n  %y ?[*] = MatMul.13(%a, %b)\n  output %y\n")
	mul := b.Stage.Values[0].(te.Call)
	w := mul.Args[1].(te.Load)
	w.Type = ir.U8
	b.Operands[1] = ir.ConstValue("w", ir.NewTensor(ir.U8, 7, 3))
	with := func(e te.Expr) *Match {
		b.Stage.Values = []te.Expr{te.Fn(ir.F32, "mul", mul.Args[0], e)}
		m, _ := Find(b.Stage, b.Operands, nil)
		return m
	}
	scaled := te.Fn(ir.F32, "mul", te.Fn(ir.F32, "cast", w), te.Float(ir.F32, 0.5))
	m := with(scaled)
	require.NotNil(t, m)
	assert.Equal(t, scaled, m.Factors[1].Element(ir.F32))
	assert.False(t, m.Factors[1].IsWeights(), "the compiler does not make floats of them")
	assert.True(t, m.Factors[1].Uses(b.Stage.Reduce[0].Var))
	w.Guard, w.Default = []te.Within{{E: w.Index[0], Hi: w.Index[0]}}, te.Number(ir.U8, 0)
	assert.Nil(t, with(te.Fn(ir.F32, "mul", te.Fn(ir.F32, "cast", w), te.Float(ir.F32, 0.5))), "under a guard")
}
