package fuse

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
)

// TestRepeat: convolutions of several filters for each channel, and no others, read a copy that repeats the channels, where estimates say so, one for all of them.
func TestRepeat(t *testing.T) {
	const more, less = 3, 1 // what two blocks are estimated to take, where one takes two
	conv := func(y, w, attrs string) string {
		return "%" + y + " ?[*] = Conv.11(%x, %" + w + ") {" + attrs + "}\n"
	}
	head := "input %x f32[1, 8, 9, 9]\ninput %w f32[24, 1, 3, 3]\ninput %v f32[24, 1, 5, 5]\n"
	for _, c := range []struct {
		name, text string
		estimate   float64
		want       []string
	}{
		{"three filters of a channel", head + conv("y", "w", "group = 8, strides = [2, 2]") + "output %y\n", less, []string{"[1 24 9 9]", "[1 24 4 4]"}},
		{"estimated to take longer", head + conv("y", "w", "group = 8") + "output %y\n", more, []string{"[1 24 7 7]"}},
		{"two readers", head + conv("y", "w", "group = 8, pads = [1, 1, 1, 1]") + conv("z", "v", "group = 8, pads = [2, 2, 2, 2]") + "%o ?[*] = Add.14(%y, %z)\noutput %o\n", less,
			[]string{"[1 24 9 9]", "[1 24 9 9]", "[1 24 9 9]"}},
		{"one filter", "input %x f32[1, 24, 9, 9]\ninput %w f32[24, 1, 3, 3]\n" + conv("y", "w", "group = 24") + "output %y\n", less, []string{"[1 24 7 7]"}},
		{"sums of several channels", "input %x f32[1, 8, 9, 9]\ninput %w f32[16, 2, 3, 3]\n" + conv("y", "w", "group = 4") + "output %y\n", less, []string{"[1 16 7 7]"}},
		{"one channel", "input %x f32[1, 1, 9, 9]\ninput %w f32[16, 1, 3, 3]\n" + conv("y", "w", "group = 1") + "output %y\n", less, []string{"[1 16 7 7]"}},
		{"few taps", "input %x f32[1, 8, 9, 9]\ninput %w f32[16, 1, 1, 1]\n" + conv("y", "w", "group = 8") + "output %y\n", less, []string{"[1 16 9 9]"}},
		{"of any number of images", "symbol N 1..8\ninput %x f32[N, 8, 9, 9]\ninput %w f32[16, 1, 3, 3]\n" + conv("y", "w", "group = 8") + "output %y\n", less, []string{"[N 16 9 9]", "[N 16 7 7]"}},
	} {
		g := blocks(t, c.text)
		Run(g, Options{Estimator: prices{together: func(all []*block.Block) float64 {
			if len(all) == 1 && slices.ContainsFunc(all[0].Operands, func(v *ir.Value) bool { return v.Name == "x" }) {
				return 2
			}
			return c.estimate
		}}})
		require.NoError(t, g.Verify(), c.name)
		var got []string
		for _, b := range g.Blocks {
			got = append(got, fmt.Sprint(b.Results[0].Shape))
		}
		assert.Equal(t, c.want, got, c.name)
	}
	g := blocks(t, head+conv("y", "w", "group = 8")+"output %y\n")
	Run(g, Options{})
	assert.Len(t, g.Blocks, 1, "without estimates")
}
