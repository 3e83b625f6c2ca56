package nodetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/chips/chipstest"
	"rules_dnn/gen/testing/modeltest"
)

// weights are small integers, of which floats have exact sums.
func weights(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i*7%11 - 5)
	}
	return strings.Join(out, ", ")
}

// edges are networks whose windows leave their operands, whose extents fill no vectors, or whose elements are equal, so that it matters which one is picked.
func edges() map[string]string {
	texts := map[string]string{}
	for _, kind := range []string{"f32", "i32", "u8"} {
		for _, op := range []string{"ArgMax", "ArgMin"} {
			for last := range 2 {
				for _, shape := range []string{"37, 64", "9, 16", "3, 5, 48", "70, 3"} {
					texts[fmt.Sprint(op, kind, last, shape)] = fmt.Sprintf(`
  input %%x %s[%s]
  %%y ?[*] = %s.13(%%x) {axis = 0, select_last_index = %d}
  output %%y
`, kind, shape, op, last)
				}
			}
		}
	}
	for _, c := range []struct {
		blocks, image, kernel int
		attrs                 string
	}{
		{20 * 20, 20, 3, "pads = [1, 1, 1, 1]"},
		{10 * 10, 20, 2, "strides = [2, 2]"},
		{10 * 10, 20, 4, "strides = [2, 2], pads = [1, 1, 1, 1]"},
		{9 * 9, 20, 3, "strides = [2, 2]"},
		{6 * 6, 20, 5, "strides = [3, 3]"},
		{16 * 16, 20, 3, "dilations = [2, 2]"},
		{8 * 8, 20, 3, "strides = [2, 2], dilations = [2, 2]"},
		{6 * 6, 20, 3, "strides = [3, 3], dilations = [2, 2]"},
	} {
		texts[fmt.Sprint("Col2Im ", c.attrs, c.kernel)] = fmt.Sprintf(`
  const @s i64[2] = {%d, %d}
  const @k i64[2] = {%d, %d}
  input %%x f32[1, %d, %d]
  %%y ?[*] = Col2Im.18(%%x, @s, @k) {%s}
  output %%y
`, c.image, c.image, c.kernel, c.kernel, 2*c.kernel*c.kernel, c.blocks, c.attrs)
	}
	for _, c := range []struct{ image, attrs string }{
		{"1, 16, 13, 13", "dilations = [5, 5], pads = [5, 5, 5, 5]"},
		{"1, 16, 13, 13", "dilations = [12, 12], pads = [12, 12, 12, 12]"},
		{"1, 16, 13, 13", "dilations = [5, 3], pads = [5, 3, 5, 3], strides = [2, 2]"},
		{"1, 16, 13, 13", "dilations = [5, 5], pads = [9, 9, 1, 1]"},
		{"1, 16, 13, 13", "dilations = [9, 1], pads = [9, 1, 9, 1]"},
		// Tiles begin at few of the places where other taps begin to count.
		{"2, 16, 14, 3", "dilations = [12, 5], pads = [19, 9, 13, 12]"},
		{"1, 16, 2, 7", "dilations = [9, 9], pads = [9, 22, 9, 17]"},
		{"1, 16, 13, 19", "dilations = [5, 12], pads = [15, 20, 5, 32]"},
	} {
		texts["Conv "+c.image+c.attrs] = fmt.Sprintf(`
  const @w f32[17, 16, 3, 3] = {%s}
  input %%x f32[%s]
  %%y ?[*] = Conv.11(%%x, @w) {%s}
  output %%y
`, weights(17*16*9), c.image, c.attrs)
	}
	for _, shape := range []string{"40, 61", "3, 16, 16", "17, 100", "31, 33"} {
		perm := "[1, 0]"
		if strings.Count(shape, ",") == 2 {
			perm = "[0, 2, 1]"
		}
		texts["bytes turned "+shape] = fmt.Sprintf(`
  input %%x u8[%s]
  %%y ?[*] = Transpose.13(%%x) {perm = %s}
  output %%y
`, shape, perm)
	}
	texts["sums of rows"] = fmt.Sprintf(`
  const @w i8[19, 5, 3, 3] = {%s}
  const @s f32[] = {0.25}
  const @xz u8[] = {21}
  const @wz i8[] = {3}
  const @ys f32[] = {64}
  const @yz u8[] = {100}
  input %%x u8[1, 5, 14, 21]
  %%y ?[*] = QLinearConv.10(%%x, @s, @xz, @w, @s, @wz, @ys, @yz) {pads = [1, 1, 1, 1]}
  output %%y
`, weights(19*5*9))
	return texts
}

// repeated is a tensor of a few small integers, again and again.
func repeated(t ir.DType, shape []int64) *ir.Tensor {
	x := ir.NewTensor(t, shape...)
	for i := range int(x.Len()) {
		switch n := i * 5 % 13; t {
		case ir.F32:
			binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(n-6)))
		case ir.I32:
			binary.LittleEndian.PutUint32(x.Data[4*i:], uint32(n-6))
		default:
			x.Data[i] = byte(n)
		}
	}
	return x
}

// TestEdges: such networks answer as the interpreter does, in loops for each kind of chip, and in C++ on those that the host can run.
func TestEdges(t *testing.T) {
	for _, name := range []string{"x86_64_v4_vnni", "x86_64_v3", "x86_64", "arm64"} {
		chip := chipstest.Target(t, name)
		var cases []cpptest.Case
		var wants []*ir.Tensor
		for label, text := range edges() {
			label = name + ": " + label
			g := irtest.Parse(t, text)
			shape, known := g.Inputs[0].Shape.Static()
			require.True(t, known)
			inputs := map[string]*ir.Tensor{"x": repeated(g.Inputs[0].Type, shape)}
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err, label)
			p, err := modeltest.CompileFor(irtest.Parse(t, text), chip, nil)
			require.NoError(t, err, label)
			got, err := run.Program(p, modeltest.InputsOf(p, inputs))
			require.NoError(t, err, label)
			assert.Equal(t, want[0].Data, got[0].Data, label)
			cases, wants = append(cases, cpptest.Case{Name: label, Program: p, Inputs: modeltest.InputsOf(p, inputs)}), append(wants, want[0])
		}
		sameCompiled(t, chip, cases, wants)
	}
}
