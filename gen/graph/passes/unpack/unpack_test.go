package unpack_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/graph/passes/unpack"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ops"
)

// TestRun: which weights are packed, how, and that products are the same to each bit: floats of few bits are exact.
func TestRun(t *testing.T) {
	const signed = "  const @q i8[3, 2] = {-8, 7, 0, -1, 3, 2}\n  const @s f32[2, 2] = {0.1, 0.2, 0.3, 0.4}\n  const @z i8[2, 2] = {1, -1, 0, 2}\n"
	const turned = "  const @q u8[2, 3] = {0, 15, 1, 2, 3, 14}\n  const @s f32[2, 2] = {0.1, 0.2, 0.3, 0.4}\n"
	for _, c := range []struct {
		name, graph  string
		packed, zero []byte
	}{
		{"with zero points", signed + "  %w ?[*] = DequantizeLinear.21(@q, @s, @z) {axis = 0, block_size = 2}\n  %y ?[*] = MatMul.13(%x, %w)\n", []byte{0x80, 0x7f, 0xb, 0xa}, []byte{9, 7, 8, 10}},
		{"without, transposed", turned + "  %f ?[*] = DequantizeLinear.21(@q, @s) {axis = -1, block_size = 2}\n  %w ?[*] = Transpose.13(%f) {perm = [1, 0]}\n  %y ?[*] = MatMul.13(%x, %w)\n", []byte{0xf0, 0x32, 1, 14}, []byte{0}},
		{"of a Gemm", turned + "  %w ?[*] = DequantizeLinear.21(@q, @s) {axis = 1, block_size = 2}\n  %y ?[*] = Gemm.13(%x, %w) {transB = 1}\n", []byte{0xf0, 0x32, 1, 14}, []byte{0}},
		{"without, with a sign", signed + "  %w ?[*] = DequantizeLinear.21(@q, @s) {axis = 0, block_size = 2}\n  %y ?[*] = MatMul.13(%x, %w)\n", []byte{0x80, 0x7f, 0xb, 0xa}, []byte{8}},
		{"one zero point for many", "  const @q u8[2, 3] = {0, 15, 1, 2, 3, 14}\n  const @s f32[2, 2] = {0.1, 0.2, 0.3, 0.4}\n  const @e u8[] = {8}\n  const @to i64[2] = {2, 2}\n  %z ?[*] = Expand.13(@e, @to)\n  %f ?[*] = DequantizeLinear.21(@q, @s, %z) {axis = 1, block_size = 2}\n  %w ?[*] = Transpose.13(%f) {perm = [1, 0]}\n  %y ?[*] = MatMul.13(%x, %w)\n", []byte{0xf0, 0x32, 1, 14}, []byte{8}},
		{"no blocks", "  const @q i8[3, 2] = {-8, 7, 0, -1, 3, 2}\n  const @s f32[2] = {0.1, 0.2}\n  %w ?[*] = DequantizeLinear.21(@q, @s) {axis = 1}\n  %y ?[*] = MatMul.13(%x, %w)\n", nil, nil},
		{"17 numbers", "  const @q i8[3, 2] = {-8, 8, 0, -1, 3, 2}\n  const @s f32[2, 2] = {0.1, 0.2, 0.3, 0.4}\n  %w ?[*] = DequantizeLinear.21(@q, @s) {axis = 0, block_size = 2}\n  %y ?[*] = MatMul.13(%x, %w)\n", nil, nil},
		{"a zero point of more", "  const @q i8[3, 2] = {-8, 7, 0, -1, 3, 2}\n  const @s f32[2, 2] = {0.1, 0.2, 0.3, 0.4}\n  const @z i8[2, 2] = {1, -9, 0, 2}\n  %w ?[*] = DequantizeLinear.21(@q, @s, @z) {axis = 0, block_size = 2}\n  %y ?[*] = MatMul.13(%x, %w)\n", nil, nil},
		{"read twice", signed + "  %w ?[*] = DequantizeLinear.21(@q, @s, @z) {axis = 0, block_size = 2}\n  %v ?[*] = Gemm.13(%x, %w)\n  const @one f32[2, 3] = {1, 2, 3, 4, 5, 6}\n  %u ?[*] = MatMul.13(%v, @one)\n  %y ?[*] = MatMul.13(%u, %w)\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "  input %x f32[4, 3]\n" + c.graph + "  output %y\n"
			x := ir.NewTensor(ir.F32, 4, 3)
			for i := range 12 {
				x.Data[4*i+2], x.Data[4*i+3] = byte(17*i), 0x3f+byte(i%2)*0x80
			}
			inputs := map[string]*ir.Tensor{"x": x}
			plain := irtest.Parse(t, text)
			require.NoError(t, simplify.Run(plain))
			want, err := interp.Graph(plain, inputs)
			require.NoError(t, err)

			g := irtest.Parse(t, text)
			// Large ones are not folded, as zero points that are all the same.
			require.NoError(t, simplify.RunBut(g, func(n *ir.Node) bool { return islands.Keeps(n) || n.Op == "Expand" }))
			changed, err := unpack.Run(g)
			require.NoError(t, err)
			assert.Equal(t, c.packed != nil, changed)
			require.NoError(t, simplify.Run(g)) // which folds all but what is packed
			var found *ir.Node
			for _, n := range g.Nodes {
				assert.NotEqual(t, "DequantizeLinear", n.Op)
				if n.Op == ops.Unpack {
					found = n
				}
			}
			require.Equal(t, c.packed != nil, found != nil)
			if found != nil {
				packed, err := found.Inputs[0].Const.Bytes()
				require.NoError(t, err)
				assert.Equal(t, c.packed, packed)
				assert.Equal(t, c.zero, found.Inputs[2].Const.Data)
			}
			got, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			assert.Equal(t, want[0].Data, got[0].Data)
		})
	}
}
