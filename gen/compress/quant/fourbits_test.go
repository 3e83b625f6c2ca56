package quant

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/passes/unpack"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
)

// product is a graph of nodes with random constants: w, 40x6, and its transpose t, small, 3x2, bias, 6 elements, and one for each row.
func product(t testing.TB, opset int, nodes string) *ir.Graph {
	t.Helper()
	text := "input %x f32[2, 4, 40]\ninput %m f32[4, 40]\ninput %v f32[40]\n"
	constants := []struct {
		name string
		dims []int64
	}{{"w", []int64{40, 6}}, {"t", []int64{6, 40}}, {"small", []int64{3, 2}}, {"bias", []int64{6}}, {"each", []int64{4, 6}}}
	for _, c := range constants {
		text += fmt.Sprintf("input %%%s f32[%s]\n", c.name, strings.ReplaceAll(strings.Trim(fmt.Sprint(c.dims), "[]"), " ", ", "))
	}
	g := irtest.Parse(t, text+nodes)
	r := rand.New(rand.NewPCG(5, 6))
	g.Opset = opset
	for i, v := range g.Inputs[3:] {
		size, err := ir.Len(constants[i].dims)
		require.NoError(t, err)
		xs := make([]float64, size)
		for i := range xs {
			xs[i] = r.NormFloat64()
		}
		v.Const = edit.FloatTensor(ir.F32, xs, constants[i].dims...)
	}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(v *ir.Value) bool { return v.Const != nil || edit.Uses(g)[v] == 0 })
	require.NoError(t, simplify.RunWhole(g))
	return g
}

func productInputs(g *ir.Graph) samples.Input {
	r := rand.New(rand.NewPCG(7, 8))
	in := samples.Input{}
	for _, v := range g.Inputs {
		dims, size := []int64{}, int64(1)
		for _, d := range v.Shape {
			n, _ := d.Const()
			dims, size = append(dims, n), size*n
		}
		xs := make([]float64, size)
		for i := range xs {
			xs[i] = r.NormFloat64()
		}
		in[v.Name] = edit.FloatTensor(ir.F32, xs, dims...)
	}
	return in
}

func weightsOf4(size int64) Settings {
	return with(func(s *Settings) { s.WeightBits, s.BlockSize = 4, size })
}

// TestFourBits: of products in each form and any opset, results are those of the weights that the numbers stand for, near the float network's;
// what is written is read again, and kernels get the weights as they are packed.
func TestFourBits(t *testing.T) {
	for _, c := range []struct {
		name, nodes string
		opset       int
		size        int64
		dims        []int64 // of the numbers
	}{
		{"MatMul", "%y ?[*] = MatMul.13(%x, %w) \"p\"\noutput %y\n", 17, 32, []int64{6, 2, 16}},
		{"an old MatMul", "%y ?[*] = MatMul.9(%m, %w) \"p\"\noutput %y\n", 11, 16, []int64{6, 3, 8}},
		{"one block", "%y ?[*] = MatMul.13(%x, %w) \"p\"\noutput %y\n", 21, 64, []int64{6, 1, 32}},
		{"Gemm", "%y ?[*] = Gemm.13(%m, %w, %bias) \"p\"\noutput %y\n", 17, 32, []int64{6, 2, 16}},
		{"Gemm, turned", "%y ?[*] = Gemm.13(%m, %t, %bias) {transB = 1} \"p\"\noutput %y\n", 17, 16, []int64{6, 3, 8}},
		{"Gemm without bias", "%y ?[*] = Gemm.13(%m, %t) {transB = 1} \"p\"\noutput %y\n", 17, 16, []int64{6, 3, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			float, g := product(t, c.opset, c.nodes), product(t, c.opset, c.nodes)
			in := productInputs(g)
			report, err := Run(g, weightsOf4(c.size), []samples.Input{in}, 1)
			require.NoError(t, err)
			require.NoError(t, ir.Verify(g))
			require.NoError(t, report.Compare(float, g, []samples.Input{in}, nil))
			p := report.Nodes[len(report.Nodes)-1]
			assert.Equal(t, 4, p.WeightBits, "%+v", p)
			assert.Greater(t, *p.SQNR, 18.0)
			assert.InDelta(t, *p.SQNR, *p.Alone, 0.01, "it is the only one")
			assert.Equal(t, *p.SQNR, *report.Outputs[0].SQNR)
			assert.Contains(t, report.Text(), "weights of 4 bits")
			assert.Equal(t, c.opset, g.Opset)
			assert.Equal(t, c.dims, g.Nodes[len(g.Nodes)-1].Inputs[1].Const.Shape)

			var model bytes.Buffer
			require.NoError(t, onnx.Write(&model, g))
			read, err := onnx.Read(&ir.File{R: bytes.NewReader(model.Bytes()), Size: int64(model.Len())}, nil, onnx.Options{Supported: ops.Supported})
			require.NoError(t, err)
			want, err := interp.Graph(g, in)
			require.NoError(t, err)
			got, err := interp.Graph(read, in)
			require.NoError(t, err)
			require.Equal(t, want[0].Data, got[0].Data, "the model that was read computes what was written")

			require.NoError(t, simplify.RunBut(read, islands.Keeps))
			packed, err := unpack.Run(read)
			require.NoError(t, err)
			assert.True(t, packed, "kernels unpack the weights")
		})
	}
}

// TestFourBitsParts: numbers are the same whether all are read at once, or columns in the middle.
func TestFourBitsParts(t *testing.T) {
	for _, turned := range []bool{false, true} {
		g := product(t, 17, "%y ?[*] = MatMul.13(%x, %w)\n%z ?[*] = Gemm.13(%m, %t) {transB = 1}\noutput %y\noutput %z\n")
		n := g.Nodes[0]
		if turned {
			n = g.Nodes[1]
		}
		w, err := newBlocks(n.Inputs[1].Const, turned, 16)
		require.NoError(t, err)
		all, err := w.packed().Bytes()
		require.NoError(t, err)
		some := make([]byte, 50)
		require.NoError(t, w.packed().ReadBytes(some, 30))
		assert.Equal(t, all[30:80], some)
		stored, err := w.values()
		require.NoError(t, err)
		values, err := edit.Floats(stored)
		require.NoError(t, err)
		for c := range w.columns {
			for r := range w.rows {
				number := int64(all[c*24+r/2]>>(4*(r%2))&15) - 8
				at := r*w.columns + c
				if turned {
					at = c*w.rows + r
				}
				assert.Equal(t, float64(float32(number)*w.scales[c*3+r/16]), values[at], "row %d, column %d", r, c)
			}
			assert.Equal(t, bytes.Repeat([]byte{0x88}, 4), all[c*24+20:c*24+24], "what the last block has not is 0")
		}
	}
}

// TestFourBitsFloat: what stays float, and why.
func TestFourBitsFloat(t *testing.T) {
	const first = "%y ?[*] = MatMul.13(%x, %w) \"first\"\n"
	for _, c := range []struct{ name, node, want string }{
		{"another operator", "%z ?[*] = Relu.14(%y) \"n\"", "no MatMul or Gemm"},
		{"two activations", "%r ?[*] = Transpose.13(%y) {perm = [0, 2, 1]} \"r\"\n%z ?[*] = MatMul.13(%y, %r) \"n\"", "its second factor is not constant"},
		{"a vector", "%z ?[*] = MatMul.13(%v, %w) \"n\"", "its first factor is a vector"},
		{"a constant first factor", "%r ?[*] = Transpose.13(%m) {perm = [1, 0]} \"r\"\n%z ?[*] = MatMul.13(%t, %r) \"n\"", "its second factor is not constant"},
		{"alpha", "%z ?[*] = Gemm.13(%m, %w) {alpha = f32 0.5} \"n\"", "it has alpha, beta or transA"},
		{"transA", "%r ?[*] = Transpose.13(%m) {perm = [1, 0]} \"r\"\n%z ?[*] = Gemm.13(%r, %w) {transA = 1} \"n\"", "it has alpha, beta or transA"},
		{"a bias for each element", "%z ?[*] = Gemm.13(%m, %w, %each) \"n\"", "its bias is not a constant with a number for each column"},
		{"a short sum", "const @n i64[2] = {-1, 3}\n%h ?[*] = Reshape.14(%y, @n) \"h\"\n%z ?[*] = MatMul.13(%h, %small) \"n\"", "its weights would not take less memory in blocks of 32"},
		{"the settings", "%z ?[*] = Gemm.13(%m, %w) \"head\"", "the settings leave it float"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := product(t, 17, first+c.node+"\noutput %y\noutput %z\n")
			settings := weightsOf4(32)
			if c.name == "the settings" {
				settings.Float = []string{"head"}
			}
			report, err := Run(g, settings, nil, 0)
			require.NoError(t, err)
			assert.Equal(t, c.want, report.Nodes[len(report.Nodes)-1].Float)
			assert.Equal(t, 1, strings.Count(report.Text(), "weights of 4 bits"))
		})
	}
}

// TestFourBitsShared: weights that nodes share are stored once.
func TestFourBitsShared(t *testing.T) {
	g := product(t, 17, "%y ?[*] = MatMul.13(%x, %w) \"a\"\n%z ?[*] = MatMul.13(%m, %w) \"b\"\noutput %y\noutput %z\n")
	_, err := Run(g, weightsOf4(32), nil, 0)
	require.NoError(t, err)
	assert.Same(t, g.Nodes[0].Inputs[1], g.Nodes[1].Inputs[1])
	assert.Same(t, g.Nodes[0].Inputs[2], g.Nodes[1].Inputs[2])
}

// TestFourBitsErrors are what is refused.
func TestFourBitsErrors(t *testing.T) {
	const text = "%y ?[*] = MatMul.13(%x, %w) \"first\"\noutput %y\n"
	settings := weightsOf4(32)
	settings.Float = []string{"MatMul"}
	_, err := Run(product(t, 17, text), settings, nil, 0)
	require.ErrorContains(t, err, "no weights of the model can have 4 bits")
	settings.Float = []string{"head"}
	_, err = Run(product(t, 17, text), settings, nil, 0)
	require.ErrorContains(t, err, `the settings leave "head" float, but the model has no node or operator of this name`)
	g := product(t, 17, text)
	g.Nodes[0].Inputs[1].Const.Data[7] = 0x7f
	g.Nodes[0].Inputs[1].Const.Data[6] = 0xc0
	_, err = Run(g, weightsOf4(32), nil, 0)
	require.ErrorContains(t, err, "first")
	require.ErrorContains(t, err, "its weights are not all finite")
}

// TestClosestScale has blocks and their scales.
func TestClosestScale(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		xs     []float32
		want   float32
		finite bool
	}{
		{"all numbers from the least on", []float32{-8, -3, 0, 5, 7}, 1, true},
		{"the greatest weight is above 0", []float32{16, 6, 0, -10, -14}, -2, true},
		{"both ends", []float32{-3.5, 0.5, 3.5}, 0.5, true},
		{"zeros", []float32{0, 0, 0}, 1, true},
		{"small ones", []float32{-8e-30, 5e-30}, 1e-30, true},
		{"next to nothing", []float32{1e-38, -1e-38}, 1, true},
		{"large ones", []float32{-8 * 0x1p124, 0x1p125}, 0x1p124, true},
		{"not finite", []float32{1, inf, 2}, 1, false},
		{"no number", []float32{1, float32(math.NaN())}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, finite := closestScale(c.xs)
			assert.Equal(t, c.finite, finite)
			if finite {
				assert.InEpsilon(t, c.want, s, 1e-6)
			}
		})
	}
	// Of normal weights the search is worth half a decibel beside the scale in which the greatest one is -8.
	r := rand.New(rand.NewPCG(1, 1))
	var found, plain float64
	for range 1000 {
		xs := make([]float32, 32)
		for i := range xs {
			xs[i] = float32(r.NormFloat64())
		}
		s, _ := closestScale(xs)
		greatest := slices.MaxFunc(xs, func(a, b float32) int { return int(math.Copysign(1, math.Abs(float64(a))-math.Abs(float64(b)))) })
		for _, x := range xs {
			d, e := float64(x-float32(number4(x, s))*s), float64(x-float32(number4(x, greatest/-8))*(greatest/-8))
			found, plain = found+float64(d*d), plain+float64(e*e)
		}
	}
	assert.InDelta(t, 0.5, 10*math.Log10(plain/found), 0.1)
}
