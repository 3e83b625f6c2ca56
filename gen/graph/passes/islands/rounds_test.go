package islands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// TestRounds: a quantization passes all nodes that move elements in one round, however many they are.
func TestRounds(t *testing.T) {
	for _, n := range []int{3, 100} {
		var b strings.Builder
		b.WriteString(`
  const @s f32[] = {0.02}
  const @z u8[] = {117}
  input %x f32[2, 3, 4]
  %e0 ?[*] = Exp.13(%x)
`)
		for i := range n {
			fmt.Fprintf(&b, "  %%e%d ?[*] = Transpose.13(%%e%d) {perm = [1, 2, 0]}\n", i+1, i)
		}
		fmt.Fprintf(&b, "  %%y ?[*] = QuantizeLinear.13(%%e%d, @s, @z)\n  output %%y\n", n)
		g := irtest.Parse(t, b.String())
		require.NoError(t, simplify.RunBut(g, Keeps))
		p := &pass{g: g, names: edit.NewNamer(g), facts: shape.Facts(g)}
		changed := 0
		for p.round(rounds[0]) {
			changed++
		}
		assert.Equal(t, 1, changed, "%d nodes", n)
		require.NoError(t, ir.Verify(g))
		require.Len(t, g.Nodes, n+2)
		assert.Equal(t, "QuantizeLinear", g.Nodes[1].Op)
		assert.Equal(t, ir.U8, g.Nodes[n+1].Outputs[0].Type)
	}
}
