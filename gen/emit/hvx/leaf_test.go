package hvx

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/instr"
)

// TestLeaf: a micro-kernel is packets; one that they cannot be made of is C, with the reason.
func TestLeaf(t *testing.T) {
	m := &loop.MicroKernel{Instr: instr.Lookup("vrmpy_i8u8"), X: instr.Scalar, Rows: 4, Vectors: 2, RowStep: 64, K: []loop.KLoop{{Extent: 16, XStep: 4, WStep: 256}}}
	text := leaf(m, oldest)
	assert.Contains(t, text, "DNN_HVX_PACKETS void vrmpy_i8u8_scalar_4x2_s64_k16_4_256(const int8_t* __restrict x, const uint8_t* __restrict w, int32_t* __restrict acc) {")
	assert.Contains(t, text, `}:endloop0\n"`)
	assert.NotContains(t, text, "In C")
	m.Rows = 16
	text = leaf(m, oldest)
	assert.Contains(t, text, "// In C: 32 accumulators leave no vectors for operands.\n")
	assert.Contains(t, text, "DNN_HVX_LEAF void vrmpy_i8u8_scalar_16x2_s64_k16_4_256(")
}

// TestLater: from v69 on, multiplying and adding vectors takes one multiplier, of which a packet has two.
func TestLater(t *testing.T) {
	m := &loop.MicroKernel{Instr: instr.Lookup("vrmpy_u8i8"), X: instr.Register, Rows: 4, Vectors: 4, RowStep: 256, K: []loop.KLoop{{Extent: 64, XStep: 4, WStep: 512}}}
	assert.Contains(t, For(68).Micro(loop.Tile{Micro: m}, 2), "vadd(")
	assert.NotContains(t, For(69).Micro(loop.Tile{Micro: m}, 2), "vadd(")
}
