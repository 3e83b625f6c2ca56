package islands_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir/irtest"
)

// TestFloats: what stays float is said, and why; what became integers is counted.
func TestFloats(t *testing.T) {
	for _, c := range []struct {
		name, nodes string
		integers    int
		want        string
	}{
		{"all in integers", conv + `
  %c ?[*] = Conv.11(%x, %wf, %bf)
  %r ?[*] = Relu.14(%c)
  %y ?[*] = QuantizeLinear.13(%r, @sy, @zy)
  output %y
`, 3, "[]"},
		{"a sum of two tensors", `
  input %q2 u8[1, 4, 5, 6]
  %x2 ?[*] = DequantizeLinear.13(%q2, @sx, @zx)
  %s ?[*] = Add.14(%x, %x2) "sum"
  %y ?[*] = QuantizeLinear.13(%s, @sy, @zy)
  output %y
`, 1, `[{Add "sum" each result combines 2 tensors: bytes are read and written, floats stay in registers}]`},
		{"little to compute", `
  %n ?[*] = Neg.13(%x) "minus"
  %y ?[*] = QuantizeLinear.13(%n, @sy, @zy)
  output %y
`, 1, `[{Neg "minus" a table would be slower than floats in registers, between reads and writes of bytes}]`},
		{"several elements", `
  %s ?[*] = Softmax.13(%x) {axis = -1} "soft"
  %y ?[*] = QuantizeLinear.13(%s, @sy, @zy)
  output %y
`, 1, `[{Softmax "soft" each result combines several elements with float functions}]`},
		{"what is not quantized", `
  input %f f32[1, 4, 5, 6]
  %s ?[*] = Sigmoid.13(%f) "first"
  %m ?[*] = Mul.14(%x, %s) "second"
  %e ?[*] = Exp.13(%x) "third"
  %g ?[*] = Exp.13(%x) "fourth"
  %h ?[*] = Sqrt.13(%g) "fifth"
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zy)
  output %y
  output %e
  output %h
`, 1, `[{Sigmoid "first" operand 0 ("f") is a float input} {Mul "second" operand 1 is the float result of Sigmoid "first"} {Exp "third" its result "e" is a float output} {Exp "fourth" Sqrt "fifth" reads its result as float} {Sqrt "fifth" operand 0 is the float result of Exp "fourth"}]`},
		{"weights of floats", `
  const @w f32[6, 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
  %m ?[*] = MatMul.13(%x, @w) "dense"
  %y ?[*] = QuantizeLinear.13(%m, @sy, @zy)
  output %y
`, 1, `[{MatMul "dense" operand 1 ("w") is a float constant}]`},
		{"scales that no rewrite takes", `
  %f ?[*] = DequantizeLinear.13(%q, @negative, @zx)
  %e ?[*] = Exp.13(%f) "exp"
  %y ?[*] = QuantizeLinear.13(%e, @sy, @zy)
  output %y
`, 1, `[{Exp "exp" operand 0 has a scale or a zero point that is not constant, is for blocks, or is not between 2^-100 and 2^100}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, constants+c.nodes)
			require.NoError(t, simplify.RunBut(g, islands.Keeps))
			islands.Run(g)
			require.NoError(t, simplify.Run(g))
			r := islands.Floats(g)
			require.NotNil(t, r)
			assert.Equal(t, c.want, fmt.Sprint(r.Kept))
			assert.Equal(t, c.integers, r.Nodes)
		})
	}
	g := irtest.Parse(t, "  input %x f32[2]\n  %y ?[*] = Exp.13(%x)\n  output %y\n")
	require.NoError(t, simplify.Run(g))
	assert.Nil(t, islands.Floats(g), "nothing is quantized")
}
