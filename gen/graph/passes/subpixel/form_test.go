package subpixel_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
)

// convolutions are a graph's, by filters and taps.
func convolutions(g *ir.Graph) string {
	var out []string
	for _, n := range g.Nodes {
		if n.Op == "Conv" {
			shape := n.Inputs[1].Const.Shape
			out = append(out, strings.ReplaceAll(fmt.Sprintf("%d of %d", shape[0], shape[2:]), " ", ""))
		}
	}
	return strings.Join(out, ", ")
}

// TestParts: phases with fewer taps have convolutions of their own where that takes less, and nothing is computed that is not wanted. All sums are exact.
func TestParts(t *testing.T) {
	const apart = "16of[22], 16of[21], 16of[12], 16of[11]"
	for _, c := range []struct{ name, shape, kernel, attrs, want string }{
		{"three taps of two", "2, 4, H, 5", "4, 16, 3, 3", "strides = [2, 2]", apart},
		{"by name", "2, 4, H, 5", "4, 16, 3, 3", "strides = [2, 2], auto_pad = \"SAME_UPPER\"", apart},
		{"by name, more before", "2, 4, H, 5", "4, 16, 3, 3", "strides = [2, 2], auto_pad = \"SAME_LOWER\"", "16of[11], 16of[12], 16of[21], 16of[22]"},
		{"pads, and more at the end", "2, 4, H, 5", "4, 16, 3, 3", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]", "16of[11], 16of[12], 16of[21], 16of[22]"},
		{"other pads on each side", "2, 4, H, 5", "4, 16, 3, 3", "strides = [2, 2], pads = [0, 1, 1, 0]", "16of[21], 16of[22], 16of[11], 16of[12]"},
		{"pads as wide as the kernel", "2, 4, 4, 5", "4, 16, 3, 3", "strides = [2, 2], pads = [3, 2, 0, 1]", apart},
		{"a shape", "2, 4, 3, 5", "4, 16, 3, 3", "strides = [2, 2], output_shape = [8, 9]", "16of[21], 16of[22], 16of[11], 16of[12]"},
		{"few channels", "2, 4, H, 5", "4, 3, 3, 3", "strides = [2, 2]", "12of[22]"},
		{"channels of which two phases fill vectors", "2, 4, H, 5", "4, 8, 3, 3", "strides = [2, 2]", "16of[22], 16of[12]"},
		{"kernels as wide as two strides", "2, 4, 20, 20", "4, 16, 4, 4", "strides = [2, 2], pads = [1, 1, 1, 1]", "64of[22]"},
		{"the same, of few places", "2, 4, 4, 4", "4, 16, 4, 4", "strides = [2, 2], pads = [1, 1, 1, 1]", "16of[22], 16of[22], 16of[22], 16of[22]"},
		{"kernels as wide as the stride", "2, 4, H, 5", "4, 16, 2, 2", "strides = [2, 2]", "64of[11]"},
		{"Winograd's taps", "2, 4, H, 5", "4, 16, 5, 5", "strides = [2, 2], pads = [2, 2, 2, 2], output_padding = [1, 1]", "64of[33]"},
		{"phases with the same taps", "2, 4, H, 5", "4, 16, 4, 4", "strides = [3, 3], pads = [1, 0, 0, 1]", "16of[12], 32of[11], 16of[12], 32of[11], 16of[22], 32of[21]"},
		{"one axis", "2, 4, H", "4, 16, 7", "strides = [3], pads = [0, 2]", "16of[3], 32of[2]"},
		{"one axis, of many phases", "2, 4, H", "4, 16, 9", "strides = [8]", "16of[2], 112of[1]"},
		{"no stride of one axis", "2, 4, H, 5", "4, 16, 3, 3", "strides = [1, 2], dilations = [2, 1], pads = [1, 1, 0, 0]", "16of[31], 16of[32]"},
		{"groups", "2, 4, H, 5", "4, 8, 3, 3", "strides = [2, 2], group = 2", apart},
		{"a group for each channel", "2, 4, H, 5", "4, 4, 3, 3", "strides = [2, 2], group = 4, pads = [1, 1, 1, 1], output_padding = [1, 1]", "16of[11], 16of[12], 16of[21], 16of[22]"},
		{"three axes", "2, 2, 2, H, 3", "2, 16, 3, 3, 2", "strides = [2, 2, 1], pads = [0, 1, 0, 0, 0, 0]", "16of[212], 16of[222], 16of[112], 16of[122]"},
		{"runs of phases with the same taps", "2, 2, H, 3", "2, 16, 6, 6", "strides = [5, 5]",
			"16of[22], 64of[21], 16of[12], 64of[11], 16of[12], 64of[11], 16of[12], 64of[11], 16of[12], 64of[11]"},
		{"more of them than there may be", "1, 2, 2, 3", "2, 16, 10, 10", "strides = [9, 9]", "144of[22], 1152of[12]"},
		{"more at the end than any phase has", "2, 4, H, 5", "4, 16, 2, 2", "strides = [2, 2], output_padding = [1, 1]", "64of[11]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kernel := strings.Split(c.kernel, ", ")
			n := 1
			for _, d := range kernel {
				by, _ := strconv.Atoi(d)
				n *= by
			}
			of, _ := strconv.Atoi(kernel[1])
			if strings.Contains(c.attrs, "group") {
				of = 16
			}
			dims := []int64{}
			for d := range strings.SplitSeq(strings.ReplaceAll(c.shape, "H", "4"), ", ") {
				by, _ := strconv.ParseInt(d, 10, 64)
				dims = append(dims, by)
			}
			for _, bias := range []string{"", fmt.Sprintf("  const @b f32[%d] = {%s}\n", of, numbers(of))} {
				operands := map[bool]string{true: "%x, @w", false: "%x, @w, @b"}[bias == ""]
				g := rewritten(t, "  symbol H 1..9\n  const @w f32["+c.kernel+"] = {"+numbers(n)+"}\n"+bias+"  input %x f32["+c.shape+"]\n  %y ?[*] = ConvTranspose.11("+operands+") {"+c.attrs+"}\n  output %y\n", dims)
				assert.Equal(t, c.want, convolutions(g))
			}
		})
	}
}
