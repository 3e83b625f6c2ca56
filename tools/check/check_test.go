package check

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func f32(shape []int64, list ...float32) *ir.Tensor {
	t := &ir.Tensor{Type: ir.F32, Shape: shape}
	for _, x := range list {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(x))
	}
	return t
}

// TestInput compares with what tests/models/reference.py computes.
func TestInput(t *testing.T) {
	want := f32([]int64{2, 2}, 0x1.ca06f8p+0, 0x1.ff278p+0, 0x1.3c4474p+0, 0x1.6309p-4)
	assert.Equal(t, want, Input(ir.F32, []int64{2, 2}, 0, 1))
	assert.Equal(t, want.Data[4:8], Input(ir.F32, []int64{1}, 1, 1).Data, "the seed moves the sequence")
	for h, want := range map[uint32]uint32{0: 0xf281be04, 1: 0xffc9e0a5, 2: 0xcf111d0e, 1000000: 0xc4d4dc5f} {
		assert.Equal(t, want, mix(h))
	}
	ints, err := Input(ir.I64, []int64{4}, 0, 1000).Ints()
	require.NoError(t, err)
	assert.Equal(t, []int64{0xf281be04 % 1000, 0xffc9e0a5 % 1000, 0xcf111d0e % 1000}, ints[:3])
	assert.Equal(t, []byte{0, 1, 0}, Input(ir.Bool, []int64{3}, 0, 1).Data)
}

func TestCompare(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name      string
		got, want []float32
		abs, rel  float64
		at        int
	}{
		{"equal", []float32{1, 2, nan, inf}, []float32{1, 2, nan, inf}, 0, 0, 0},
		{"relative to the range", []float32{1, 3.5, 9}, []float32{1, 3, 9}, 0.5, 0.0625, 1},
		{"NaN for a number", []float32{1, nan}, []float32{1, 2}, math.Inf(1), math.Inf(1), 1},
		{"a number for NaN", []float32{1, 2}, []float32{1, nan}, math.Inf(1), math.Inf(1), 1},
		{"infinity of another sign", []float32{inf}, []float32{-inf}, math.Inf(1), math.Inf(1), 0},
		{"constant reference", []float32{2, 3}, []float32{2, 2}, 1, 0.5, 1},
		{"zero reference", []float32{0, 0.5}, []float32{0, 0}, 0.5, 0.5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape := []int64{int64(len(c.want))}
			d, err := Compare(f32(shape, c.got...), f32(shape, c.want...))
			require.NoError(t, err)
			assert.Equal(t, c.abs, d.Abs)
			assert.Equal(t, c.rel, d.Rel())
			assert.Equal(t, c.at, d.At)
		})
	}
	_, err := Compare(f32([]int64{2, 1}, 1, 2), f32([]int64{2}, 1, 2))
	require.EqualError(t, err, "it is f32[2 1]; the reference is f32[2]")
}

func TestNpy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	for _, typ := range []ir.DType{ir.Bool, ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64, ir.F16, ir.F32, ir.F64} {
		for _, shape := range [][]int64{{}, {3}, {2, 0}, {2, 3, 1}} {
			x := Input(typ, shape, 7, 100)
			require.NoError(t, WriteNpy(path, x))
			y, err := ReadNpy(path)
			require.NoError(t, err)
			assert.Equal(t, x, y)
		}
	}
	// As NumPy writes it: no comma ends shapes of more than one dimension.
	header := "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
	for len(header) < 127 {
		header += " "
	}
	header += "\n"
	x, err := parseNpy([]byte(header + "\x00\x00\x80\x3f\x00\x00\x00\x40"))
	require.NoError(t, err)
	assert.Equal(t, f32([]int64{1, 2}, 1, 2), x)

	for text, want := range map[string]string{
		"text":         "no .npy file",
		header + "abc": "3 bytes of data do not make f32 of shape [1 2]",
		header[:50]:    "ends beyond the file",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		_, err := ReadNpy(path)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
	}
}
