package product

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/target/instr"
)

// TestRoom: sums in 16 bits have room for 255 times weights that come to 128 at most, or -128, of each of a group's neighbours by itself, and
// sums begin anew with each run.
func TestRoom(t *testing.T) {
	b := func(list ...int8) []byte {
		out := make([]byte, len(list))
		for i, x := range list {
			out[i] = byte(x)
		}
		return out
	}
	for _, c := range []struct {
		row         string
		weights     []byte
		run, points int64
		want        bool
	}{
		{"vmpy_i8u8", b(127, -128, 127, -128), 4, 1, true},
		{"vmpy_i8u8", b(64, 64, 127, 1), 4, 2, true},
		{"vmpy_i8u8", b(64, 65, 1, 1), 4, 2, false},
		{"vmpy_i8u8", b(-64, -64, 127, 1), 4, 2, true},
		{"vmpy_i8u8", b(-64, -65, 127, 1), 4, 2, false},
		{"vmpy_i8u8", b(1, 64, 65, 1), 2, 2, true},
		{"vmpy_i8u8", b(1, 64, 65, 1), 4, 3, false},
		{"vmpa_i8u8", b(127, 100, 1, 28), 2, 2, true},
		{"vmpa_i8u8", b(127, 100, 2, 28), 2, 2, false},
	} {
		p := &product{instr: instr.Lookup(c.row)}
		assert.Equal(t, c.want, p.room(c.weights, c.run, c.points), "%+v", c)
	}
}

// TestNarrow: products by vmpa and vmpy add as many points in 16 bits as the weights have room for; without room, or with weights that are not
// known, there are none by vmpa.
func TestNarrow(t *testing.T) {
	tiles := func(weight string) []string {
		graph := "  const @w i8[2, 4, 1, 1] = {" + strings.Repeat(weight+", ", 7) + weight + "}\n  input %x u8[1, 4, 8, 64]\n  %y ?[*] = ConvInteger.10(%x, @w)\n  output %y\n"
		if weight == "" {
			graph = lowertest.WholePixels
		}
		all, err := Propose(lowertest.Formed(t, graph), lowertest.HexagonEnv(t, nil))
		require.NoError(t, err)
		var out []string
		for _, l := range all {
			require.NoError(t, l.Check())
			require.NoError(t, l.Make())
			for _, line := range strings.Split(l.Schedule.String(), "\n") {
				if strings.Contains(line, "narrow") {
					out = append(out, strings.TrimSpace(line))
				}
			}
		}
		slices.Sort(out)
		return out
	}
	assert.Equal(t, []string{"tile vmpa_i8u8 scalar, narrow 2", "tile vmpy_i8u8 scalar, narrow 4"}, tiles("32"))
	assert.Equal(t, []string{"tile vmpa_i8u8 scalar, narrow 2", "tile vmpy_i8u8 scalar, narrow 3"}, tiles("42"))
	assert.Equal(t, []string{"tile vmpy_i8u8 scalar, narrow 1"}, tiles("127"))
	assert.Empty(t, tiles(""))
}
