package winograd

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
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

// TestKept: kernels that sum the kernels that are kept, at each point of the transform, give what the block's stage gives; and their schedules are
// proved, and texts that give them again.
func TestKept(t *testing.T) {
	for name, text := range map[string]string{
		"whole tiles":                 "1, 32, 12, 12; 64, 32, 3, 3; pads = [1, 1, 1, 1]",
		"tiles that reach beyond":     "2, 32, 11, 13; 32, 32, 3, 3; pads = [1, 1, 1, 1]",
		"channels that fill no block": "1, 21, 8, 8; 37, 21, 3, 3; pads = [0, 1, 2, 0]",
		"one tile":                    "1, 48, 4, 4; 48, 48, 3, 3; pads = [1, 1, 1, 1]",
		"fewer filters than lanes":    "1, 32, 9, 8; 3, 32, 3, 3; pads = [1, 1, 1, 1]",
		"fewer channels than a block": "1, 3, 9, 8; 50, 3, 3, 3; pads = [1, 1, 1, 1]",
		"pads that tiles lie in":      "2, 32, 3, 4; 33, 32, 3, 3; pads = [5, 6, 7, 4]",
	} {
		for _, chip := range []string{"x86_64", "x86_64_v3", "x86_64_v4", "arm64"} {
			t.Run(name+", "+chip, func(t *testing.T) {
				b, env := contracttest.Convolution(t, ir.F32, text, chip, true)
				env.Pruned = weights.NewEncodings()
				contracttest.Drop(b, 3)
				x := ir.NewTensor(ir.F32, dims(t, b.Operands[0])...)
				r := rand.New(rand.NewPCG(1, 2))
				for i := range x.Len() {
					binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(r.Float32()*2-1))
				}
				want, err := interp.Eval([]*te.Stage{b.Stage}, []te.Source{{Stage: true}}, []*ir.Tensor{x, b.Operands[1].Const}, nil)
				require.NoError(t, err)
				ls, err := Kept(b, env)
				require.NoError(t, err)
				require.NotEmpty(t, ls)
				seen := map[int]bool{}
				for _, l := range ls {
					seen[l.Packing.Results] = true
					require.NoError(t, l.Check(), "%s", l.Schedule)
					again, err := sched.Parse(l.Schedule.String())
					require.NoError(t, err)
					require.Equal(t, l.Schedule.String(), again.String())
					got := computed(t, b, l, env.Layouts, x)
					for i := range got.Len() {
						require.InDelta(t, element(want[0].Data, i), element(got.Data, i), 2e-4, "element %d of %s\n%s", i, l.Name, l.Schedule)
					}
				}
				sizes := map[int]bool{}
				for _, m := range sizesOf(env.Target) {
					sizes[m] = true
				}
				assert.Equal(t, sizes, seen, "transforms")
			})
		}
	}
}

// computed runs a kernel of values in blocks of channels.
func computed(t *testing.T, b *block.Block, l *lower.Lowered, lay lower.Layouts, x *ir.Tensor) *ir.Tensor {
	stored := func(v *ir.Value) []byte {
		n, known := layout.PartsOf(lay(v), len(v.Shape)).Elements(v.Shape).Const()
		require.True(t, known)
		return make([]byte, 4*n)
	}
	operand, result := stored(b.Operands[0]), stored(b.Results[0])
	eachBlocked(t, b.Operands[0], lay, func(at, logical int64) { copy(operand[4*at:4*at+4], x.Data[4*logical:]) })
	contracttest.Run(t, b, l, operand, result)
	y := ir.NewTensor(ir.F32, dims(t, b.Results[0])...)
	eachBlocked(t, b.Results[0], lay, func(at, logical int64) { copy(y.Data[4*logical:4*logical+4], result[4*at:]) })
	return y
}

// eachBlocked calls f with where each element of an image is stored, in blocks of channels, and where row-major values have it.
func eachBlocked(t *testing.T, v *ir.Value, lay lower.Layouts, f func(at, logical int64)) {
	d, n := dims(t, v), lay(v).Along(1)
	blocks := (d[1] + n - 1) / n
	for i := range d[0] * d[1] * d[2] * d[3] {
		image, channel, pixel := i/(d[1]*d[2]*d[3]), i/(d[2]*d[3])%d[1], i%(d[2]*d[3])
		f(((image*blocks+channel/n)*d[2]*d[3]+pixel)*n+channel%n, i)
	}
}

func dims(t *testing.T, v *ir.Value) []int64 {
	d, known := v.Shape.Static()
	require.True(t, known)
	return d
}

func element(data []byte, i int64) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
}

// TestKeptOrNone: there are kernels where enough whole kernels are dropped by as many filters as fill registers, and no others.
func TestKeptOrNone(t *testing.T) {
	const text = "1, 32, 12, 12; 32, 32, 3, 3; pads = [1, 1, 1, 1]"
	for name, c := range map[string]struct {
		text   string
		change func(b *block.Block, env *lower.Env)
		want   bool
	}{
		"one in three":            {text, func(b *block.Block, _ *lower.Env) { contracttest.Drop(b, 3) }, true},
		"patterns of all kernels": {text, func(b *block.Block, _ *lower.Env) { contracttest.Prune(b, 4) }, false},
		"none":                    {text, func(b *block.Block, _ *lower.Env) { contracttest.Drop(b, 1) }, false},
		"nobody looks": {text, func(b *block.Block, env *lower.Env) {
			contracttest.Drop(b, 3)
			env.Pruned = nil
		}, false},
		"packed dense": {text, func(b *block.Block, env *lower.Env) {
			contracttest.Drop(b, 3)
			env.Packing = &weights.Packing{Lanes: 16, Groups: 2, Results: 4, Parts: 1, Type: ir.F32}
		}, false},
		"packed as these are": {text, func(b *block.Block, env *lower.Env) {
			contracttest.Drop(b, 3)
			ls, err := Kept(b, env)
			require.NoError(t, err)
			env.Packing = ls[0].Packing
		}, true},
		"strides": {"1, 32, 12, 12; 32, 32, 3, 3; pads = [1, 1, 1, 1], strides = [2, 2]", func(b *block.Block, _ *lower.Env) { contracttest.Drop(b, 3) }, false},
		"planes":  {"1, 32, 4, 9, 8; 32, 32, 3, 3, 3; pads = [1, 1, 1, 1, 1, 1]", func(b *block.Block, _ *lower.Env) { contracttest.Drop(b, 3) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, env := contracttest.Convolution(t, ir.F32, c.text, "x86_64_v4", true)
			env.Pruned = weights.NewEncodings()
			c.change(b, env)
			ls, err := Kept(b, env)
			require.NoError(t, err)
			assert.Equal(t, c.want, len(ls) > 0)
		})
	}
}

// TestKeptArrays: the constant has each kept kernel's transform at every point, those of a point one after the other; read in parts of any size it is the same.
func TestKeptArrays(t *testing.T) {
	b, env := contracttest.Convolution(t, ir.F32, "1, 40, 12, 12; 32, 40, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true)
	env.Pruned = weights.NewEncodings()
	contracttest.Drop(b, 4)
	all, err := keptFilterings(b, env)
	require.NoError(t, err)
	for _, w := range all {
		t.Run(fmt.Sprintf("%s, shared by %d", w.f, w.enc.Share), func(t *testing.T) {
			arrays, err := w.keptArrays()
			require.NoError(t, err)
			values, err := arrays[4].Const.Bytes()
			require.NoError(t, err)
			reorder, err := arrays[1].Const.Bytes()
			require.NoError(t, err)
			offset, err := arrays[0].Const.Bytes()
			require.NoError(t, err)
			index, err := arrays[2].Const.Bytes()
			require.NoError(t, err)
			filter, taps, points := w.f.Filter(), make([]float32, 9), make([]float32, w.points)
			_, plane := w.enc.Elements()
			for g := range int64(len(reorder) / 2) {
				first, end := binary.LittleEndian.Uint32(offset[4*g:]), binary.LittleEndian.Uint32(offset[4*g+4:])
				for k := int64(first); k < int64(end); k++ {
					for x := range w.enc.Share {
						f, c := int64(binary.LittleEndian.Uint16(reorder[2*g:]))*w.enc.Share+x, int64(binary.LittleEndian.Uint16(index[2*k:]))
						for i := range taps {
							taps[i] = float32(element(b.Operands[1].Const.Data, (f*40+c)*9+int64(i)))
						}
						filter.Apply(points, taps, 0, w.f.Points())
						for q, want := range points {
							require.Equal(t, want, float32(element(values, int64(q)*plane+k*w.enc.Share+x)), "point %d of filter %d, channel %d", q, f, c)
						}
					}
				}
			}
			for _, at := range []int{0, 4, 4 * int(plane), len(values) - 64} {
				part := make([]byte, 64)
				require.NoError(t, arrays[4].Const.ReadBytes(part, int64(at)))
				require.Equal(t, values[at:at+64], part)
			}
		})
	}
	assert.Len(t, all, 4, "two transforms, shared by 16 and by 32")
}

// TestKeptReads: what is written of a large constant reads the weights once for each row of points, as many as a transform has.
func TestKeptReads(t *testing.T) {
	b, env := contracttest.Convolution(t, ir.F32, "1, 768, 12, 12; 1024, 768, 3, 3; pads = [1, 1, 1, 1]", "x86_64_v4", true)
	env.Pruned = weights.NewEncodings()
	contracttest.Drop(b, 2)
	read, data := int64(0), b.Operands[1].Const.Data
	b.Operands[1].Const = ir.Computed(ir.F32, b.Operands[1].Const.Shape, 1, func(out []byte, first int64) error {
		read += int64(len(out))
		copy(out, data[4*first:])
		return nil
	})
	all, err := keptFilterings(b, env)
	require.NoError(t, err)
	for _, w := range all {
		if w.enc.Share > 16 {
			continue
		}
		arrays, err := w.keptArrays()
		require.NoError(t, err)
		read = 0
		_, err = arrays[4].Const.WriteTo(io.Discard)
		require.NoError(t, err)
		times := float64(read) / float64(len(data))
		assert.LessOrEqual(t, times, 3*float64(w.f.Points()), "%s: batches of kernels end within filters, which are read again", w.f)
	}
}
