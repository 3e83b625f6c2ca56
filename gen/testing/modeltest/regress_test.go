package modeltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/testing/wildtest"
)

// TestOnceWrong compiles what fuzzing found to be wrong once, in all ways.
func TestOnceWrong(t *testing.T) {
	for _, lines := range []string{
		"input %x f16[2, 1000, 0, 3]\n%y ?[*] = RMSNormalization.23(%x, %x) \"a constant dimension of 0 among others\"\noutput %y\n",
		"symbol N 0..8\ninput %x u64[1, N, 7, 0, 5]\n%y ?[*] = Transpose.13(%x)\noutput %y\n",
		"input %x f32[2, 3]\ninput %i i64[4]\n%y ?[*] = Gather.13(%x, %i) {axis = 1} \"indices out of bounds\"\noutput %y\n",
		"const @p i64[8] = {0, 0, 2, 0, 0, 0, 0, 0}\ninput %x f32[1, 1, 5, 2]\n%v f32[1, 1, 7, 2] = Pad.13(%x, @p) \"pad\"\n%y f32[1, 1, 3, 2] = AveragePool.11(%v) {kernel_shape = [1, 1], strides = [3, 1]} \"more padding than window\"\noutput %y\n",
		"symbol N 1..8\nsymbol M 1..8\ninput %x u8[N, 3]\ninput %s f32[M]\n%y ?[*] = DequantizeLinear.13(%x, %s) {axis = 0} \"a scale for all or for each\"\noutput %y\n",
		"symbol N 1..8\nsymbol M 1..8\ninput %x u8[2, 3]\ninput %y u8[3, 2]\ninput %z u8[N]\n%p ?[*] = MatMulInteger.10(%x, %y, %z, %z)\noutput %p\n",
		"symbol N 1..8\nsymbol M 1..8\ninput %x f32[2, N]\ninput %y f32[M, 3]\n%z ?[*] = Einsum.12(%x, %y) {equation = \"ij,jk->ik\"}\noutput %z\n",
		"symbol N 1..8\ninput %x f32[1, 4, 5]\ninput %w f32[N, 2, 1]\n%y ?[*] = Conv.11(%x, %w) {group = 2}\noutput %y\n",
		"symbol N 1..8\ninput %x f32[N, 3, N]\n%y ?[*] = MaxPool.12(%x) {kernel_shape = [1], strides = [1099511627776], dilations = [1099511627776]}\noutput %y\n",
		"input %x f32[1, 0, 2, 2]\n%y ?[*] = Attention.25(%x, %x, %x) \"no heads\"\noutput %y\n",
		"const @w f32[4, 4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}\ninput %x f32[4, 4]\n%p f32[4, 4] = MatMul.13(%x, @w)\n%y f32[4, 4] = Add.14(%p, @w) \"weights that are read twice\"\noutput %y\n",
	} {
		for i, c := range Configs(0) {
			g := irtest.Parse(t, lines)
			for k := range 4 {
				x := &trial{g: g, config: c}
				x.inputs, _ = wildtest.Inputs(wildtest.NewSource([]byte(fmt.Sprintf("%d%d choices", k, i))), g)
				require.NotNil(t, x.inputs)
				require.NoError(t, x.survives(), "with %s\n%s", c, lines)
			}
		}
	}
}
