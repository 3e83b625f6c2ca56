package hvx_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/emit/hvx/hvxtest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/testing/modeltest"
)

// TestPairs: a quantized sum of which many results are just between two integers has products that no compiler contracts, on Hexagon, too: it has the
// interpreter's bytes for all pairs of bytes, even with a flag that lets compilers contract.
func TestPairs(t *testing.T) {
	first, second := ir.NewTensor(ir.U8, 256, 256), ir.NewTensor(ir.U8, 256, 256)
	for i := range first.Data {
		first.Data[i], second.Data[i] = byte(i>>8), byte(i)
	}
	inputs := map[string]*ir.Tensor{"a": first, "b": second}
	const text = `
  const @sa f32[] = {0.0217}
  const @sb f32[] = {0.0374}
  const @sy f32[] = {0.05}
  const @za u8[] = {117}
  const @zb u8[] = {131}
  const @zy u8[] = {100}
  input %a u8[256, 256]
  input %b u8[256, 256]
  %x ?[*] = DequantizeLinear.13(%a, @sa, @za)
  %z ?[*] = DequantizeLinear.13(%b, @sb, @zb)
  %f ?[*] = Add.14(%x, %z)
  %y ?[*] = QuantizeLinear.13(%f, @sy, @zy)
  output %y
`
	want, err := interp.Graph(irtest.Parse(t, text), inputs)
	require.NoError(t, err)
	chip, err := modeltest.Hexagon()
	require.NoError(t, err)
	p, err := modeltest.CompileFor(irtest.Parse(t, text), chip, nil)
	require.NoError(t, err)
	files, err := hvx.Print(p, "p", 1)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(files, func(f cpp.File) bool { return strings.Contains(f.Text, "dnn_product_float(") }))
	c := cpptest.Case{Name: "add", Program: p, Inputs: modeltest.InputsOf(p, inputs)}
	for _, r := range hvxtest.Machine.Run(t, root, []cpptest.Case{c}, append(chip.Copts, "-O2", "-ffp-contract=fast")...) {
		require.Zero(t, r.Status)
		assert.Equal(t, want[0].Data, r.Outputs[0].Data)
	}
}
