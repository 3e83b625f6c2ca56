package nodetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

// TestPairs: quantized sums and products of two tensors, other scales and means have the interpreter's bytes for all pairs of bytes, with the flags that let
// compilers contract, and they do not divide.
func TestPairs(t *testing.T) {
	first, second := ir.NewTensor(ir.U8, 256, 256), ir.NewTensor(ir.U8, 256, 256)
	for i := range first.Data {
		first.Data[i], second.Data[i] = byte(i>>8), byte(i)
	}
	inputs := map[string]*ir.Tensor{"a": first, "b": second}
	chip := hostChip(t)
	// With scales of few digits many sums are just between two integers, and which one they become is a matter of rounding.
	between := map[string]bool{"Add.14(%x, %z)": true, "Sub.14(%x, %z)": true, "Max.13(%x, %z)": true, "Identity.13(%x)": true}
	var cases []cpptest.Case
	var wants [][]*ir.Tensor
	for _, nodes := range []string{
		"Add.14(%x, %z)", "Sub.14(%x, %z)", "Mul.14(%x, %z)", "Max.13(%x, %z)", "Identity.13(%x)", "Relu.14(%z)",
	} {
		for _, scale := range []float32{0.0271, 0.05, 0.123, 0.031} {
			text := fmt.Sprintf(`
  const @sa f32[] = {0.0217}
  const @sb f32[] = {0.0374}
  const @sy f32[] = {%g}
  const @za u8[] = {117}
  const @zb u8[] = {131}
  const @zy u8[] = {100}
  input %%a u8[256, 256]
  input %%b u8[256, 256]
  %%x ?[*] = DequantizeLinear.13(%%a, @sa, @za)
  %%z ?[*] = DequantizeLinear.13(%%b, @sb, @zb)
  %%f ?[*] = %s
  %%y ?[*] = QuantizeLinear.13(%%f, @sy, @zy)
  output %%y
`, scale, nodes)
			name := fmt.Sprint(nodes, scale)
			plain := irtest.Parse(t, text)
			require.NoError(t, simplify.Run(plain))
			want, err := interp.Graph(plain, inputs)
			require.NoError(t, err, name)
			p, err := modeltest.CompileFor(irtest.Parse(t, text), chip, nil)
			require.NoError(t, err, name)
			got, err := run.Program(p, modeltest.InputsOf(p, inputs))
			require.NoError(t, err, name)
			assert.True(t, bytes.Equal(want[0].Data, got[0].Data), name)
			if !between[nodes] || scale == 0.0271 {
				assert.False(t, divides(p), name)
			}
			cases, wants = append(cases, cpptest.Case{Name: name, Program: p, Inputs: modeltest.InputsOf(p, inputs)}), append(wants, want)
		}
	}
	for i, got := range cpptest.Run(t, "../../..", cases, append(slices.Clone(chip.Copts), "-O2", "-ffp-contract=fast")...) {
		require.Zero(t, got.Status, cases[i].Name)
		assert.True(t, bytes.Equal(wants[i][0].Data, got.Outputs[0].Data), cases[i].Name)
	}
}

// divides reports whether a kernel divides floats.
func divides(p *plan.Program) bool {
	found := false
	for _, c := range p.Calls() {
		loop.Walk(c.Kernel.Body, func(s loop.Stmt) bool {
			loop.Values(s, func(e te.Expr) {
				te.Walk(e, func(e te.Expr) {
					x, ok := e.(te.Call)
					found = found || ok && x.Fn == "div" && x.Type == ir.F32
				})
			})
			return true
		})
	}
	return found
}
