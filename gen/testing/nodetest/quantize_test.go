package nodetest

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// evaluate runs one node on tensors, for what ONNX's vectors leave out.
func evaluate(t *testing.T, op string, attrs ir.Attrs, in ...*ir.Tensor) []*ir.Tensor {
	n := &ir.Node{Op: op, Name: "n", Attrs: attrs, Outputs: []*ir.Value{{Name: "y"}}}
	for _, x := range in {
		if x == nil {
			n.Inputs = append(n.Inputs, nil)
			continue
		}
		v := &ir.Value{Name: "x", Type: x.Type, HasShape: true, Shape: ir.Dims(x.Shape...)}
		n.Inputs = append(n.Inputs, v)
	}
	if row := ops.Lookup(op); row.MinOutputs > 1 {
		n.Outputs = make([]*ir.Value, row.MinOutputs)
	}
	m, err := ops.Build(n, nil)
	require.NoError(t, err)
	out, err := interp.Eval(m.Stages, m.Outputs, in, nil)
	require.NoError(t, err)
	return out
}

// of makes a tensor of numbers; half types take their bits.
func of[T any](typ ir.DType, xs []T, shape ...int64) *ir.Tensor {
	x := ir.NewTensor(typ, shape...)
	b, err := binary.Append(nil, binary.LittleEndian, xs)
	if err != nil || len(b) != len(x.Data) {
		panic("elements that do not fit their tensor")
	}
	x.Data = b
	return x
}

// TestBitCastHalves casts all numbers of 16 bits to half types and back. NaNs come
// back as NaNs.
func TestBitCastHalves(t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	bits := of(ir.U16, all, 1<<16)
	for _, c := range []struct {
		to             ir.DType
		number, expMax int64
	}{{ir.F16, 10, 0x7c00}, {ir.BF16, 16, 0x7f80}} {
		half := evaluate(t, "BitCast", ir.Attrs{"to": c.number}, bits)[0]
		back := evaluate(t, "BitCast", ir.Attrs{"to": int64(4)}, half)[0]
		for i := range all {
			a := int64(binary.LittleEndian.Uint16(half.Data[2*i:]))
			b := int64(binary.LittleEndian.Uint16(back.Data[2*i:]))
			require.Equal(t, a, b, "%s of %#x", c.to, i)
			if size := int64(i) & 0x7fff; size > c.expMax {
				require.Greater(t, a&0x7fff, c.expMax, "%s of %#x", c.to, i)
			} else {
				require.Equal(t, int64(i), a, "%s of %#x", c.to, i)
			}
		}
	}
}

// TestQuantizeSaturates: ties go to even, what is out of range saturates, and zero points
// of 16 bits are not rounded to the type of a half scale.
func TestQuantizeSaturates(t *testing.T) {
	inf := float32(math.Inf(1))
	x := of(ir.F32, []float32{0.5, 1.5, -2.5, 1e30, -inf, inf, 126.5, -130}, 8)
	scale := of(ir.F32, []float32{1})
	y := evaluate(t, "QuantizeLinear", nil, x, scale, of(ir.I8, []int8{1}))[0]
	require.Equal(t, []int8{1, 3, -1, 127, -128, 127, 127, -128}, decoded[int8](t, y))
	half := of(ir.F16, []uint16{0x3c00, 0xbc00}, 2) // 1, -1
	y = evaluate(t, "QuantizeLinear", nil, half, of(ir.F16, []uint16{0x3c00}), of(ir.U16, []uint16{4099}))[0]
	require.Equal(t, []uint16{4100, 4098}, decoded[uint16](t, y))
	ints := of(ir.I32, []int32{math.MaxInt32, math.MinInt32, 5, 7}, 4)
	y = evaluate(t, "QuantizeLinear", nil, ints, of(ir.I32, []int32{2}), of(ir.I16, []int16{-1}))[0]
	require.Equal(t, []int16{32767, -32768, 1, 3}, decoded[int16](t, y))
}

// TestBlocks quantizes in blocks that do not divide the axis, and back.
func TestBlocks(t *testing.T) {
	x := of(ir.U8, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 2, 5)
	scale := of(ir.F32, []float32{1, 10, 100, 2, 20, 200}, 2, 3)
	y := evaluate(t, "DequantizeLinear", ir.Attrs{"axis": int64(-1), "block_size": int64(2)}, x, scale)[0]
	want := []float32{1, 2, 30, 40, 500, 12, 14, 160, 180, 2000}
	require.Equal(t, want, decoded[float32](t, y))
	back := evaluate(t, "QuantizeLinear", ir.Attrs{"block_size": int64(2)}, y, scale)[0]
	require.Equal(t, x.Data, back.Data)
}

// TestDynamicQuantizeZeros: all zeros stay zeros, by a scale that is none.
func TestDynamicQuantizeZeros(t *testing.T) {
	y := evaluate(t, "DynamicQuantizeLinear", nil, of(ir.F32, []float32{0, 0}, 2))
	require.Equal(t, []uint8{0, 0}, decoded[uint8](t, y[0]))
	require.Equal(t, []float32{1.0 / 255}, decoded[float32](t, y[1]))
	require.Equal(t, []uint8{0}, decoded[uint8](t, y[2]))
}

// TestLines has a zero point for each row of the left factor and each column of the right.
func TestLines(t *testing.T) {
	a := of(ir.U8, []uint8{1, 2, 3, 4}, 2, 2)
	b := of(ir.I8, []int8{5, 6, 7, 8}, 2, 2)
	y := evaluate(t, "MatMulInteger", nil, a, b, of(ir.U8, []uint8{1, 3}, 2), of(ir.I8, []int8{5, 6}, 2))[0]
	require.Equal(t, []int32{2, 2, 2, 2}, decoded[int32](t, y))
	y = evaluate(t, "MatMulInteger", nil, a, b, of(ir.U8, []uint8{1, 3}, 2, 1), of(ir.I8, []int8{5, 6}, 1, 2))[0]
	require.Equal(t, []int32{2, 2, 2, 2}, decoded[int32](t, y))
}

// TestPaddingIsZeroPoint: what ConvInteger pads counts as zero after the subtraction.
func TestPaddingIsZeroPoint(t *testing.T) {
	x, w := of(ir.U8, []uint8{5, 6, 7}, 1, 1, 3), of(ir.U8, []uint8{1, 1, 1}, 1, 1, 3)
	y := evaluate(t, "ConvInteger", ir.Attrs{"pads": []int64{1, 1}}, x, w, of(ir.U8, []uint8{5}))[0]
	require.Equal(t, []int32{1, 3, 3}, decoded[int32](t, y))
}

func decoded[T any](t *testing.T, x *ir.Tensor) []T {
	out := make([]T, x.Len())
	_, err := binary.Decode(x.Data, binary.LittleEndian, out)
	require.NoError(t, err)
	return slices.Clip(out)
}
