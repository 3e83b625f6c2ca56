package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/base/limit"
)

// TestSymbols: a graph of more symbols than a model may have is refused before anything is made of it: of those that its inputs name by the first pass,
// of those that nodes compute, too, where it is compiled.
func TestSymbols(t *testing.T) {
	inputs := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  symbol N%d 0..9\n  input %%x%d f32[N%d]\n  %%y%d ?[*] = Neg.13(%%x%d)\n  output %%y%d\n", i, i, i, i, i, i)
		}
		return "graph \"g\" opset 17 {\n" + b.String() + "}"
	}
	computed := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  %%n%d ?[*] = NonZero.13(%%x)\n  output %%n%d\n", i, i)
		}
		return "graph \"g\" opset 17 {\n  input %x f32[8]\n" + b.String() + "}"
	}
	for name, c := range map[string]struct {
		graph  string
		passes []Pass
		want   string
	}{
		"as many as there may be":       {inputs(limit.Symbols), GraphPasses, ""},
		"one more":                      {inputs(limit.Symbols + 1), GraphPasses[:1], "pass simplify: 257 symbols; the runtime supports 256: bind some with --dim"},
		"far more":                      {inputs(5000), GraphPasses[:1], "pass simplify: 5000 symbols; the runtime supports 256"},
		"one more than may be computed": {computed(limit.Symbols + 1), CompilePasses[:1], "pass infer: 257 symbols; the runtime supports 256"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Run(c.passes, parse(t, c.graph), Options{})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}
