package nodetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func TestLoad(t *testing.T) {
	s, err := Load()
	require.NoError(t, err)
	require.Greater(t, len(s.Cases), 2000)
	require.NotEmpty(t, s.Left)
	releases, own := map[string]int{}, map[string]bool{}
	for _, c := range s.Cases {
		releases[c.Release]++
		require.NotEmpty(t, c.Outputs, c.Label())
		if c.Release == ownRelease {
			require.False(t, own[c.Name], "two examples are called %s", c.Name)
			own[c.Name] = true
		}
	}
	require.Len(t, releases, 7)
}

func TestCompare(t *testing.T) {
	f := func(bits ...byte) *ir.Tensor { return &ir.Tensor{Type: ir.F32, Shape: []int64{1}, Data: bits} }
	one, nearOne, two := f(0, 0, 0x80, 0x3f), f(1, 0, 0x80, 0x3f), f(0, 0, 0, 0x40)
	nan, inf := f(0, 0, 0xc0, 0x7f), f(0, 0, 0x80, 0x7f)
	i := func(b byte) *ir.Tensor { return &ir.Tensor{Type: ir.I8, Shape: []int64{1}, Data: []byte{b}} }
	for _, c := range []struct {
		name      string
		got, want *ir.Tensor
		diff      string
	}{
		{"equal", one, one, ""},
		{"near", nearOne, one, ""},
		{"far", two, one, "1 of 1 elements differ: element 0 is 2, want 1"},
		{"nan", nan, nan, ""},
		{"nan where a number is due", nan, one, "element 0 is NaN"},
		{"infinity", inf, inf, ""},
		{"infinity where a number is due", inf, one, "element 0 is +Inf"},
		{"integers are exact", i(0xff), i(1), "element 0 is -1, want 1"},
		{"type", i(1), one, "type is i8, want f32"},
		{"shape", &ir.Tensor{Type: ir.I8, Shape: []int64{1, 1}, Data: []byte{1}}, i(1), "shape is [1 1], want [1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Compare(c.got, c.want)
			if c.diff == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.diff)
			}
		})
	}
}
