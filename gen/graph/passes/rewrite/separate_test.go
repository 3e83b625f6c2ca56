package rewrite

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
)

// TestSeparate: windows that overlap much are one axis after the other, and no others; the results are the same, byte for byte.
func TestSeparate(t *testing.T) {
	for _, c := range []struct {
		shape, pool string
		want        string // kernels
	}{
		{"1, 3, 6, 7, 8", "MaxPool.12(%x) {kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1]}", "[3 1 1]"},
		{"1, 3, 19, 19", "MaxPool.12(%x) {kernel_shape = [13, 13], pads = [6, 6, 6, 6]}", "[13 1]"},
		{"1, 3, 19, 19", "MaxPool.12(%x) {kernel_shape = [5, 5], auto_pad = \"SAME_LOWER\"}", "[5 1]"},
		{"1, 3, 19, 22", "MaxPool.12(%x) {kernel_shape = [7, 5], pads = [3, 0, 1, 2], strides = [1, 2], ceil_mode = 1}", "[1 5]"},
		{"1, 3, 25, 22", "MaxPool.12(%x) {kernel_shape = [4, 5], dilations = [3, 2]}", "[4 1]"},
		{"1, 3, 19, 19", "MaxPool.1(%x) {kernel_shape = [6, 6]}", "[6 1]"},
		{"1, 3, 19, 19", "MaxPool.12(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}", ""},
		{"1, 3, 12, 12", "MaxPool.12(%x) {kernel_shape = [2, 2], strides = [2, 2]}", ""},
		{"1, 3, 12, 12", "MaxPool.12(%x) {kernel_shape = [6, 6], strides = [6, 6]}", ""},
		{"1, 3, 12", "MaxPool.12(%x) {kernel_shape = [9]}", ""},
		{"1, 3, 19, 19", "AveragePool.19(%x) {kernel_shape = [9, 9]}", ""},
	} {
		t.Run(c.pool, func(t *testing.T) {
			read := func() *ir.Graph {
				g, err := ir.Parse(strings.NewReader("graph \"g\" opset 19 {\n  input %x f32["+c.shape+"]\n  %y ?[*] = "+c.pool+"\n  output %y\n}\n"), nil)
				require.NoError(t, err)
				require.NoError(t, shape.Infer(g))
				return g
			}
			g := read()
			x := numbers(t, g.Inputs[0])
			want, err := interp.Graph(g, map[string]*ir.Tensor{"x": x})
			require.NoError(t, err)
			g = read()
			assert.Equal(t, c.want != "", Run(g))
			require.NoError(t, shape.Infer(g))
			if c.want != "" {
				assert.Equal(t, c.want, fmt.Sprint(g.Nodes[0].Ints("kernel_shape")))
				assert.Greater(t, len(g.Nodes), 1)
			}
			got, err := interp.Graph(g, map[string]*ir.Tensor{"x": x})
			require.NoError(t, err)
			assert.Equal(t, want[0].Shape, got[0].Shape)
			assert.Equal(t, want[0].Data, got[0].Data)
			assert.False(t, Run(g), "once is enough")
		})
	}
}

// TestManyAxes: a file may have a pool of so many axes that trying all their orders would never end.
func TestManyAxes(t *testing.T) {
	const axes = 28
	of := func(n string, times int) string { return strings.TrimSuffix(strings.Repeat(n+", ", times), ", ") }
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 19 {\n  input %x f32["+of("2", axes+2)+"]\n  %y ?[*] = MaxPool.12(%x) {kernel_shape = ["+of("2", axes)+"]}\n  output %y\n}\n"), nil)
	require.NoError(t, err)
	assert.False(t, Run(g))
}

// TestKeepsPositions: where greatest elements lie is asked of whole windows.
func TestKeepsPositions(t *testing.T) {
	g, err := ir.Parse(strings.NewReader("graph \"g\" opset 19 {\n  input %x f32[1, 2, 9, 9]\n  %y ?[*], %at ?[*] = MaxPool.12(%x) {kernel_shape = [5, 5]}\n  output %y\n  output %at\n}\n"), nil)
	require.NoError(t, err)
	assert.False(t, Run(g))
}

// numbers are some of both signs, and few NaNs.
func numbers(t *testing.T, v *ir.Value) *ir.Tensor {
	dims, known := v.Static()
	require.True(t, known)
	out, r := ir.NewTensor(ir.F32, dims...), rand.New(rand.NewPCG(1, 2))
	for i := range out.Len() {
		x := r.Float32()*2 - 1.5
		if r.IntN(200) == 0 {
			x = float32(math.NaN())
		}
		binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(x))
	}
	return out
}
