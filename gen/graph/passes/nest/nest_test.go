package nest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// TestRun: each Concat becomes one of the longest one before it that it begins with, and of what has been split.
func TestRun(t *testing.T) {
	for _, c := range []struct{ name, nodes, want string }{
		{"dense layers", `
  %p ?[*] = Concat.13(%a, %b) {axis = 1}
  %q ?[*] = Concat.13(%a, %b, %c) {axis = 1}
  %r ?[*] = Concat.13(%a, %b, %c, %d) {axis = 1}`, "p(a b) q(p c) r(q d)"},
		{"the same axis, counted from the end", `
  %p ?[*] = Concat.13(%a, %b) {axis = 1}
  %r ?[*] = Concat.13(%a, %b, %c) {axis = -1}`, "p(a b) r(p c)"},
		{"another axis", `
  %p ?[*] = Concat.13(%a, %b) {axis = 0}
  %q ?[*] = Concat.13(%a, %b, %c) {axis = 1}
  %r ?[*] = Concat.13(%p, %q) {axis = 0}`, "p(a b) q(a b c) r(p q)"},
		{"other beginnings", `
  %p ?[*] = Concat.13(%b, %a) {axis = 1}
  %q ?[*] = Concat.13(%a, %b, %c) {axis = 1}
  %s ?[*] = Concat.13(%a, %b, %c) {axis = 1}
  %r ?[*] = Concat.13(%p, %q, %s) {axis = 1}`, "p(b a) q(a b c) s(a b c) r(p q s)"},
		{"all parts of a value", `
  %p ?[*], %q ?[*] = Split.13(%a) {axis = 1}
  %r ?[*] = Concat.13(%b, %p, %q, %c) {axis = -1}`, "p(a) r(b a c)"},
		{"all parts of two values", `
  %p ?[*], %q ?[*] = Split.13(%a) {axis = 0}
  %s ?[*], %u ?[*] = Split.13(%b) {axis = 0}
  %r ?[*] = Concat.13(%p, %q, %s, %u, %p) {axis = 0}`, "p(a) s(b) r(a b p)"},
		{"some parts, in another order, along another axis", `
  %p ?[*], %q ?[*] = Split.13(%a) {axis = 0}
  %s ?[*] = Concat.13(%q, %p, %b) {axis = 0}
  %u ?[*] = Concat.13(%p, %b, %q) {axis = 0}
  %r ?[*] = Concat.13(%p, %q, %p) {axis = 1}`, "p(a) s(q p b) u(p b q) r(p q p)"},
		{"nothing else", `
  %p ?[*], %q ?[*] = Split.13(%a) {axis = 0}
  %r ?[*] = Concat.13(%p, %q) {axis = 0}`, "p(a) r(p q)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "graph \"g\" opset 17 {\n"
			for _, v := range []string{"a", "b", "c", "d"} {
				text += fmt.Sprintf("  input %%%s f32[4, 4]\n", v)
			}
			g, err := ir.Parse(strings.NewReader(text+strings.TrimPrefix(c.nodes, "\n")+"\n  output %r\n}\n"), nil)
			require.NoError(t, err)
			if c.name != "another axis" { // whose shapes do not fit
				require.NoError(t, shape.Infer(g))
			}
			changed := Run(g)
			var got []string
			for _, n := range g.Nodes {
				var in []string
				for _, v := range n.Inputs {
					in = append(in, v.Name)
				}
				got = append(got, n.Outputs[0].Name+"("+strings.Join(in, " ")+")")
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
			assert.Equal(t, changed, strings.Contains(c.want, "(p c)") || strings.Contains(c.want, "(q d)") || strings.HasPrefix(c.name, "all parts"))
		})
	}
}
