package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestRun: a pattern is found in either order of a product's operands, and only where nothing else reads what
// would no longer be computed.
func TestRun(t *testing.T) {
	for _, c := range []struct{ name, nodes, want string }{
		{"mish", `
  %p ?[*] = Softplus.1(%x)
  %q ?[*] = Tanh.13(%p)
  %y ?[*] = Mul.14(%x, %q)
  output %y`, "Mish.22(x)"},
		{"the other order", `
  %p ?[*] = Softplus.1(%x)
  %q ?[*] = Tanh.13(%p)
  %y ?[*] = Mul.14(%q, %x)
  output %y`, "Mish.22(x)"},
		{"of another value", `
  %p ?[*] = Softplus.1(%z)
  %q ?[*] = Tanh.13(%p)
  %y ?[*] = Mul.14(%x, %q)
  output %y`, "Mul.14(x q)"},
		{"read elsewhere, too", `
  %p ?[*] = Softplus.1(%x)
  %q ?[*] = Tanh.13(%p)
  %y ?[*] = Mul.14(%x, %q)
  output %y
  output %q`, "Mul.14(x q)"},
		{"another function", `
  %p ?[*] = Softplus.1(%x)
  %q ?[*] = Sigmoid.13(%p)
  %y ?[*] = Mul.14(%x, %q)
  output %y`, "Mul.14(x q)"},
		{"within an operand's pattern", `
  %p ?[*] = Softplus.1(%x)
  %y ?[*] = Mul.14(%x, %p)
  output %y`, "Mul.14(x p)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := ir.Parse(strings.NewReader("graph \"g\" opset 22 {\n  input %x f32[4]\n  input %z f32[4]"+c.nodes+"\n}\n"), nil)
			require.NoError(t, err)
			changed := Run(g)
			n := g.Nodes[len(g.Nodes)-1]
			var in []string
			for _, v := range n.Inputs {
				in = append(in, v.Name)
			}
			got := fmt.Sprintf("%s.%d(%s)", n.Op, n.Version, strings.Join(in, " "))
			assert.Equal(t, c.want, got)
			assert.Equal(t, strings.HasPrefix(c.want, "Mish"), changed)
		})
	}
}

// TestPatterns: every rule's pattern reads back as it stands.
func TestPatterns(t *testing.T) {
	for _, r := range compiled {
		assert.Equal(t, r.pattern, text(r.root, r.variables))
	}
	assert.Panics(t, func() { compile([]rule{{pattern: "Mul(x, y))"}}) })
}

func text(p *pattern, variables []string) string {
	if p.op == "" {
		return variables[p.variable]
	}
	var args []string
	for _, a := range p.args {
		args = append(args, text(a, variables))
	}
	return p.op + "(" + strings.Join(args, ", ") + ")"
}
