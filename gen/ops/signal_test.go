package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func signalExamples() []example {
	cache := func() *ir.Value { return f32("N", "S", 4) }
	return []example{
		{node("DFT", nil, f32("N", "L", 1)), "[N L 2]", ManyToMany, dependent},
		{node("STFT", nil, f32("N", 400, 1), num64(100), f32(200)), "[N 3 101 2]", ManyToMany, dependent},
		{node("HannWindow", nil, num64(16)), "[16]", Unread, variable},
		{node("HammingWindow", nil, num64(16)), "[16]", Unread, variable},
		{node("BlackmanWindow", nil, num64(16)), "[16]", Unread, variable},
		{node("MelWeightMatrix", nil, num64(8), num64(16), num64(8192), num32(0), num32(4096)), "[9 8]", OneToMany, variable},
		{node("ReverseSequence", nil, f32("T", "N", 3), i64("N")), "[T N 3]", OneToMany, fixed},
		{node("RotaryEmbedding", nil, f32("N", 2, "S", 8), cache(), cache()), "[N 2 S 8]", ManyToMany, dependent},
		example{node("CausalConvWithState", nil, f32("N", 3, "L"), weight(3, 1, 4)), "[N 3 L]", ManyToMany, dependent}.outputs(2),
	}
}

// TestSignalShapes has the attributes and operands that decide shapes.
func TestSignalShapes(t *testing.T) {
	old := func(version int, n *ir.Node) *ir.Node { n.Version = version; return n }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("DFT", attrs("onesided", 1), f32("N", "L", 1)), "[N ((L) // (2)) + 1 2]"},
		{node("DFT", attrs("onesided", 1, "inverse", 1), f32("N", 5, 2)), "[N 8 1]"},
		{node("DFT", attrs("onesided", 1, "inverse", 1), f32("N", 5, 2), num64(9)), "[N 9 1]"},
		{node("DFT", nil, f32("N", 5, 7, 2), num64(9), num64(1)), "[N 9 7 2]"},
		{old(17, node("DFT", nil, f32("N", 5, 7, 2), num64(9))), "[N 9 7 2]"},
		{old(17, node("DFT", attrs("axis", -2), f32("N", 5, 7, 2))), "[N 5 7 2]"},
		{node("STFT", nil, f32("N", "L", 1), num64(4), nil, num64(8)), "[N ((L) // (4)) - 1 5 2]"},
		{node("STFT", attrs("onesided", 0), f32("N", 9, 2), num64(4)), "[N 1 9 2]"},
		{node("RotaryEmbedding", attrs("num_heads", 2, "rotary_embedding_dim", 4), f32("N", "S", 16), f32(50, 2), f32(50, 2), i64("N", "S")), "[N S 16]"},
		{node("HannWindow", attrs("output_datatype", 11), num64(3)), "[3]"},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, fmt.Sprint(m.Stages[m.Outputs[0].N].Shape()), "%s %v", c.n.Op, c.n.Attrs)
	}
}

func TestSignalErrors(t *testing.T) {
	x := func() *ir.Value { return f32(1, 8, 1) }
	heads := func(kv ...any) *ir.Node {
		return node("RotaryEmbedding", attrs(kv...), f32(1, 5, 16), f32(1, 5, 4), f32(1, 5, 4))
	}
	conv := func(at ir.Attrs, in ...*ir.Value) *ir.Node {
		return example{n: node("CausalConvWithState", at, in...)}.outputs(2).n
	}
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("DFT", nil, f32(8)), "operand 0 has rank 1; want at least 2"},
		{node("DFT", nil, f32(1, 8, 3)), "the last dimension of operand 0 is 3; want 1 (real) or 2 (complex)"},
		{node("DFT", nil, x(), nil, num64(-1)), "axis is -1, the axis of real and imaginary parts; want another one of the 3 axes"},
		{node("DFT", nil, x(), num64(0)), "length of the transform: found 0 and 1"},
		{node("DFT", attrs("onesided", 1), f32(1, 8, 2)), "attribute onesided is 1 with a complex signal"},
		{node("STFT", nil, f32(1, 8), num64(1)), "operand 0 has rank 2; want rank 3"},
		{node("STFT", nil, x(), num64(0)), "operand 1 (frame_step): found 0 and 1"},
		{node("STFT", nil, x(), num64(1), f32(4), num64(5)), "extent of operand 2: found 4 and 5"},
		{node("STFT", nil, x(), num64(1), f32(9)), "the signal must be at least as long as a frame: found 8 and 9"},
		{node("HannWindow", nil, num64(-1)), "operand 0 (size): found -1 and 0"},
		{node("MelWeightMatrix", nil, num64(8), num64(16), i64(2), num32(0), num32(4096)), "elements of operand 2, which is a scalar: found 2 and 1"},
		{node("ReverseSequence", attrs("batch_axis", 0), f32(2, 2), i64(2)), "attributes batch_axis and time_axis are 0 and 0 with rank 2"},
		{node("ReverseSequence", nil, f32(2, 3), i64(2)), "extent of operand 1: found 2 and 3"},
		{heads(), "operand 0 has rank 3 and attribute num_heads is 0"},
		{heads("num_heads", 3), "hidden size must be a multiple of attribute num_heads: found 15 and 16"},
		{heads("num_heads", 4), "dimension 2 of operand 1: found 4 and 2"},
		{heads("num_heads", 2, "rotary_embedding_dim", 3), "attribute rotary_embedding_dim is 3; want an even number"},
		{heads("num_heads", 2, "rotary_embedding_dim", 10), "the size of a head and attribute rotary_embedding_dim: found 8 and 10"},
		{node("RotaryEmbedding", nil, f32(1, 2, 5, 8), f32(0, 4), f32(0, 4), i64(1, 5)), "the caches must have a row for each position: found 0 and 1"},
		{conv(attrs("activation", "relu"), f32(1, 3, 5), f32(3, 1, 2)), `attribute activation is "relu"; supported are ["none" "silu" "swish"]`},
		{conv(nil, f32(1, 3, 5), f32(3, 2, 2)), "dimension 1 of operand 1: found 2 and 1"},
		{conv(nil, f32(1, 3, 5), f32(3, 1, 2), nil, f32(1, 3, 2)), "dimension 2 of operand 3: found 2 and 1"},
	} {
		_, err := Build(c.n, nil)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `node `+c.n.Op+` "n": `)
	}
}
