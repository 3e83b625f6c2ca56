package modeltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/simplify"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/run"
)

// bytesOf is a constant of bytes.
func bytesOf(name string, dims ...int) string {
	r, n := rand.New(rand.NewPCG(11, 12)), 1
	for _, d := range dims {
		n *= d
	}
	of := make([]string, n)
	for i := range of {
		of[i] = fmt.Sprint(r.IntN(255) - 127)
	}
	return fmt.Sprintf("  const @%s i8%s = {%s}\n", name, strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), strings.Join(of, ", "))
}

// biased is a product of integers with constant weights and a bias of each column, and what becomes of the sum d.
func biased(rest string) string {
	return "  input %x u8[6, 24]\n" + bytesOf("w", 24, 8) + `  const @z u8[] = {7}
  const @b i32[8] = {100, -200, 300, -400, 500, -600, 700, -800}
  const @c i32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
  input %r i32[6, 8]
  %p ?[*] = MatMulInteger.10(%x, @w, @z)
  %d ?[*] = Add.14(%p, @b)
` + rest
}

// windowed is a depthwise convolution between two of single taps, whose channels lie last.
func windowed(rows, columns int, strides string) string {
	conv := func(name, from string, attrs string) string {
		return fmt.Sprintf("  %%%s ?[*] = QLinearConv.10(%%%s, @s, @z, @%sw, @s, @wz, @t, @z) {%s}\n", name, from, name, attrs)
	}
	return "  input %x u8[1, 16, 14, 14]\n  const @s f32[] = {0.03}\n  const @t f32[] = {0.9}\n  const @z u8[] = {7}\n  const @wz i8[] = {0}\n" +
		bytesOf("aw", 32, 16, 1, 1) + bytesOf("bw", 32, 1, rows, columns) + bytesOf("cw", 16, 32, 1, 1) +
		conv("a", "x", "group = 1") + conv("b", "a", "group = 32, strides = "+strides) + conv("c", "b", "group = 1") + "  output %c\n"
}

// TestSums: what is added to sums of integers besides their bias, and windows that overlap along one axis or none.
func TestSums(t *testing.T) {
	for name, text := range map[string]string{
		"a residual":               biased("  %y ?[*] = Add.14(%d, %r)\n  output %y\n"),
		"another bias":             biased("  %y ?[*] = Add.14(%d, @c)\n  output %y\n"),
		"the same bias again":      biased("  %y ?[*] = Add.14(%d, @b)\n  output %y\n"),
		"a bias and a residual":    biased("  %e ?[*] = Add.14(%d, @c)\n  %y ?[*] = Add.14(%e, %r)\n  output %y\n"),
		"the sum itself":           biased("  %y ?[*] = Add.14(%d, %d)\n  output %y\n"),
		"the sum without its bias": biased("  %y ?[*] = Add.14(%d, %p)\n  output %y\n"),
		"windows of rows":          windowed(3, 1, "[1, 1]"),
		"windows of columns":       windowed(1, 3, "[1, 1]"),
		"windows beside others":    windowed(2, 2, "[2, 2]"),
		"rows beside others":       windowed(3, 3, "[3, 1]"),
		"columns beside others":    windowed(3, 3, "[1, 3]"),
	} {
		g := irtest.Parse(t, text)
		inputs := map[string]*ir.Tensor{}
		r := rand.New(rand.NewPCG(5, 6))
		for _, v := range g.Inputs {
			dims, _ := v.Static()
			x := ir.NewTensor(v.Type, dims...)
			for i := range x.Data {
				if i%v.Type.Size() < 2 { // integers that are no sum's limit
					x.Data[i] = byte(r.IntN(256))
				}
			}
			inputs[v.Name] = x
		}
		require.NoError(t, simplify.Run(g))
		want, err := interp.Graph(g, inputs)
		require.NoError(t, err, name)
		for _, chip := range integerChips {
			on, err := Chip(chip)
			require.NoError(t, err)
			p, err := CompileFor(irtest.Parse(t, text), on, nil)
			if !assert.NoError(t, err, "%s for %s", name, chip) {
				continue
			}
			got, err := run.Program(p, InputsOf(p, inputs))
			require.NoError(t, err, "%s for %s", name, chip)
			for k, w := range want {
				assert.Equal(t, w.Data, got[k].Data, "%s for %s", name, chip)
			}
		}
	}
}
