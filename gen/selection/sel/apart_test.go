package sel

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// layer is a block whose best kernel takes so many cycles and reads so many bytes of weights, and that loses some by reading others.
type layer struct {
	cycles, loss float64
	bytes        int64
	times        float64
}

// separated are the layers, by their numbers, that get weights of their own, and what the rest lose as a part of all.
func separated(layers ...layer) (own []int, lost float64) {
	a, kernels, blocks := &apart{}, map[*block.Block]Kernel{}, []*block.Block{}
	kernel := func(cycles float64, bytes int64) Kernel {
		weights := &loop.Buffer{Type: ir.U8, Size: sym.Const(bytes), Const: true}
		values := &loop.Buffer{Type: ir.F32, Size: sym.Const(1 << 40)}
		return Kernel{Lowered: &lower.Lowered{Kernel: &loop.Kernel{Buffers: []*loop.Buffer{values, weights}}}, Cycles: cycles}
	}
	for _, l := range layers {
		b, times := &block.Block{}, max(1, l.times)
		kernels[b] = kernel(l.cycles+l.loss, 1)
		a.add(b, kernels[b], kernel(l.cycles, l.bytes), times)
		blocks = append(blocks, b)
	}
	a.choose(kernels)
	least := 0.0
	for i, b := range blocks {
		times := max(1, layers[i].times)
		least += layers[i].cycles * times
		if kernels[b].Cycles == layers[i].cycles && layers[i].loss > 0 {
			own = append(own, i)
		} else {
			lost += layers[i].loss * times
		}
	}
	return own, lost / least
}

// TestApart: weights of their own have the layers that gain the most for them, and no more than it takes to lose little in all.
func TestApart(t *testing.T) {
	for name, c := range map[string]struct {
		layers []layer
		want   []int
	}{
		"nothing is lost":              {[]layer{{cycles: 100, bytes: 9}, {cycles: 100, bytes: 9}}, nil},
		"much in a layer of few":       {[]layer{{cycles: 1, loss: 1, bytes: 1}, {cycles: 100, bytes: 1}}, nil},
		"much":                         {[]layer{{cycles: 50, loss: 10, bytes: 1}, {cycles: 50, bytes: 1}}, []int{0}},
		"little, in many layers":       {[]layer{{cycles: 30, loss: 3, bytes: 1}, {cycles: 30, loss: 3, bytes: 1}, {cycles: 40, loss: 3, bytes: 1}}, []int{0, 1}},
		"as much, for fewer bytes":     {[]layer{{cycles: 50, loss: 5, bytes: 100}, {cycles: 50, loss: 5, bytes: 10}}, []int{1}},
		"more, for more bytes":         {[]layer{{cycles: 50, loss: 4, bytes: 10}, {cycles: 50, loss: 5, bytes: 11}}, []int{1}},
		"the large one makes it right": {[]layer{{cycles: 50, loss: 2, bytes: 1}, {cycles: 50, loss: 9, bytes: 100}}, []int{1}},
		"in a loop":                    {[]layer{{cycles: 1, loss: 0.5, bytes: 10, times: 100}, {cycles: 50, loss: 4, bytes: 1}}, []int{0}},
	} {
		own, lost := separated(c.layers...)
		assert.Equal(t, c.want, own, name)
		assert.LessOrEqual(t, lost, mostLost+1e-9, name)
	}
}

// TestApartIsEnough: of any layers the rest lose little enough, and none has weights of its own that could share.
func TestApartIsEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := 0
	for range 300 {
		var layers []layer
		for range 1 + r.IntN(20) {
			layers = append(layers, layer{cycles: 1 + r.Float64(), loss: max(0, 0.3*r.NormFloat64()), bytes: 1 + r.Int64N(1000)})
		}
		own, lost := separated(layers...)
		require.LessOrEqual(t, lost, mostLost+1e-9)
		some += len(own)
		least := 0.0
		for _, l := range layers {
			least += l.cycles
		}
		for _, i := range own {
			require.Greater(t, lost+layers[i].loss/least, mostLost-1e-9, "layer %d of %+v", i, layers)
		}
	}
	require.Positive(t, some)
}

// TestVariantLosesLittle: a variant reads the weights of the choice's own kernels, unless that costs much; the least capable one reads them always.
func TestVariantLosesLittle(t *testing.T) {
	library, err := target.Library([]*target.Target{chipstest.Target(t, "x86_64_v3"), chipstest.Target(t, "x86_64_v4")})
	require.NoError(t, err)
	graph := filters("a", 64, 64, 3, 3) + `
  input %x f32[1, 64, 28, 28]
  %v f32[1, 64, 28, 28] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %w f32[1, 64, 28, 28] = Conv.11(%v, @a) {pads = [1, 1, 1, 1]}
  %y f32[1, 64, 28, 28] = Conv.11(%w, @a) {pads = [1, 1, 1, 1]}
  output %y
`
	lost := map[bool]float64{}
	for _, share := range []bool{true, false} {
		g := fused(t, graph)
		c, err := Run(g, library[1], all) // whose weights are not transformed, as Winograd's are
		require.NoError(t, err)
		require.NoError(t, c.Variant(g, library[0], tuned, share))
		taken, least := 0.0, 0.0
		s := newSelector(g, library[0], tuned)
		for b, own := range c.Kernels {
			_, best, err := s.beside(b, own, func(v *ir.Value) layout.Layout { return c.Layouts[v] })
			require.NoError(t, err)
			k := c.Others[0][b]
			taken, least = taken+k.Cycles, least+best.Cycles
			if share && own.Packing != nil {
				assert.True(t, k.SamePacking)
			}
		}
		lost[share] = taken/least - 1
	}
	assert.Greater(t, lost[true], mostLost, "of this graph, which should show something")
	assert.LessOrEqual(t, lost[false], mostLost)
}
