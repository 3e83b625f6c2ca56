package modeltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/plan"
)

// heads is attention of x with itself: rows of x are heads, which are turned before the products and after them.
func heads(batch, rows, number, width int) string {
	return strings.NewReplacer("$B", fmt.Sprint(batch), "$S", fmt.Sprint(rows), "$H", fmt.Sprint(number), "$D", fmt.Sprint(width), "$C", fmt.Sprint(number*width)).Replace(`  const @apart i64[4] = {$B, $S, $H, $D}
  const @joined i64[3] = {$B, $S, $C}
  input %q f32[$B, $S, $C]
  input %k f32[$B, $S, $C]
  input %v f32[$B, $S, $C]
  %q0 ?[*] = Neg.13(%q)
  %k0 ?[*] = Neg.13(%k)
  %v0 ?[*] = Neg.13(%v)
  %q1 ?[*] = Reshape.14(%q0, @apart)
  %k1 ?[*] = Reshape.14(%k0, @apart)
  %v1 ?[*] = Reshape.14(%v0, @apart)
  %q2 ?[*] = Transpose.13(%q1) {perm = [0, 2, 1, 3]}
  %k2 ?[*] = Transpose.13(%k1) {perm = [0, 2, 3, 1]}
  %v2 ?[*] = Transpose.13(%v1) {perm = [0, 2, 1, 3]}
  %a ?[*] = MatMul.13(%q2, %k2)
  %b ?[*] = Softmax.13(%a) {axis = -1}
  %c ?[*] = MatMul.13(%b, %v2)
  %d ?[*] = Transpose.13(%c) {perm = [0, 2, 1, 3]}
  %e ?[*] = Reshape.14(%d, @joined)
  %y ?[*] = Abs.13(%e)
  output %y
`)
}

// TestTurned: heads that products read and store as the rows around them have them are not turned by steps of their own, and the network
// computes the same, in the interpreter of loops and in C++.
func TestTurned(t *testing.T) {
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	for _, c := range [][4]int{{1, 48, 4, 16}, {2, 33, 3, 26}, {1, 130, 2, 64}} {
		text := heads(c[0], c[1], c[2], c[3])
		r := rand.New(rand.NewPCG(uint64(c[1]), 3))
		inputs := map[string]*ir.Tensor{}
		for _, name := range []string{"q", "k", "v"} {
			x := ir.NewTensor(ir.F32, int64(c[0]), int64(c[1]), int64(c[2]*c[3]))
			for i := range c[0] * c[1] * c[2] * c[3] {
				put(x, i, r.Float32()*2-1)
			}
			inputs[name] = x
		}
		want, err := interp.Graph(irtest.Parse(t, text), inputs)
		require.NoError(t, err)
		for _, chip := range Chips {
			p, err := Compile(irtest.Parse(t, text), Config{Chip: chip})
			require.NoError(t, err)
			got, err := runTexts(p, InputsOf(p, inputs))
			require.NoError(t, err)
			require.NoError(t, compare(got[0], want[0]), "%s: %v", chip, c)
			assert.Empty(t, turns(p), "%s: %v", chip, c)
			if chip == Chips[0] {
				cases, wants = append(cases, cpptest.Case{Name: fmt.Sprint(c), Program: p, Inputs: InputsOf(p, inputs)}), append(wants, want)
			}
		}
		p, err := Compile(irtest.Parse(t, text), Config{Chip: Chips[1], Disable: []string{"layouts"}})
		require.NoError(t, err)
		assert.NotEmpty(t, turns(p), "layouts are switched off: %v", c)
	}
	for i, got := range cpptest.Run(t, "../../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		assert.NoError(t, compare(got.Outputs[0], wants[i][0]), cases[i].Name)
	}
}

// turns are the steps that only move elements.
func turns(p *plan.Program) []string {
	var out []string
	for _, c := range p.Calls() {
		moves := len(c.Block.Ops) > 0
		for _, op := range c.Block.Ops {
			moves = moves && (op == "Transpose" || op == "Reshape" || op == "Layout")
		}
		if moves {
			out = append(out, c.Block.Label())
		}
	}
	return out
}
