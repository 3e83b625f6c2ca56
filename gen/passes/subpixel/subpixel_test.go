package subpixel_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/passes/subpixel"
	"rules_dnn/gen/shape"
)

// numbers are small and exact.
func numbers(n int) string {
	xs := make([]string, n)
	for i := range xs {
		xs[i] = fmt.Sprint(float32(i*7%13-6) / 4)
	}
	return strings.Join(xs, ", ")
}

func ops(g *ir.Graph) string {
	var out []string
	for _, n := range g.Nodes {
		out = append(out, n.Op)
	}
	return strings.Join(out, " ")
}

// run gives the only output for x, whose elements are small and exact too.
func run(t *testing.T, g *ir.Graph, dims ...int64) *ir.Tensor {
	x := ir.NewTensor(ir.F32, dims...)
	for i := range int(x.Len()) {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(i%11-5)/8))
	}
	out, err := interp.Graph(g, map[string]*ir.Tensor{"x": x})
	require.NoError(t, err)
	return out[0]
}

// TestRun compares transposed convolutions with what replaces them: all sums are exact.
func TestRun(t *testing.T) {
	const done = "Conv DepthToSpace Slice"
	for _, c := range []struct {
		name, attrs, kernel string
		weights             int
		bias, want          string
	}{
		{"kernel as wide as the stride", "strides = [2, 2]", "4, 3, 2, 2", 48, "", done},
		{"overlapping, with pads", "strides = [2, 2], pads = [1, 1, 1, 1]", "4, 3, 4, 4", 192, "3", done},
		{"odd kernel, more at the end", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]", "4, 3, 3, 3", 108, "3", done},
		{"other kernel and pads on each side", "strides = [3, 3], pads = [2, 0, 1, 3]", "4, 3, 5, 7", 420, "", done},
		{"gaps between the kernels", "strides = [3, 3]", "4, 3, 2, 1", 24, "3", done},
		{"groups", "strides = [2, 2], group = 2, pads = [0, 1, 0, 1]", "4, 3, 3, 2", 72, "6", done},
		{"no stride", "strides = [1, 1]", "4, 3, 2, 2", 48, "", "ConvTranspose"},
		{"two strides", "strides = [1, 2]", "4, 3, 2, 2", 48, "", "ConvTranspose"},
		{"dilation", "strides = [2, 2], dilations = [2, 1]", "4, 3, 2, 2", 48, "", "ConvTranspose"},
		{"pads by name", "strides = [2, 2], auto_pad = \"SAME_UPPER\"", "4, 3, 2, 2", 48, "", "ConvTranspose"},
		{"more at the end than any phase has", "strides = [2, 2], output_padding = [1, 1]", "4, 3, 2, 2", 48, "", "ConvTranspose"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "  symbol H 1..9\n  const @w f32[" + c.kernel + "] = {" + numbers(c.weights) + "}\n"
			operands := "%x, @w"
			if c.bias != "" {
				n := int(c.bias[0] - '0')
				text += "  const @b f32[" + c.bias + "] = {" + numbers(n) + "}\n"
				operands += ", @b"
			}
			text += "  input %x f32[2, 4, H, 5]\n  %y ?[*] = ConvTranspose.11(" + operands + ") {" + c.attrs + "} \"up\"\n  output %y\n"
			g := irtest.Parse(t, text)
			require.NoError(t, shape.Infer(g))
			want := run(t, g, 2, 4, 3, 5)
			dims := g.Outputs[0].Shape
			changed, err := subpixel.Run(g)
			require.NoError(t, err)
			require.NoError(t, ir.Verify(g))
			require.NoError(t, shape.Infer(g))
			assert.Equal(t, c.want, ops(g))
			assert.Equal(t, c.want == done, changed)
			for i, d := range dims {
				assert.True(t, d.Equal(g.Outputs[0].Shape[i]), "dimension %d is %s, was %s", i, g.Outputs[0].Shape[i], d)
			}
			got := run(t, g, 2, 4, 3, 5)
			assert.Equal(t, want.Shape, got.Shape)
			assert.Equal(t, want.Data, got.Data)
		})
	}
}
