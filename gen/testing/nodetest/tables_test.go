package nodetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/islands"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/testing/modeltest"
)

// TestTables: functions of one quantized tensor are read of tables in vectors, all 256 bytes, for each kind of chip that the host can run, and for rows that fill
// no vector.
func TestTables(t *testing.T) {
	for _, name := range []string{"x86_64_v4", "x86_64_v3", "x86_64", "arm64"} {
		chip := chipstest.Target(t, name)
		var cases []cpptest.Case
		var wants []*ir.Tensor
		for _, types := range [][2]string{{"u8", "u8"}, {"i8", "u8"}, {"u8", "i8"}} {
			for _, n := range []int64{256, 16, 23, 67, 301} {
				text := fmt.Sprintf(`
  const @s f32[] = {0.0417}
  const @z %s[] = {11}
  const @sy f32[] = {0.0374}
  const @zy %s[] = {0}
  input %%q %s[3, %d]
  %%x ?[*] = DequantizeLinear.13(%%q, @s, @z)
  %%f ?[*] = Sigmoid.13(%%x)
  %%g ?[*] = Mul.14(%%f, %%x)
  %%y ?[*] = QuantizeLinear.13(%%g, @sy, @zy)
  output %%y
`, types[0], types[1], types[0], n)
				label := fmt.Sprint(name, types, n)
				g := irtest.Parse(t, text)
				require.NoError(t, simplify.RunBut(g, islands.Keeps))
				islands.Run(g)
				q := ir.NewTensor(g.Inputs[0].Type, 3, n)
				for i := range q.Data {
					q.Data[i] = byte(i * 7)
				}
				inputs := map[string]*ir.Tensor{"q": q}
				want, err := interp.Graph(g, inputs)
				require.NoError(t, err, label)
				p, err := modeltest.CompileFor(irtest.Parse(t, text), chip, nil)
				require.NoError(t, err, label)
				got, err := run.Program(p, modeltest.InputsOf(p, inputs))
				require.NoError(t, err, label)
				assert.Equal(t, want[0].Data, got[0].Data, label)
				vectors := false
				loop.Walk(p.Calls()[0].Kernel.Body, func(s loop.Stmt) bool {
					l, ok := s.(loop.For)
					vectors = vectors || ok && l.Lanes > 1
					return true
				})
				assert.Equal(t, chip.ReadsTables(), vectors, label)
				cases, wants = append(cases, cpptest.Case{Name: label, Program: p, Inputs: modeltest.InputsOf(p, inputs)}), append(wants, want[0])
			}
		}
		sameCompiled(t, chip, cases, wants)
	}
}
