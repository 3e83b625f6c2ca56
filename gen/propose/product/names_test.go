package product

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
)

// TestNamesHaveDigests: of all contractions: records of what kernels took are of the schedule that they were made of.
func TestNamesHaveDigests(t *testing.T) {
	for _, c := range []struct{ graph, name string }{
		{"  input %a f32[64, 64]\n  input %b f32[64, 64]\n  %y ?[*] = MatMul.13(%a, %b)\n  output %y\n", "product tile 6x2"},
		{"  input %a u8[64, 64]\n  input %b i8[64, 64]\n  %y ?[*] = MatMulInteger.10(%a, %b)\n  output %y\n", "product tile 6x2"},
		{"  input %a u8[1, 8, 9, 9]\n  input %b u8[8, 1, 3, 3]\n  %y ?[*] = ConvInteger.10(%a, %b) {group = 8}\n  output %y\n", "window"},
	} {
		env := lower.NewEnv(lowertest.Chip(t, "x86_64_v3"), nil, lower.Options{Contractions: true, Windows: true, Vectors: true})
		all, err := Propose(lowertest.Formed(t, c.graph), env)
		require.NoError(t, err)
		require.Len(t, all, 1, c.graph)
		l := all[0]
		assert.Equal(t, c.name+lower.DigestMark+l.Schedule.Digest(), l.Name)
		require.NoError(t, l.Check())
	}
}
