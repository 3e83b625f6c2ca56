package winograd

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/weights"
)

// filled gives a constant elements of one value, of f16 or bf16.
func filled(v *ir.Value, x float32) {
	bits := scalar.F32ToF16(x)
	if v.Type == ir.BF16 {
		bits = scalar.F32ToBF16(x)
	}
	for i := 0; i < len(v.Const.Data); i += 2 {
		binary.LittleEndian.PutUint16(v.Const.Data[i:], bits)
	}
}

// TestFilterType: filters are of 16 bits where roundings stay small, numbers within range, and loads convert.
func TestFilterType(t *testing.T) {
	for _, c := range []struct {
		name    string
		typ     ir.DType
		chip    string
		results int
		weight  float32
		want    ir.DType
	}{
		{"f16", ir.F16, "x86_64_v3", 2, 0.5, ir.F16},
		{"bf16", ir.BF16, "x86_64_v4", 2, 1e30, ir.BF16},
		{"a transform that makes more of roundings", ir.F16, "x86_64_v3", 4, 0.5, ir.F32},
		{"weights whose sums may be beyond f16", ir.F16, "x86_64_v3", 2, 30000, ir.F32},
		{"infinite weights are as they are", ir.F16, "x86_64_v3", 2, float32(math.Inf(1)), ir.F16},
		{"loads that do not convert", ir.F16, "arm64", 2, 0.5, ir.F32},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, env := contracttest.Convolution(t, c.typ, "1, 16, 14, 14; 16, 16, 3, 3; pads = [1, 1, 1, 1]", c.chip, true)
			env.Winograd, env.Magnitudes = true, weights.NewMagnitudes()
			filled(b.Operands[1], c.weight)
			for range 2 { // the second time from memory
				w, err := newFiltering(b, env, wino.New(c.results, filterTaps))
				require.NoError(t, err)
				require.NotNil(t, w)
				assert.Equal(t, c.want, w.stored)
			}
		})
	}
}

// TestHalfFilters: filters of 16 bits are those of f32, rounded, in whatever pieces they are read.
func TestHalfFilters(t *testing.T) {
	b, env := contracttest.Convolution(t, ir.F16, "1, 21, 14, 14; 37, 21, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v3", true)
	env.Winograd = true
	data := b.Operands[1].Const.Data
	for i := 0; i < len(data); i += 2 {
		binary.LittleEndian.PutUint16(data[i:], scalar.F32ToF16(float32(i*7%201-100)/64))
	}
	bytes := map[ir.DType][]byte{}
	for _, typ := range []ir.DType{ir.F16, ir.F32} {
		w, err := newFiltering(b, env, wino.New(2, filterTaps))
		require.NoError(t, err)
		w.stored = typ
		require.True(t, w.choose(1, 1, nil))
		v := w.packFilters(b.Operands[1])
		require.Equal(t, typ, v.Type)
		all, err := v.Const.Bytes()
		require.NoError(t, err)
		piece, size := make([]byte, 64), int64(len(all))
		for _, at := range []int64{0, 6, size/2 - 2, size - 64} {
			at -= at % int64(typ.Size())
			require.NoError(t, v.Const.ReadBytes(piece, at))
			assert.Equal(t, all[at:at+64], piece, "%s at %d", typ, at)
		}
		bytes[typ] = all
	}
	require.Len(t, bytes[ir.F32], 2*len(bytes[ir.F16]))
	some := false
	for i := 0; i < len(bytes[ir.F16]); i += 2 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(bytes[ir.F32][2*i:]))
		require.Equal(t, scalar.F32ToF16(x), binary.LittleEndian.Uint16(bytes[ir.F16][i:]), "element %d", i/2)
		some = some || x != 0
	}
	assert.True(t, some, "all filters are zero")
}
