package islands_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// constants of all graphs; w has a scale for each of 4 channels.
const constants = `
  const @sx f32[] = {0.02}
  const @zx u8[] = {117}
  const @sy f32[] = {0.05}
  const @zy u8[] = {100}
  const @zs i8[] = {-3}
  const @z0 u8[] = {0}
  const @zw i8[4] = {0, 0, 0, 0}
  const @sw f32[4] = {0.01, 0.02, 0.005, 0.03}
  const @bias i32[4] = {100, -2000, 77, 3}
  const @sb f32[4] = {0.00019999999, 0.00039999999, 0.000099999997, 0.00059999997}
  const @fbias f32[4] = {0.5, -1, 0.25, 2}
  const @zb i32[4] = {0, 0, 0, 0}
  const @one f32[] = {1}
  const @lo f32[] = {-0.5}
  const @hi f32[] = {6}
  const @nan f32[] = {nan}
  const @negative f32[] = {-0.02}
  const @flat i64[2] = {1, -1}
  input %q u8[1, 4, 5, 6]
  %x ?[*] = DequantizeLinear.13(%q, @sx, @zx)
`

func weights(name string, seed uint64, dims ...int64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var xs, ds []string
	n := int64(1)
	for _, d := range dims {
		n *= d
		ds = append(ds, fmt.Sprint(d))
	}
	for range n {
		xs = append(xs, fmt.Sprint(r.IntN(256)-128))
	}
	return fmt.Sprintf("  const @%s i8[%s] = {%s}\n", name, strings.Join(ds, ", "), strings.Join(xs, ", "))
}

var conv = weights("w", 1, 4, 4, 3, 3) + "  %wf ?[*] = DequantizeLinear.13(@w, @sw, @zw) {axis = 0}\n  %bf ?[*] = DequantizeLinear.13(@bias, @sb, @zb) {axis = 0}\n"

var matrix = weights("m", 2, 6, 4) + "  %mf ?[*] = DequantizeLinear.13(@m, @sw, @zw) {axis = 1}\n"

var turned = weights("m", 2, 4, 120) + "  %mf ?[*] = DequantizeLinear.13(@m, @sw, @zw) {axis = 0}\n  %bf ?[*] = DequantizeLinear.13(@bias, @sb, @zb) {axis = 0}\n"

// TestRun: what becomes of islands, and that the results are the same, or one step away where floats round sums.
func TestRun(t *testing.T) {
	const sums = "ConvInteger Add DequantizeLinear QuantizeLinear"
	for _, c := range []struct {
		name, nodes, want string
		exact             bool
	}{
		{"convolution", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf) {pads = [1, 1, 1, 1]}
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zy)
`, sums, false},
		{"without a bias", conv + `
  %c ?[*] = Conv.11(%x, %wf) {strides = [2, 2]}
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zs)
`, "ConvInteger DequantizeLinear QuantizeLinear", false},
		{"with bounds", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf) {pads = [1, 1, 1, 1]}
  %r ?[*] = Relu.14(%c)
  %k ?[*] = Clip.13(%r, @lo, @hi)
  %y ?[*] = QuantizeLinear.13(%k, @sy, @zy)
`, sums + " Max Max Min", false},
		{"with bounds that saturation has", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf)
  %r ?[*] = Relu.14(%c)
  %y ?[*] = QuantizeLinear.13(%r, @sy, @z0)
`, sums, false},
		{"a bound that is no number", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf)
  %r ?[*] = Clip.13(%c, @nan)
  %y ?[*] = QuantizeLinear.13(%r, @sy, @zy)
`, "ConvInteger Add DequantizeLinear Clip QuantizeLinear", false},
		{"a bias of floats", conv + `
  %c ?[*] = Conv.11(%x, %wf, @fbias)
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zy)
`, "ConvInteger DequantizeLinear Reshape Add QuantizeLinear", false},
		{"another function of the sums", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf)
  %s ?[*] = Sigmoid.13(%c)
  %y ?[*] = QuantizeLinear.13(%s, @sx, @z0)
`, "ConvInteger Add DequantizeLinear Sigmoid QuantizeLinear", false},
		{"the sums read twice", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf)
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zy)
  output %c
`, sums, false},
		{"matrices", matrix + `
  %c ?[*] = MatMul.13(%x, %mf)
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zy)
`, "MatMulInteger DequantizeLinear QuantizeLinear", false},
		{"Gemm", turned + `
  %f ?[*] = Reshape.14(%x, @flat)
  %c ?[*] = Gemm.13(%f, %mf, %bf) {transB = 1}
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zy)
`, "Reshape Transpose MatMulInteger Add DequantizeLinear QuantizeLinear", false},
		{"Gemm, scaled", turned + `
  %f ?[*] = Reshape.14(%x, @flat)
  %c ?[*] = Gemm.13(%f, %mf, %bf) {transB = 1, alpha = f32 2}
  %y ?[*] = QuantizeLinear.13(%c, @sy, @zy)
`, "DequantizeLinear DequantizeLinear Reshape DequantizeLinear Gemm QuantizeLinear", true},
		{"a function of rows of one element", `
  %r ?[*] = Reshape.14(%x, @flat)
  %t ?[*] = Transpose.13(%r) {perm = [1, 0]}
  %u ?[*] = Softmax.13(%t) {axis = -1}
  %v ?[*] = Tanh.13(%u)
  %e ?[*] = Exp.13(%v)
  %y ?[*] = QuantizeLinear.13(%e, @sy, @zy)
`, "Reshape Transpose DequantizeLinear Softmax Tanh Exp QuantizeLinear", true},
		{"moved", `
  %m ?[*] = MaxPool.12(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}
  %p ?[*] = Transpose.13(%m) {perm = [0, 2, 3, 1]}
  %y ?[*] = QuantizeLinear.13(%p, @sx, @zx)
`, "MaxPool Transpose", true},
		{"the greatest of windows that all have elements", `
  %m ?[*] = MaxPool.12(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}
  %y ?[*] = Identity.13(%m)
`, "MaxPool DequantizeLinear", true},
		{"of dilated windows, which have one element at the edge", `
  %m ?[*] = MaxPool.12(%x) {kernel_shape = [2, 2], dilations = [5, 1], pads = [5, 0, 5, 0]}
  %y ?[*] = Identity.13(%m)
`, "MaxPool DequantizeLinear", true},
		{"of windows that have padding alone", `
  %m ?[*] = MaxPool.12(%x) {kernel_shape = [2, 2], dilations = [6, 1], pads = [1, 0, 1, 0]}
  %y ?[*] = Identity.13(%m)
`, "DequantizeLinear MaxPool", true},
		{"moved, and quantized otherwise", `
  %p ?[*] = Transpose.13(%x) {perm = [0, 2, 3, 1]}
  %y ?[*] = QuantizeLinear.13(%p, @sy, @zy)
`, "Transpose DequantizeLinear QuantizeLinear", true},
		{"joined", `
  %m ?[*] = Concat.13(%x, %x) {axis = 1}
  %y ?[*] = QuantizeLinear.13(%m, @sx, @zx)
`, "Concat", true},
		{"joined of others", `
  %e ?[*] = Exp.13(%x)
  %g ?[*] = Neg.13(%x)
  %m ?[*] = Concat.13(%e, %g) {axis = 1}
  %y ?[*] = QuantizeLinear.13(%m, @sx, @zx)
`, "DequantizeLinear Neg Cast Gather QuantizeLinear Concat", true},
		{"a function", `
  %s ?[*] = Sigmoid.13(%x)
  %m ?[*] = Mul.14(%x, %s)
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zs)
`, "Cast Gather", true},
		{"a function quantized on the way", `
  %s ?[*] = Sigmoid.13(%x)
  %p ?[*] = QuantizeLinear.13(%s, @sy, @z0)
  %r ?[*] = DequantizeLinear.13(%p, @sy, @z0)
  %m ?[*] = Mul.14(%x, %r)
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zs)
`, "Cast Gather", true},
		{"a function of a quantized number, too", `
  const @half u8[] = {113}
  %c ?[*] = DequantizeLinear.13(@half, @sx, @z0)
  %a ?[*] = Mul.14(%x, %c)
  %e ?[*] = QuantizeLinear.13(%a, @sy, @zy)
  %f ?[*] = DequantizeLinear.13(%e, @sy, @zy)
  %s ?[*] = Sigmoid.13(%f)
  %m ?[*] = Mul.14(%x, %s)
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zs)
`, "Cast Gather", true},
		{"functions of a function", `
  %e ?[*] = Exp.13(%x)
  %p ?[*] = QuantizeLinear.13(%e, @sy, @zs)
  %r ?[*] = DequantizeLinear.13(%p, @sy, @zs)
  %s ?[*] = Sigmoid.13(%r)
  %u ?[*] = QuantizeLinear.13(%s, @sy, @zs)
  %v ?[*] = DequantizeLinear.13(%u, @sy, @zs)
  %n ?[*] = Neg.13(%v)
  %y ?[*] = QuantizeLinear.13(%n, @sx, @zx)
  output %u
`, "Cast Gather Cast Gather", true},
		{"functions of two tensors, one computed of the other's function", `
  input %q2 u8[1, 4, 5, 6]
  %x2 ?[*] = DequantizeLinear.13(%q2, @sx, @zx)
  %e ?[*] = Exp.13(%x2)
  %p ?[*] = QuantizeLinear.13(%e, @sy, @zy)
  %r ?[*] = DequantizeLinear.13(%p, @sy, @zy)
  %m ?[*] = Mul.14(%x, %r)
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zs)
`, "DequantizeLinear Cast Gather DequantizeLinear Mul QuantizeLinear", true},
		{"what every byte is left by", `
  const @c f32[] = {0.9999}
  %m ?[*] = Mul.14(%x, @c)
  %e ?[*] = QuantizeLinear.13(%m, @sx, @zx)
  %f ?[*] = DequantizeLinear.13(%e, @sx, @zx)
  %t ?[*] = MaxPool.12(%f) {kernel_shape = [2, 2]}
  %y ?[*] = QuantizeLinear.13(%t, @sx, @zx)
`, "MaxPool", true},
		{"a function of two tensors", `
  input %q2 u8[1, 4, 5, 6]
  %x2 ?[*] = DequantizeLinear.13(%q2, @sx, @zx)
  %s ?[*] = Sigmoid.13(%x2)
  %m ?[*] = Mul.14(%x, %s)
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zs)
`, "DequantizeLinear DequantizeLinear Sigmoid Mul QuantizeLinear", true},
		{"a mean of windows", `
  %m ?[*] = AveragePool.11(%x) {kernel_shape = [3, 2], pads = [1, 0, 1, 1], strides = [2, 2], count_include_pad = 1}
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zy)
`, "summed.AveragePool QuantizeLinear", false},
		{"a mean of channels", `
  %m ?[*] = GlobalAveragePool.1(%x)
  %f ?[*] = Flatten.13(%m)
  %y ?[*] = QuantizeLinear.13(%f, @sy, @zs)
`, "summed.GlobalAveragePool QuantizeLinear Flatten", false},
		{"a mean of axes", `
  const @axes i64[2] = {2, 3}
  %m ?[*] = ReduceMean.18(%x, @axes)
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zy)
`, "summed.ReduceMean QuantizeLinear", false},
		{"the greatest", `
  const @axes i64[2] = {2, 3}
  %m ?[*] = ReduceMax.18(%x, @axes)
  %y ?[*] = QuantizeLinear.13(%m, @sx, @zx)
`, "ReduceMax", true},
		{"a scale that is none", `
  %f ?[*] = DequantizeLinear.13(%q, @negative, @zx)
  %m ?[*] = MaxPool.12(%f) {kernel_shape = [2, 2]}
  %y ?[*] = QuantizeLinear.13(%m, @negative, @zx)
`, "DequantizeLinear MaxPool QuantizeLinear", true},
		{"padded", `
  const @pads i64[8] = {0, 0, 1, 1, 0, 0, 0, 0}
  const @two f32[] = {2}
  %p ?[*] = Pad.13(%x, @pads, @two)
  %y ?[*] = QuantizeLinear.13(%p, @sx, @zx)
`, "DequantizeLinear Pad QuantizeLinear", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := constants + c.nodes + "  output %y\n"
			before, after := irtest.Parse(t, lines), irtest.Parse(t, lines)
			require.NoError(t, simplify.Run(before))
			require.NoError(t, simplify.RunBut(after, islands.Keeps))
			islands.Run(after)
			var ops []string
			for _, n := range after.Nodes {
				ops = append(ops, n.Op)
			}
			assert.Equal(t, c.want, strings.Join(ops, " "))
			require.NoError(t, ir.Verify(after))
			require.NoError(t, simplify.Run(after))
			assert.False(t, islands.Run(after), "nothing is left")
			want, got := run(t, before), run(t, after)
			for k, w := range want {
				require.Equal(t, w.Shape, got[k].Shape)
				if w.Type == ir.F32 {
					assert.InDeltaSlice(t, floats(t, w), floats(t, got[k]), 1e-4, "result %d", k)
					continue
				}
				off := 0
				for i := range w.Data {
					if d := step(w.Type, w.Data[i], got[k].Data[i]); d != 0 {
						off++
						assert.LessOrEqual(t, d, 1, "element %d", i)
					}
				}
				if c.exact {
					assert.Zero(t, off)
				}
				assert.LessOrEqual(t, off, len(w.Data)/50)
			}
		})
	}
}

func floats(t *testing.T, x *ir.Tensor) []float64 {
	xs, err := edit.Floats(x)
	require.NoError(t, err)
	return xs
}

// step is how far two bytes are from each other.
func step(t ir.DType, a, b byte) int {
	x, y := int(a), int(b)
	if t == ir.I8 {
		x, y = int(int8(a)), int(int8(b))
	}
	return max(x-y, y-x)
}

func run(t *testing.T, g *ir.Graph) []*ir.Tensor {
	r, in := rand.New(rand.NewPCG(7, 7)), map[string]*ir.Tensor{}
	for _, v := range g.Inputs {
		dims, _ := v.Static()
		in[v.Name] = ir.NewTensor(v.Type, dims...)
		for i := range in[v.Name].Data {
			in[v.Name].Data[i] = byte(r.IntN(256))
		}
	}
	out, err := interp.Graph(g, in)
	require.NoError(t, err)
	return out
}
