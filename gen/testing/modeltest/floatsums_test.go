package modeltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/hostcpu"
)

// biasedDepthwise is a quantized depthwise convolution between two of single taps, whose channels lie last, with a bias.
func biasedDepthwise(channels, taps, stride, zero int, bias int64) string {
	conv := func(name, from string, attrs string) string {
		return fmt.Sprintf("  %%%s ?[*] = QLinearConv.10(%%%s, @s, @z, @%sw, @s, @wz, @t, @z, @%sb) {%s}\n", name, from, name, name, attrs)
	}
	biases := func(name string, n int, b int64) string {
		return fmt.Sprintf("  const @%s i32[%d] = {%s}\n", name, n, strings.Repeat(fmt.Sprint(b)+", ", n-1)+fmt.Sprint(-b))
	}
	return fmt.Sprintf("  input %%x u8[1, 16, 14, 14]\n  const @s f32[] = {0.03}\n  const @t f32[] = {0.9}\n  const @z u8[] = {%d}\n  const @wz i8[] = {0}\n", zero) +
		bytesOf("aw", channels, 16, 1, 1) + bytesOf("bw", channels, 1, taps, taps) + bytesOf("cw", 16, channels, 1, 1) +
		biases("ab", channels, 100) + biases("bb", channels, bias) + biases("cb", 16, 7) +
		conv("a", "x", "group = 1") + conv("b", "a", fmt.Sprintf("group = %d, strides = [%d, %d], pads = [1, 1, 1, 1]", channels, stride, stride)) + conv("c", "b", "group = 1") + "  output %c\n"
}

// sumsInFloats reports whether a program sums products of integers in tiles of floats.
func sumsInFloats(p *plan.Program) bool {
	found := false
	for _, c := range p.Calls() {
		loop.Tiles(c.Kernel.Body, func(x loop.Tile) { found = found || x.Micro.Instr.Acc == ir.F32 })
	}
	return found
}

// TestFloatSums: where no instruction multiplies bytes, depthwise convolutions are summed in floats if these have all sums, and give the bytes of sums of
// integers.
func TestFloatSums(t *testing.T) {
	const most = 1 << 23
	var cases []cpptest.Case
	var flags []string
	var wants [][]*ir.Tensor
	for _, c := range []struct {
		channels, taps, stride, zero int
		bias                         int64
		floats                       bool
	}{
		{32, 3, 1, 0, 100000, true}, {32, 3, 1, 7, most, true}, {32, 3, 2, 7, 5000, true}, {40, 5, 1, 255, 3, true}, {27, 3, 1, 9, 3, true},
		{32, 3, 1, 7, most + 1, false},
	} {
		for chip, few := range map[string]bool{"x86_64": false, "x86_64_v3": true, "x86_64_v4": true, "x86_64_v4_vnni": false, "arm64": false} {
			text, name := biasedDepthwise(c.channels, c.taps, c.stride, c.zero, c.bias), fmt.Sprint(c, chip)
			g := irtest.Parse(t, text)
			r := rand.New(rand.NewPCG(5, 6))
			x := ir.NewTensor(ir.U8, 1, 16, 14, 14)
			for i := range x.Data {
				x.Data[i] = byte(r.IntN(256))
			}
			inputs := map[string]*ir.Tensor{"x": x}
			require.NoError(t, simplify.RunBut(g, islands.Keeps))
			islands.Run(g)
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err, name)
			on, err := Chip(chip)
			require.NoError(t, err)
			p, err := CompileFor(irtest.Parse(t, text), on, nil)
			require.NoError(t, err, name)
			got, err := run.Program(p, InputsOf(p, inputs))
			require.NoError(t, err, name)
			require.Equal(t, want[0].Data, got[0].Data, name)
			assert.Equal(t, c.floats && few, sumsInFloats(p), name)
			if chip == "x86_64_v3" {
				flags, cases, wants = on.Copts, append(cases, cpptest.Case{Name: name, Program: p, Inputs: InputsOf(p, inputs)}), append(wants, want)
			}
		}
	}
	if !hostcpu.Has("avx2", "fma") {
		return // kernels for AVX2 do not run here
	}
	for i, got := range cpptest.Run(t, "../../..", cases, append(flags, "-O1", "-ffp-contract=fast")...) {
		require.Zero(t, got.Status, cases[i].Name)
		assert.Equal(t, wants[i][0].Data, got.Outputs[0].Data, cases[i].Name)
	}
}
