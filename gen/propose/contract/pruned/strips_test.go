package pruned

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/contract/contracttest"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
)

// TestStripsCompute: kernels of pruned weights whose tasks have strips of columns give what the block's stage gives, at the edges of strips, of blocks
// and of images, too.
func TestStripsCompute(t *testing.T) {
	for _, c := range []struct {
		chip, graph string
		l2          int64 // so little that what a tile reads is much of it
	}{
		{"x86_64_v4", "1, 8, 56, 56; 10, 8, 3, 3; pads = [1, 1, 1, 1]", 52 << 10},
		{"x86_64_v4", "2, 9, 56, 56; 7, 9, 3, 3; pads = [2, 0, 0, 2]", 56 << 10},
		{"x86_64_v3", "1, 8, 56, 56; 10, 8, 3, 3; pads = [1, 1, 1, 1]", 13 << 10},
		{"arm64", "2, 8, 56, 56; 10, 8, 3, 3; pads = [1, 1, 1, 1]", 6 << 10},
	} {
		b, env := contracttest.Convolution(t, ir.F32, c.graph, c.chip, false)
		env.Pruned, env.Tiles, env.Target.L2 = weights.NewEncodings(), 100, c.l2
		r := rand.New(rand.NewPCG(1, 2))
		contracttest.Prune(b, 4)
		w := b.Operands[1].Const
		for i := range w.Len() {
			if w.Data[4*i+3] != 0 {
				random(w.Data, i, r)
			}
		}
		x := ir.NewTensor(ir.F32, knownDims(t, b.Operands[0])...)
		for i := range x.Len() {
			random(x.Data, i, r)
		}
		want, err := interp.Eval([]*te.Stage{b.Stage}, []te.Source{{Stage: true}}, []*ir.Tensor{x, w}, nil)
		require.NoError(t, err)

		layouts := map[*ir.Value]layout.Layout{}
		require.NoError(t, PixelLayouts(b, env, func(v *ir.Value, l layout.Layout) { layouts[v] = l }))
		env.Layouts = func(v *ir.Value) layout.Layout { return layouts[v] }
		ls, err := Apart(b, env)
		require.NoError(t, err)
		strips := 0
		for _, l := range ls {
			if !slices.ContainsFunc(l.Schedule.Stages[1].Loops, func(x sched.Loop) bool { return x.Var == stripVar }) {
				continue
			}
			strips++
			got := computedApart(t, b, l, x)
			for i := range want[0].Len() {
				require.InDelta(t, elementAt(want[0].Data, i), elementAt(got.Data, i), 1e-5, "element %d of %s for %s\n%s", i, l.Name, c.chip, l.Schedule)
			}
		}
		assert.Positive(t, strips, "kernels for %s of %s, of %d", c.chip, c.graph, len(ls))
	}
}

// computedApart runs a kernel of which x and the results lie apart.
func computedApart(t *testing.T, b *block.Block, l *lower.Lowered, x *ir.Tensor) *ir.Tensor {
	y := ir.NewTensor(ir.F32, knownDims(t, b.Results[0])...)
	operand, result := make([]byte, len(x.Data)), make([]byte, len(y.Data))
	eachApart(t, b.Operands[0], l, func(stored, logical int64) { copy(operand[4*stored:4*stored+4], x.Data[4*logical:]) })
	contracttest.Run(t, b, l, operand, result)
	eachApart(t, b.Results[0], l, func(stored, logical int64) { copy(y.Data[4*logical:4*logical+4], result[4*stored:]) })
	return y
}

// eachApart calls f with where each element is stored and where row-major values have it: a pixel of every block of an image after the other, of the same place in it.
func eachApart(t *testing.T, v *ir.Value, l *lower.Lowered, f func(stored, logical int64)) {
	d := knownDims(t, v)
	of, ok := cut(v.Shape, l.Tiles[1].Lanes())
	require.True(t, ok)
	for image := range d[0] * d[1] {
		for row := range d[2] {
			for column := range d[3] {
				block := row/of.Rows*of.Across + column/of.Columns
				f(((image*of.Rows+row%of.Rows)*of.Columns+column%of.Columns)*of.Lanes+block, (image*d[2]+row)*d[3]+column)
			}
		}
	}
}

func knownDims(t *testing.T, v *ir.Value) []int64 {
	dims, known := v.Shape.Static()
	require.True(t, known)
	return dims
}

func random(data []byte, i int64, r *rand.Rand) {
	binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(r.Float32()*2-1))
}

func elementAt(data []byte, i int64) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
}
