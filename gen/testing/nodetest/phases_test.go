package nodetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/testing/modeltest"
)

// TestPhases: elements of every width that come beside each other from places that lie apart, in C++ for each kind of chip that the host can run.
func TestPhases(t *testing.T) {
	shuffled := func(kind string, by int) string {
		return fmt.Sprintf(`
  input %%x %s[1, %d, 8, 32]
  %%y ?[*] = DepthToSpace.13(%%x) {blocksize = %d}
  output %%y
`, kind, 2*by*by, by)
	}
	texts := map[string]string{
		"a function of bytes": `
  const @s f32[] = {0.0417}
  const @z u8[] = {11}
  const @sy f32[] = {0.0374}
  input %x u8[1, 16, 8, 32]
  %d ?[*] = DepthToSpace.13(%x) {blocksize = 2}
  %q ?[*] = DequantizeLinear.13(%d, @s, @z)
  %f ?[*] = Sigmoid.13(%q)
  %g ?[*] = Mul.14(%f, %q)
  %y ?[*] = QuantizeLinear.13(%g, @sy, @z)
  output %y
`,
		"floats made bools": `
  const @c f32[] = {8}
  const @scales f32[4] = {1, 1, 4, 4}
  input %x f32[1, 2, 8, 32]
  %r ?[*] = Resize.13(%x, _, @scales) {mode = "nearest"}
  %y ?[*] = Greater.13(%r, @c)
  output %y
`,
	}
	for _, kind := range []string{"f16", "bf16", "bool", "u8", "i16", "f32", "f64"} {
		for _, by := range []int{2, 4} {
			texts[fmt.Sprint(kind, by)] = shuffled(kind, by)
		}
	}
	for _, name := range []string{"x86_64_v4", "x86_64_v3", "x86_64"} {
		chip := chipstest.Target(t, name)
		var cases []cpptest.Case
		var wants []*ir.Tensor
		for label, text := range texts {
			label = name + ": " + label
			g := irtest.Parse(t, text)
			shape, known := g.Inputs[0].Shape.Static()
			require.True(t, known)
			x := ir.NewTensor(g.Inputs[0].Type, shape...)
			for i := range x.Data {
				x.Data[i] = byte(i*7) % 61
				if x.Type == ir.Bool {
					x.Data[i] &= 1
				}
			}
			inputs := map[string]*ir.Tensor{"x": x}
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err, label)
			p, err := modeltest.CompileFor(irtest.Parse(t, text), chip, nil)
			require.NoError(t, err, label)
			cases, wants = append(cases, cpptest.Case{Name: label, Program: p, Inputs: modeltest.InputsOf(p, inputs)}), append(wants, want[0])
		}
		sameCompiled(t, chip, cases, wants)
	}
}
