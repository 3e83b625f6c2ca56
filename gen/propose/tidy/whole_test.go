package tidy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/loop"
)

func statements(t *testing.T, body string) *loop.Kernel {
	k, err := loop.Parse("kernel \"test\" {\n  facts task 0..3\n  operand x u8[64]\n  operand v f32[64]\n  result y u8[64]\n  result z f32[64]\n  grid task < 4\n" + body + "}\n")
	require.NoError(t, err)
	return k
}

// TestWholes: a condition that moves with a loop is asked once, also of a store in a loop within it; one that has more to it, and loops over floats
// alone, stay.
func TestWholes(t *testing.T) {
	for _, c := range []struct{ what, body, want string }{
		{"a choice", "for i < 16 {\ny[i] = (x[i] if 0 <= i + task < 18 else u8:0)\n}\n",
			"if 0 <= task < 18 and 0 <= task + 15 < 18 {\nfor i < 16 {\ny[i] = x[i]\n}\n} else {\nfor i < 16 {\ny[i] = (x[i] if 0 <= i + task < 18 else u8:0)\n}\n}\n"},
		{"a loop within", "for i < 8 {\nfor j < 2 {\ny[2*i + j] = (x[i] if 0 <= 3*i + task < 18 else u8:0)\n}\n}\n",
			"if 0 <= task < 18 and 0 <= task + 21 < 18 {\nfor i < 8 {\nfor j < 2 {\ny[2*i + j] = x[i]\n}\n}\n} else {\nfor i < 8 {\nfor j < 2 {\ny[2*i + j] = (x[i] if 0 <= 3*i + task < 18 else u8:0)\n}\n}\n}\n"},
		{"another condition", "for i < 16 {\nif 0 <= i + task < 18 and 0 <= task < 3 {\ny[i] = x[i]\n}\n}\n",
			"if 0 <= task < 18 and 0 <= task + 15 < 18 {\nfor i < 16 {\nif 0 <= task < 3 {\ny[i] = x[i]\n}\n}\n} else {\nfor i < 16 {\nif 0 <= i + task < 18 and 0 <= task < 3 {\ny[i] = x[i]\n}\n}\n}\n"},
		{"a sum", "for i < 16 {\nvar a = u8 add(x[i], (x[2*i] if 0 <= i + task < 18 else u8:0))\ny[i] = u8 add(a, (x[0] if 0 <= i + task < 18 else u8:0))\n}\n",
			"if 0 <= task < 18 and 0 <= task + 15 < 18 {\nfor i < 16 {\nvar a = u8 add(x[i], x[2*i])\ny[i] = u8 add(a, x[0])\n}\n} else {\nfor i < 16 {\nvar a = u8 add(x[i], (x[2*i] if 0 <= i + task < 18 else u8:0))\ny[i] = u8 add(a, (x[0] if 0 <= i + task < 18 else u8:0))\n}\n}\n"},
		{"both loops", "for i < 8 {\nfor j < 2 {\ny[2*i + j] = (x[i] if 0 <= 2*i + j + task < 18 else u8:0)\n}\n}\n",
			"for i < 8 {\nif 0 <= 2*i + task < 18 and 0 <= 2*i + task + 1 < 18 {\nfor j < 2 {\ny[2*i + j] = x[i]\n}\n} else {\nfor j < 2 {\ny[2*i + j] = (x[i] if 0 <= 2*i + j + task < 18 else u8:0)\n}\n}\n}\n"},
		{"no line", "for i < 16 {\ny[i] = (x[i] if 0 <= i % 3 + task < 18 else u8:0)\n}\n", ""},
		{"a condition on the loop within", "for i < 8 {\nfor j < 2 {\ny[2*i + j] = (x[i] if 0 <= i*task < 18 else u8:0)\n}\n}\n", ""},
		{"floats", "for i < 16 {\nz[i] = (v[i] if 0 <= i + task < 18 else f32:0)\n}\n", ""},
	} {
		k := statements(t, c.body)
		if c.want == "" {
			c.want = c.body
		}
		want := statements(t, c.want)
		k.Body = Wholes(k.Body, k.Facts)
		assert.Equal(t, want.String(), k.String(), c.what)
	}
}

// TestQuantized: what rounds, adds a zero point and saturates is one function, for integers of 8 and 16 bits.
func TestQuantized(t *testing.T) {
	for _, c := range [][2]string{
		{"y[task] = u8 cast(f32 add(f32 round(v[task]), f32 cast(u8:7)))\n", "y[task] = u8 quantize(v[task], u8:7)\n"},
		{"y[task] = u8 cast(f32 add(f32 round(v[task]), f32 cast(x[0])))\n", "y[task] = u8 quantize(v[task], x[0])\n"},
		{"y[task] = u8 cast(f32 round(v[task]))\n", "y[task] = u8 quantize(v[task], u8:0)\n"},
		{"var a = i16 cast(f32 round(v[task]))\na = i16 cast(f32 round(v[0]))\n", "var a = i16 quantize(v[task], i16:0)\na = i16 quantize(v[0], i16:0)\n"},
		{"z[task] = f32 cast(i32 cast(f32 round(v[task])))\n", ""},
		{"y[task] = u8 cast(f32 add(f32 round(v[task]), f32 cast(i8:7)))\n", ""},
		{"y[task] = u8 cast(f32 add(f32 cast(x[0]), f32 round(v[task])))\n", ""},
		{"y[task] = u8 cast(v[task])\n", ""},
	} {
		if c[1] == "" {
			c[1] = c[0]
		}
		k, want := statements(t, c[0]), statements(t, c[1])
		k.Body = Quantized(k.Body)
		assert.Equal(t, want.String(), k.String())
	}
}
