package modeltest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// TestQuotients: a run refuses a division by 0 as the interpreter does, unless no output needs the element.
func TestQuotients(t *testing.T) {
	for _, rest := range []string{"output %y", "%z ?[*] = Slice.13(%y, @first, @second)\n output %z", "%z ?[*] = Concat.13(%y, %a) {axis = 0}\n output %z"} {
		g := irtest.Parse(t, " const @first i64[1] = {0}\n const @second i64[1] = {1}\n input %a i64[3]\n input %b i64[3]\n %y ?[*] = Div.14(%a, %b)\n "+rest+"\n")
		for _, by := range [][]int64{{1, 0, 3}, {1, 2, 3}} {
			inputs := map[string]*ir.Tensor{"a": edit.IntTensor(ir.I64, []int64{1, 2, 3}, 3), "b": edit.IntTensor(ir.I64, by, 3)}
			for _, c := range Configs(0) {
				x := &trial{g: g, config: c, inputs: inputs}
				assert.NoError(t, x.survives(), "%s divided by %v with %s", rest, by, c)
			}
		}
	}
}
