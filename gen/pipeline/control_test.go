package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestControlFlow: what depends on a value that only a run knows is refused, by name;
// what does not is gone before code is generated.
func TestControlFlow(t *testing.T) {
	graph := func(cond string) string {
		return `graph "g" opset 17 {
  const @yes bool[] = {1}
  input %c bool[]
  input %x f32[4]
  %y ?[*] = If.16(` + cond + `; %x) {else_branch = region 1, then_branch = region 0} "choose" regions {
    graph "then" opset 17 {
      input %x ?[*]
      %r ?[*] = Relu.14(%x)
      output %r
    }
    graph "else" opset 17 {
      input %x ?[*]
      %r ?[*] = Neg.13(%x)
      output %r
    }
  }
  output %y
}
`
	}
	compile(t, graph("@yes"))
	s := parse(t, graph("%c"))
	_, err := Run(GraphPasses, s, Options{})
	require.NoError(t, err)
	_, err = Run(CompilePasses, s, Options{})
	require.ErrorContains(t, err, `node If "choose": control flow is left`)
	require.ErrorContains(t, err, "make its condition and its number of iterations initializers of the model")
}
