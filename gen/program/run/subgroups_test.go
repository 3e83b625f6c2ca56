package run

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// TestExchange: an item gets what its neighbour stored before, and none of what another sub-group's items have.
func TestExchange(t *testing.T) {
	k, err := loop.Parse(`kernel "test" {
  facts i 0..1, j 0..3, q 0..1
  operand x f32[8]
  result y f32[8]
  grid task < 1
  array a f32[8]
  for i < 2 items {
    for j < 4 items {
      a[4*i + j] = x[4*i + j]
    }
  }
  for i < 2 items {
    for j < 4 items {
      var sum = f32:0
      for q < 2 {
        sum = f32 add(f32 mul(f32:10, sum), near(a[4*i + j], 2, 1 - q))
      }
      y[4*i + j] = sum
    }
  }
}
`)
	require.NoError(t, err)
	require.NoError(t, loop.Verify(k))
	p, err := Compile(k, nil)
	require.NoError(t, err)
	x, y := make([]byte, 32), make([]byte, 32)
	for i := range 8 {
		binary.LittleEndian.PutUint32(x[4*i:], math.Float32bits(float32(i)))
	}
	require.NoError(t, p.Start(x, y))
	require.NoError(t, p.Run(0, 1))
	require.NoError(t, p.Finish())
	for i, want := range []float32{10, 10, 32, 32, 54, 54, 76, 76} {
		require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(y[4*i:])), i)
	}
}
