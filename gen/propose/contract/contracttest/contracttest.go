// Package contracttest has contractions for tests of what proposes kernels of them, and tests of what all of these have in common.
package contracttest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	looprun "rules_dnn/gen/program/run"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
)

// Contractions of each kind: X, W, and the attributes of a Conv.
var Contractions = map[string]string{
	"one point":           "1, 32, 9, 9; 40, 32, 1, 1; ",
	"windows":             "1, 32, 30, 30; 24, 32, 3, 3; pads = [1, 1, 1, 1]",
	"runs":                "1, 64, 14, 14; 512, 64, 1, 1; strides = [2, 2]",
	"bands":               "1, 16, 32, 32; 16, 16, 3, 3; pads = [1, 1, 1, 1]",
	"depthwise":           "1, 32, 30, 30; 32, 1, 3, 3; group = 32, pads = [1, 1, 1, 1]",
	"groups":              "1, 96, 14, 14; 72, 24, 3, 3; group = 4, pads = [1, 1, 1, 1]",
	"groups in blocks":    "1, 48, 14, 14; 48, 12, 3, 3; group = 4, pads = [1, 1, 1, 1]",
	"a vector":            "1, 64, 1, 1; 130, 64, 1, 1; ",
	"width of the run":    "1, 32, 9, N; 40, 32, 3, 3; pads = [1, 1, 1, 1]",
	"pixels of the run":   "1, 32, M, N; 40, 32, 1, 1; ",
	"channels in no tile": "1, 20, 30, 30; 20, 20, 3, 3; pads = [1, 1, 1, 1]",
}

// Convolution is a block that is one, by the shapes of X and W, attributes, and a shape of B, if it has one; and its surroundings.
func Convolution(t testing.TB, typ ir.DType, text, chipName string, blocked bool) (*block.Block, *lower.Env) {
	t.Helper()
	parts := strings.Split(text, "; ")
	x, w, attrs := parts[0], parts[1], parts[2]
	bias, operand := "", ""
	if len(parts) > 3 {
		bias, operand = fmt.Sprintf("  input %%w2 %s[%s]\n", typ, parts[3]), ", %w2"
	}
	g := irtest.Parse(t, fmt.Sprintf("  symbol M 1..64\n  symbol N 1..64\n  input %%x %s[%s]\n  input %%w %s[%s]\n%s  %%y ?[*] = Conv.11(%%x, %%w%s) {%s}\n  output %%y\n", typ, x, typ, w, bias, operand, attrs))
	require.NoError(t, shape.Infer(g))
	bs, err := block.Form(g)
	require.NoError(t, err)
	b := bs.Blocks[0]
	for _, v := range b.Operands {
		if v.Name == "w" || v.Name == "w2" {
			dims, _ := v.Shape.Static()
			v.Const = ir.NewTensor(typ, dims...)
		}
	}
	chip := lowertest.Chip(t, chipName)
	lay := func(v *ir.Value) layout.Layout {
		if blocked && v.Const == nil {
			return layout.Blocked(1, chip.ChannelBlock())
		}
		return layout.RowMajor
	}
	facts := sym.Facts{"M": {Lo: 1, Hi: 64}, "N": {Lo: 1, Hi: 64}}
	return b, &lower.Env{Options: lower.Options{Contractions: true, Windows: true, Vectors: true}, Layouts: lay, Symbols: facts, Target: chip}
}

// Prune keeps so many taps of each kernel, the same ones for 16 neighbouring filters.
func Prune(b *block.Block, kept int64) {
	w := b.Operands[1].Const
	inner := w.Shape[2] * w.Shape[3]
	for i := range w.Len() {
		kernel, tap := i/inner, i%inner
		first := kernel/w.Shape[1]/16 + kernel%w.Shape[1]
		if (tap+first)%inner < kept {
			w.Data[4*i+3] = 0x3f
		}
	}
}

// Drop keeps one in so many kernels whole, the same ones for 16 neighbouring filters, with numbers from 1/16 to 1.
func Drop(b *block.Block, every int64) {
	w := b.Operands[1].Const
	inner := w.Shape[2] * w.Shape[3]
	for i := range w.Len() {
		kernel := i / inner
		if (kernel%w.Shape[1]+kernel/w.Shape[1]/16)%every == 0 {
			binary.LittleEndian.PutUint32(w.Data[4*i:], math.Float32bits(float32(1+(7*i+kernel)%16)/16))
		}
	}
}

// Elements is how many a tensor of such sizes has.
func Elements(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// Run runs a kernel of a block's first operand, as it is stored, and of constants; result has what it stores of the first result.
func Run(t testing.TB, b *block.Block, l *lower.Lowered, operand, result []byte) {
	t.Helper()
	require.NoError(t, l.Make())
	require.NoError(t, loop.Verify(l.Kernel))
	args, err := l.Args()
	require.NoError(t, err)
	var buffers [][]byte
	for _, v := range args {
		data := map[*ir.Value][]byte{b.Operands[0]: operand, b.Results[0]: result}[v]
		if v.Const != nil {
			data, err = v.Const.Bytes()
			require.NoError(t, err)
		}
		buffers = append(buffers, data)
	}
	for _, s := range l.Kernel.Scratch {
		n, known := s.Size.Const()
		require.True(t, known)
		buffers = append(buffers, make([]byte, n*int64(s.Type.Size())))
	}
	k, err := looprun.Compile(l.Kernel, nil)
	require.NoError(t, err)
	require.NoError(t, k.Start(buffers...))
	require.NoError(t, k.Run(0, k.Tasks()), "%s", l.Schedule)
	require.NoError(t, k.Finish())
}
