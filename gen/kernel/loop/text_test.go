package loop_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

// wholeText has every kind of line, statement and expression.
const wholeText = `kernel "contraction \"6x16\"" {
  symbol N
  symbol min
  facts N 1..64, g 0..63, i0 0..7, n -1..9223372036854775807, task 0..511
  operand x f32[3072*N]
  operand w f32[432] const
  result y f32[512*N] holds
  result z f16[16*N] local image [N, 4]
  scratch s i64[3*N]
  scratch r f32[min(8, N)] readonly
  sets K
  sets L
  micro m0 fma_f32x8 mem 6 x 2 row 64 run 3 256 vector 16 k 3 by 64, 48 k 8 by 1, 16 adds prefetch_w 64 prefetch_x fetch 12
  micro m1 fma_f32x8 vec 0 x 1
  grid task < 8*N
  grid u < 3
  index n = ((task) // (8))
  array acc f32[96]
  array odd f32[N] readonly shared const
  tile m0 acc[8] = x[64*task] * w[n] fetch 128
  tile m1 acc[0] = x[0] * w[0]
  for i0 < 8 lanes 4 stride 2 {
    bind g = i64 cast(x[i0]) in 0..N - 1
    var v = f32:0x7ff8000000000001
    if 0 <= g + i0 < N and 1 <= n < 2 {
      var v = f16 cast(f64:-1e+300)
      v = (f16:-0 if 0 <= g < 4 else f16(i0))
      z[i0; g, n] = (v if () else z[0; 0, 1])
    } else {
      v = f32 add(acc[g], f32:+Inf)
    }
    if () {
    }
    y[i0] = f32 where(bool:1, v, f32:-0.1)
    claim y[i0 + 16]
    for j < N {
    }
  }
  y[0] = v
  y[1] = v:i32
  y[2] = u64 pi()
  var u8 = f32:1
  u8 = u8:f32
  index f32 = N
  y[f32] = f32(f32)
  y[3] = u64 max(u64:18446744073709551615, i64:-9223372036854775808)
  call TopK<f32, i64> whole {
    operand x f32[N, 4]
    operand _
    result y i64[N, K]
    result _ i64[]
    scratch s i64[3*N]
    args operand 0, result 1, computed 0, scratch 0, size N, dims [N, 4], dims [], numbers, flag true, flag false
    computes K 0..64 up to 4*N "rows"
    computes L -1..2 up to overflow ""
    element 0 = K
    element 3 = L + 1
    work 16*N
  }
  call Nothing<> {
    work 0
  }
}
`

// TestTextStays: a text is printed as it was read.
func TestTextStays(t *testing.T) {
	for _, text := range []string{wholeText, "kernel \"\" {\n}\n"} {
		k, err := loop.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, text, k.String())
	}
}
