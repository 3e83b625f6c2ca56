package subpixel_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/subpixel"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
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
	const done, flipped, moved = "Conv DepthToSpace Slice", "Conv Slice", "Conv Transpose Reshape Transpose Reshape"
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
		{"more gaps than results", "strides = [5, 5]", "4, 3, 1, 1", 12, "", "ConvTranspose"},
		{"groups", "strides = [2, 2], group = 2, pads = [0, 1, 0, 1]", "4, 3, 3, 2", 72, "6", done},
		{"no stride", "strides = [1, 1]", "4, 3, 2, 2", 48, "", flipped},
		{"no stride, with pads", "pads = [1, 0, 0, 1]", "4, 3, 2, 3", 72, "3", flipped},
		{"no stride, with pads beyond the kernel", "pads = [1, 0, 2, 1]", "4, 3, 2, 1", 24, "3", "ConvTranspose"},
		{"no stride, with more at the end", "dilations = [2, 1], pads = [1, 1, 1, 1], output_padding = [1, 0]", "4, 3, 3, 3", 108, "", flipped},
		{"dilation without stride", "dilations = [2, 1], pads = [1, 0, 3, 0]", "4, 3, 3, 2", 72, "", flipped},
		{"a shape", "strides = [2, 2], output_shape = [6, 11]", "4, 3, 3, 4", 144, "3", done},
		{"a shape of one row more", "strides = [2, 2], output_shape = [8, 11]", "4, 3, 3, 3", 108, "", done},
		{"a shape, beside no pads by name", "strides = [2, 2], auto_pad = \"VALID\", output_shape = [6, 10]", "4, 3, 3, 3", 108, "", done},
		{"a shape beyond all phases", "strides = [2, 2], output_shape = [9, 11]", "4, 3, 3, 3", 108, "", done},
		{"two strides", "strides = [2, 3]", "4, 3, 2, 4", 96, "", moved + " Transpose Reshape Slice"},
		{"two strides and groups", "strides = [3, 2], group = 2, pads = [0, 1, 2, 0]", "4, 3, 3, 4", 144, "6", moved + " Transpose Reshape Slice"},
		{"a stride of one axis, a dilation of the other", "strides = [1, 2], dilations = [2, 1], pads = [1, 1, 1, 1]", "4, 3, 3, 4", 144, "", moved + " Transpose Reshape Slice"},
		{"one axis", "strides = [4], pads = [2, 2]", "4, 3, 8", 96, "3", moved + " Slice"},
		{"one axis, of groups", "strides = [3], group = 4, pads = [0, 1], output_padding = [1]", "4, 1, 5", 20, "4", moved + " Slice"},
		{"three axes", "strides = [2, 2, 3], pads = [0, 1, 0, 1, 0, 2]", "4, 2, 2, 3, 3", 144, "2", moved + " Transpose Reshape Transpose Reshape Slice"},
		{"three axes, of groups", "strides = [2, 1, 2], group = 2", "4, 2, 2, 3, 2", 96, "4", moved + " Transpose Reshape Transpose Reshape Slice"},
		{"dilation", "strides = [2, 2], dilations = [2, 1]", "4, 3, 2, 2", 48, "", "ConvTranspose"},
		{"pads by name", "strides = [2, 2], auto_pad = \"SAME_UPPER\"", "4, 3, 3, 2", 72, "", done},
		{"pads by name, more before", "strides = [2, 2], auto_pad = \"SAME_LOWER\"", "4, 3, 3, 5", 180, "", done},
		{"kernels that end before the stride", "strides = [3, 3], auto_pad = \"SAME_UPPER\"", "4, 3, 2, 1", 24, "", done},
		{"no pads, by name", "strides = [2, 2], auto_pad = \"VALID\"", "4, 3, 3, 2", 72, "", done},
		{"a shape of an extent that is no number", "strides = [2, 2], output_shape = [6, 10]", "4, 3, 3, 3", 108, "", "ConvTranspose"},
		{"more at the end than any phase has", "strides = [2, 2], output_padding = [1, 1]", "4, 3, 2, 2", 48, "", done},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "  symbol H 1..9\n  const @w f32[" + c.kernel + "] = {" + numbers(c.weights) + "}\n"
			operands := "%x, @w"
			if c.bias != "" {
				n := int(c.bias[0] - '0')
				text += "  const @b f32[" + c.bias + "] = {" + numbers(n) + "}\n"
				operands += ", @b"
			}
			shaped, dims := "2, 4, H, 5", []int64{2, 4, 3, 5}
			switch strings.Count(c.kernel, ",") {
			case 2:
				shaped, dims = "2, 4, H", dims[:3]
			case 4:
				shaped, dims = "2, 4, H, W, 5", []int64{2, 4, 3, 2, 5}
			}
			if strings.Contains(c.attrs, "output_shape") && !strings.Contains(c.name, "no number") {
				shaped = "2, 4, 3, 5"
			}
			text += "  symbol W 1..9\n  input %x f32[" + shaped + "]\n  %y ?[*] = ConvTranspose.11(" + operands + ") {" + c.attrs + "} \"up\"\n  output %y\n"
			g := rewritten(t, text, dims)
			assert.Equal(t, c.want, ops(g))
		})
	}
}

// rewritten is a graph after the pass, which answers as it did, in the shapes that it had; the pass says whether there is no transposed convolution any more.
func rewritten(t *testing.T, text string, dims []int64) *ir.Graph {
	t.Helper()
	g := irtest.Parse(t, text)
	require.NoError(t, shape.Infer(g))
	want, shapes := run(t, g, dims...), g.Outputs[0].Shape
	changed, err := subpixel.Run(g)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(g))
	require.NoError(t, shape.Infer(g))
	assert.Equal(t, ops(g) != "ConvTranspose", changed)
	for i, d := range shapes {
		assert.True(t, d.Equal(g.Outputs[0].Shape[i]), "dimension %d is %s, was %s", i, g.Outputs[0].Shape[i], d)
	}
	got := run(t, g, dims...)
	assert.Equal(t, want.Shape, got.Shape)
	assert.Equal(t, want.Data, got.Data)
	return g
}

// TestOneElement: along axes of one element a phase has one tap, whatever the stride.
func TestOneElement(t *testing.T) {
	for _, c := range []struct {
		name, shape, kernel, attrs, taps string
		dims                             []int64
	}{
		{"one pixel", "2, 2, 1, 1", "2, 2, 4, 4", "", "[32 2 1 1]", []int64{2, 2, 1, 1}},
		{"images of one pixel", "N, 2, 1, 1", "2, 2, 4, 4", "strides = [2, 2], pads = [1, 1, 1, 1]", "[32 2 1 1]", []int64{3, 2, 1, 1}},
		{"one row", "2, 2, 1, 5", "2, 2, 3, 3", "strides = [2, 2], pads = [1, 0, 2, 1]", "[12 2 1 2]", []int64{2, 2, 1, 5}},
		{"one pixel, by a shape", "2, 2, 1, 1", "2, 2, 3, 3", "strides = [2, 2], output_shape = [2, 3]", "[18 2 1 1]", []int64{2, 2, 1, 1}},
		{"one pixel, more at the end", "2, 2, 1, 1", "2, 2, 3, 3", "strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]", "[18 2 1 1]", []int64{2, 2, 1, 1}},
		{"results beyond the kernel", "2, 2, 1, 1", "2, 2, 3, 3", "strides = [2, 2], output_padding = [1, 1]", "[8 2 2 2]", []int64{2, 2, 1, 1}},
		{"a dilation", "2, 2, 1, 1", "2, 2, 3, 3", "dilations = [2, 2], pads = [1, 1, 1, 1]", "[2 2 3 3]", []int64{2, 2, 1, 1}},
		{"one axis", "2, 2, 1", "2, 2, 5", "strides = [2], pads = [1, 1]", "[10 2 1]", []int64{2, 2, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 1
			for d := range strings.SplitSeq(c.kernel, ", ") {
				n *= int(d[0] - '0')
			}
			g := rewritten(t, "  symbol N 1..9\n  const @w f32["+c.kernel+"] = {"+numbers(n)+"}\n  input %x f32["+c.shape+"]\n  %y ?[*] = ConvTranspose.11(%x, @w) {"+c.attrs+"}\n  output %y\n", c.dims)
			require.Equal(t, "Conv", g.Nodes[0].Op)
			assert.Equal(t, c.taps, fmt.Sprint(g.Nodes[0].Inputs[1].Const.Shape))
		})
	}
}

// TestEmpty: transposed convolutions stay whose convolutions would be of nothing in runs of which they themselves compute something, or nothing, or are refused.
func TestEmpty(t *testing.T) {
	for _, c := range []struct {
		name, shape, kernel, attrs, want string
		dims                             []int64
	}{
		{"no row, of one stride and another", "1, 2, H, 3", "2, 1, 1, 3", "strides = [1, 2]", "ConvTranspose", []int64{1, 2, 0, 3}},
		{"no row, and kernels of one without stride", "1, 2, H, 3", "2, 1, 1, 2", "", "ConvTranspose", []int64{1, 2, 0, 3}},
		{"no row, and kernels of phases of several", "1, 2, H, 3", "2, 1, 3, 3", "strides = [2, 2]", "Conv DepthToSpace Slice", []int64{1, 2, 0, 3}},
		{"no row, of as many results as strides", "1, 2, H, 3", "2, 1, 3, 3", "strides = [2, 2], auto_pad = \"SAME_UPPER\"", "Conv DepthToSpace Slice", []int64{1, 2, 0, 3}},
		{"no result without stride", "1, 2, N, 3", "2, 1, 2, 2", "pads = [1, 0, 1, 0]", "ConvTranspose", []int64{1, 2, 1, 3}},
		{"less than no row", "1, 2, N, 3", "2, 1, 3, 3", "strides = [2, 2], pads = [2, 0, 2, 0]", "ConvTranspose", []int64{1, 2, 2, 3}},
		{"no row that pads leave, at the least", "1, 2, N, 3", "2, 1, 2, 3", "strides = [2, 2], pads = [1, 0, 1, 0]", "Conv DepthToSpace Slice", []int64{1, 2, 1, 3}},
		{"no image", "H, 2, 3, 3", "2, 1, 3, 3", "strides = [2, 2]", "Conv DepthToSpace Slice", []int64{0, 2, 3, 3}},
		{"no image, of one axis", "H, 2, 3", "2, 1, 3", "strides = [2]", "ConvTranspose", []int64{0, 2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := int64(1)
			for d := range strings.SplitSeq(c.kernel, ", ") {
				n *= int64(d[0] - '0')
			}
			g := rewritten(t, "  symbol H 0..9\n  symbol N 1..9\n  const @w f32["+c.kernel+"] = {"+numbers(int(n))+"}\n  input %x f32["+c.shape+
				"]\n  %y ?[*] = ConvTranspose.11(%x, @w) {"+c.attrs+"}\n  output %y\n", c.dims)
			assert.Equal(t, c.want, ops(g))
		})
	}
}
