package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
)

// TestRolled: what follows products that items multiply together stays a loop over copies of the sums where it is long, and is written out where it is short;
// two neighbours are stored as one either way.
func TestRolled(t *testing.T) {
	const product = "input %a f32[4096, 1024]\ninput %b f32[1024, 1024]\n%p ?[*] = MatMul.13(%a, %b)\n"
	for _, c := range []struct {
		name, text string
		store      ir.DType
		rolled     bool
	}{
		{"GELU", product + "%g ?[*] = Gelu.20(%p)\n%y ?[*] = MatMul.13(%g, %b)\noutput %y", ir.F16, true},
		{"Relu", product + "%g ?[*] = Relu.14(%p)\n%y ?[*] = MatMul.13(%g, %b)\noutput %y", ir.F16, false},
		{"GELU of floats", product + "%g ?[*] = Gelu.20(%p)\n%y ?[*] = MatMul.13(%g, %b)\noutput %y", ir.Invalid, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := device(t, "opencl_nvidia")
			src, err := opencl.Print(compiled(t, &pipeline.State{Graph: parsed(t, c.text), Target: d, Store: c.store}), d)
			require.NoError(t, err)
			kernels := src.Text[strings.Index(src.Text, "__kernel"):]
			require.Equal(t, c.rolled, strings.Contains(kernels, "#pragma unroll 1\n"))
			require.Equal(t, c.rolled, strings.Contains(kernels, "kept_acc"))
			require.Equal(t, c.store == ir.F16, strings.Contains(kernels, "*(__global ushort2*)&y0["))
		})
	}
}
