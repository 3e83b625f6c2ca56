package weights

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestSparse: weights of which enough are zero are looked at, however they are stored, and no others.
func TestSparse(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int64
		every int64 // so many elements from one that is not zero to the next
		want  bool
	}{
		{"dense", 40_000, 1, false},
		{"every other one", 40_000, 2, true},
		{"a fifth", 40_000, 5, true},
		{"few elements", 30, 3, true},
		{"all zero", 40_000, 0, false},
		{"one element", 1, 1, false},
	} {
		fill := func(b []byte, first int64) error {
			clear(b)
			for i := range int64(len(b)) / 4 {
				if c.every > 0 && (first+i)%c.every == 0 {
					binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(0.5))
				} else if (first+i)%2 == 1 { // zeros have either sign
					binary.LittleEndian.PutUint32(b[4*i:], 1<<31)
				}
			}
			return nil
		}
		held := ir.NewTensor(ir.F32, c.n)
		require.NoError(t, fill(held.Data, 0))
		for _, x := range []*ir.Tensor{held, ir.Computed(ir.F32, []int64{c.n}, 7, fill)} {
			got, err := NewEncodings().Sparse(ir.ConstValue(c.name, x))
			require.NoError(t, err)
			assert.Equal(t, c.want, got, c.name)
		}
	}
	x := ir.ConstValue("integers", ir.NewTensor(ir.I32, 100))
	got, err := NewEncodings().Sparse(x)
	require.NoError(t, err)
	assert.False(t, got)
	var none *Encodings
	got, err = none.Sparse(ir.ConstValue("x", ir.NewTensor(ir.F32, 100)))
	require.NoError(t, err)
	assert.False(t, got, "nothing is looked for")
}
