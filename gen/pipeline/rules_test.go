package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/fuse"
)

// ruled has a device, or "" for x86_64, and a network to which a rule of fusion applies there.
var ruled = map[string]struct{ device, network string }{
	"spread": {"opencl_buffers", graphOf(`
  input %x f32[2, 3, 4]
  %t ?[*] = Transpose.13(%x) {perm = [2, 0, 1]}
  %a ?[*] = Transpose.13(%t) {perm = [0, 2, 1]}
  %b ?[*] = Transpose.13(%t) {perm = [1, 0, 2]}
  output %a
  output %b
`)},
	"unpacked":  {"", fourBits},
	"inlined":   {"", graphOf("  input %x f32[4, 8]\n  %e ?[*] = Exp.13(%x)\n  %y ?[*] = ReduceMax.13(%e) {axes = [1]}\n  output %y\n")},
	"appended":  {"", graphOf("  input %x f32[4, 8]\n  %m ?[*] = ReduceMax.13(%x) {axes = [1]}\n  %y ?[*] = Exp.13(%m)\n  output %y\n")},
	"chains":    {"", graphOf("  input %x f32[64, 256]\n  %y ?[*] = Softmax.13(%x) {axis = -1}\n  output %y\n")},
	"attention": {"opencl_nvidia", attended},
	"transforms": {"opencl_nvidia", graphOf("  input %x f32[1, 128, 56, 56]\n  const @w f32[128, 128, 3, 3] = {" + ones(128*128*9) + "}\n" +
		"  %y ?[*] = Conv.11(%x, @w) {pads = [1, 1, 1, 1]}\n  output %y\n")},
	"repeated": {"", graphOf("  input %x f32[1, 64, 28, 28]\n  const @w f32[128, 1, 3, 3] = {" + ones(128*9) + "}\n" +
		"  %y ?[*] = Conv.11(%x, @w) {group = 64, pads = [1, 1, 1, 1]}\n  output %y\n")},
	"parts":        {"", graphOf("  input %x f32[1, 4194304]\n  %y ?[*] = ReduceMean.13(%x) {axes = [1]}\n  output %y\n")},
	"productparts": {"opencl_nvidia", graphOf("  input %x f32[64, 16384]\n  input %w f32[16384, 64]\n  %y ?[*] = MatMul.13(%x, %w)\n  output %y\n")},
}

// graphOf returns the text of a graph.
func graphOf(nodes string) string { return "graph \"g\" opset 12 {\n" + nodes + "}\n" }

// TestFusionRules: each rule applies to a network, and the dump counts it. It does not if it is
// disabled.
func TestFusionRules(t *testing.T) {
	applied := func(s *State, name string) bool {
		return slices.ContainsFunc(s.Fused, func(a fuse.Applied) bool { return a.Name == name && a.Times > 0 })
	}
	for _, r := range fuse.Rules() {
		t.Run(r.Name, func(t *testing.T) {
			c, ok := ruled[r.Name]
			require.True(t, ok, "add a network to which the rule applies")
			compiled := func(disable ...string) *State {
				if c.device == "" {
					return compile(t, c.network, disable...)
				}
				return compileOn(t, c.device, c.network, disable...)
			}
			assert.True(t, applied(compiled(), r.Name))
			for _, off := range append([]string{r.Name}, r.Needs...) {
				assert.False(t, applied(compiled(off), r.Name), "without %s", off)
			}
		})
	}
}
