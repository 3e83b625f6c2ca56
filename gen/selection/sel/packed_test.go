package sel

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/selection/pbqp"
	"rules_dnn/gen/target/chips/chipstest"
)

// Kernels by what they make of pruned weights.
var (
	denseWeights = &weights.Packing{Lanes: 16}
	winogradOf   = &weights.Packing{Lanes: 16, Results: 4}
	packedOf     = &weights.Packing{Lanes: 16, Kept: "fkw of 10 kernels shared by 16 1b"}
	// unionOf stores what any of the filters of a register keeps: 1,440 weights in the place of 640.
	unionOf = &weights.Packing{Lanes: 16, Kept: "fkw of 10 kernels shared by 16 1ff"}
	// winogradOfKept stores the transforms of what was kept.
	winogradOfKept = &weights.Packing{Lanes: 16, Kept: "fkw of 10 kernels by 36 planes shared by 16 1", Results: 4}
)

func stores(p *weights.Packing, cycles float64, on ...float64) Kernel {
	return Kernel{Lowered: &lower.Lowered{Packing: p}, Cycles: cycles, on: on}
}

// TestTenth: beside a kernel that packs pruned weights others have to be faster by a tenth, also on the one of several processors that loses most; where
// there is none, nothing counts but time.
func TestTenth(t *testing.T) {
	s := &selector{}
	for name, c := range map[string]struct {
		ks   []Kernel
		best int
	}{
		"less than a tenth faster":         {[]Kernel{stores(packedOf, 100), stores(denseWeights, 92)}, 0},
		"Winograd, less than a tenth":      {[]Kernel{stores(packedOf, 100), stores(winogradOf, 92)}, 0},
		"weights as the network has them":  {[]Kernel{stores(packedOf, 100), stores(nil, 92)}, 0},
		"transforms of what is kept":       {[]Kernel{stores(winogradOfKept, 92), stores(packedOf, 100)}, 1},
		"a tenth faster":                   {[]Kernel{stores(packedOf, 100), stores(denseWeights, 90), stores(winogradOf, 89)}, 2},
		"of others the fastest":            {[]Kernel{stores(denseWeights, 100), stores(nil, 93), stores(winogradOf, 92)}, 2},
		"none packs what it transforms":    {[]Kernel{stores(winogradOfKept, 93), stores(denseWeights, 92)}, 1},
		"of such as pack the fastest":      {[]Kernel{stores(packedOf, 100), stores(packedOf, 99), stores(denseWeights, 98)}, 1},
		"a tenth on one of two processors": {[]Kernel{stores(packedOf, 100, 100, 100), stores(denseWeights, 92, 80, 104)}, 0},
		"a tenth on both":                  {[]Kernel{stores(packedOf, 100, 100, 100), stores(denseWeights, 88, 88, 88)}, 1},
	} {
		want := c.ks[c.best].Lowered
		assert.Same(t, want, best(s.packed(&block.Block{}, c.ks)).Lowered, name)
	}
	b := &block.Block{Origins: []string{"Conv \"a\"", "Relu \"b\""}}
	s.o.Packed = map[string]bool{"Conv \"a\"": true}
	assert.Len(t, s.packed(b, []Kernel{stores(packedOf, 100), stores(denseWeights, 1), stores(winogradOfKept, 1), stores(unionOf, 1)}), 1, "nothing else is left where that is asked for")
	assert.Len(t, s.packed(b, []Kernel{stores(denseWeights, 1), stores(unionOf, 1)}), 1, "nothing packs fewer")
	assert.Len(t, s.packed(b, []Kernel{stores(denseWeights, 1), stores(winogradOfKept, 1)}), 2, "all are left where none packs")
}

// TestTenthElsewhere: kernels that pack weights in other layouts count, too, those of another space do not; what is told of a choice is what its kernels take.
func TestTenthElsewhere(t *testing.T) {
	packs, dense := assigned{cycles: 100, packs: true, packable: true}, assigned{cycles: 92}
	device := assigned{cycles: 92, space: layout.Device}
	c := &class{best: []assigned{packs, dense, device}}
	assert.Zero(t, c.over(packs, false))
	assert.InDelta(t, 9.2, c.over(dense, false), 1e-9)
	assert.Zero(t, c.over(device, true), "nothing packs weights there")
	assert.True(t, c.over(dense, true) > 1e300, "none but such as pack weights are wanted")
	few, many := assign(stores(packedOf, 100)), assign(stores(unionOf, 1))
	few.packable, many.packable = true, true
	assert.Zero(t, (&class{best: []assigned{few, many}}).over(few, true))
	assert.Zero(t, (&class{best: []assigned{few, many}}).over(many, false))
	assert.True(t, (&class{best: []assigned{few, many}}).over(many, true) > 1e300, "it stores more than twice as many weights")
	assert.Zero(t, (&class{best: []assigned{many, dense}}).over(many, true), "nothing packs fewer")
	c.best = c.best[1:]
	assert.Zero(t, c.over(dense, true), "nothing packs these weights")
	c.best = append(c.best, assigned{cycles: 95, packable: true})
	assert.InDelta(t, 9.2, c.over(dense, false), 1e-9, "a kernel that is not the best one in its layouts")
}

// TestTenthOfPools: a kernel that pools, too, counts beside that of the contraction by itself.
func TestTenthOfPools(t *testing.T) {
	pooling := stores(nil, 10)
	for _, c := range []struct {
		k, sums    Kernel
		less, only bool
	}{
		{stores(denseWeights, 101), stores(denseWeights, 100), true, true},
		{stores(denseWeights, 101), stores(packedOf, 100), false, false},
		{stores(denseWeights, 99), stores(packedOf, 100), true, false},
		{stores(packedOf, 108), stores(denseWeights, 90), true, true},
		{stores(packedOf, 110), stores(denseWeights, 90), false, false},
		{stores(unionOf, 90), stores(packedOf, 100), true, false},
	} {
		if c.k.packs() {
			c.k.packable = true
		}
		assert.Equal(t, c.less, c.k.countsLess(c.sums, pooling, false), "%.0f cycles beside %.0f and 10", c.k.Cycles, c.sums.Cycles)
		assert.Equal(t, c.only, c.k.countsLess(c.sums, pooling, true), "%.0f cycles beside %.0f and 10, packed weights wanted", c.k.Cycles, c.sums.Cycles)
	}
}

func TestTakeOver(t *testing.T) {
	g := fused(t, twoConvolutions())
	s := newSelector(g, chipstest.Target(t, "x86_64_v4"), tuned)
	require.NoError(t, s.enumerate())
	p := &pbqp.Solution{Choice: make([]int, len(s.blocks)), Cost: 100, Bound: 90}
	s.takeOver(p)
	assert.InDelta(t, 100, p.Cost, 0, "weights that were not pruned")
	s.candidates[0][0].over, s.runs[s.blocks[0].Results[0]] = 3, 5
	s.takeOver(p)
	assert.InDelta(t, 85, p.Cost, 0)
	assert.InDelta(t, 75, p.Bound, 0)
}

// patterned is two convolutions of equal weights, whose patterns of 4 taps 16 filters share, of all kernels: Winograd takes fewer products.
func patterned() string {
	keep := func(f, _, tap int) bool {
		return f/16%2 == 0 && tap%3 < 2 && tap < 6 || f/16%2 == 1 && tap%3 > 0 && tap > 2
	}
	return kept("a", 64, keep) + `
  input %x f32[1, 64, 56, 56]
  %p f32[1, 64, 56, 56] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %q f32[1, 64, 56, 56] = Conv.11(%p, @a) {pads = [1, 1, 1, 1]}
  %y f32[1, 64, 28, 28] = MaxPool.12(%q) {kernel_shape = [2, 2], strides = [2, 2]}
  output %y
`
}

// convolutions are what the kernels of a choice's convolutions make of their weights, in the network's order, and the nodes' labels.
func convolutions(t *testing.T, o Options) (packs []bool, nodes []string, c *Choice) {
	t.Helper()
	g := fused(t, patterned())
	c, err := Run(g, chipstest.Target(t, "x86_64_v4"), o)
	require.NoError(t, err)
	for _, b := range g.Blocks {
		if b.Ops[0] == "Conv" {
			packs, nodes = append(packs, c.Kernels[b].packs()), append(nodes, b.Origins[0])
		}
	}
	return packs, nodes, c
}

// TestPacked: what is asked for of a node is asked for of its block alone, also where a block is equal to it or computes a pooling, too.
func TestPacked(t *testing.T) {
	o := tuned
	o.Pruned = weights.NewEncodings()
	packs, nodes, c := convolutions(t, o)
	require.Len(t, nodes, 2)
	require.Equal(t, []bool{false, false}, packs, "Winograd is faster by more than a tenth")
	fastest, sum := c.Solution.Cost, 0.0
	for _, k := range c.Kernels {
		sum += k.Cycles
	}
	assert.InEpsilon(t, sum, fastest, 1e-9, "what it says to take is what kernels take, not how much they count")
	o.Pooled = true
	for _, want := range [][]bool{{true, false}, {false, true}, {true, true}} {
		o.Packed = map[string]bool{}
		for i, packed := range want {
			o.Packed[nodes[i]] = packed
		}
		packs, _, c = convolutions(t, o)
		assert.Equal(t, want, packs)
		assert.Greater(t, c.Solution.Cost, fastest)
	}
	o.Pruned = nil
	packs, _, _ = convolutions(t, o)
	assert.Equal(t, []bool{false, false}, packs, "there are no such kernels where pruned weights are not looked for")
}

// TestPackedStoresWhatIsLeft: where packed weights are asked for, no kernel stores more than twice what is left, as registers of 16 filters do of which two groups of 8
// keep other weights, and are faster in small images.
func TestPackedStoresWhatIsLeft(t *testing.T) {
	left := int64(0)
	text := kept("a", 64, func(f, c, tap int) bool {
		is := (f/8+c)%8 < 2 && (f/8+tap)%2 == 0 && tap > 0
		if is {
			left++
		}
		return is
	}) + `
  input %x f32[1, 64, 8, 8]
  %y f32[1, 64, 8, 8] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  output %y
`
	require.Positive(t, left)
	for _, only := range []bool{false, true} {
		g := fused(t, text)
		o := tuned
		o.Pruned, o.Packed = weights.NewEncodings(), map[string]bool{g.Blocks[0].Origins[0]: only}
		c, err := Run(g, chipstest.Target(t, "x86_64_v4"), o)
		require.NoError(t, err)
		i := slices.IndexFunc(g.Blocks, func(b *block.Block) bool { return b.Ops[0] == "Conv" })
		k := c.Kernels[g.Blocks[i]]
		require.True(t, k.packs(), k.Name)
		assert.Equal(t, only, k.stored() <= 2*float64(left), "%.0f weights of %d that are left by %s", k.stored(), left, k.Packing.Kept)
	}
}

// TestPackedMeasured: by a record, too, kernels have to be faster by a tenth that do not pack weights, and are none where only such are wanted as do.
func TestPackedMeasured(t *testing.T) {
	o := tuned
	o.Pruned, o.Candidate = weights.NewEncodings(), 1
	_, nodes, c := convolutions(t, o)
	var all *tuning.Choice
	for b, k := range c.Kernels {
		if b.Origins[0] == nodes[0] {
			all = k.Tuning
		}
	}
	i := slices.IndexFunc(all.Kernels, func(n string) bool { return strings.HasPrefix(n, "pruned ") })
	require.Positive(t, i, "no kernel of pruned weights is a candidate, or the first one, among %q", all.Kernels)
	packed, fastest := all.Kernels[i], all.Kernels[0]
	o.Candidate = 0
	for micros, want := range map[float64]bool{95: true, 85: false} {
		o.Times = tuning.Times{all.Key: {{Name: fastest, Micros: micros}, {Name: packed, Micros: 100}}}
		o.Packed = nil
		packs, _, c := convolutions(t, o)
		assert.Equal(t, want, packs[0], "%v us where packed weights take 100", micros)
		assert.Empty(t, c.Stale)
		o.Packed = map[string]bool{nodes[0]: true}
		packs, _, _ = convolutions(t, o)
		assert.True(t, packs[0], "packed is asked for")
	}
	// In the layouts of that block.
	other := all.Kernels[slices.IndexFunc(all.Kernels, func(n string) bool { return strings.HasPrefix(n, "contraction ") })]
	o.Times = tuning.Times{all.Key: {{Name: other, Micros: 1}, {Name: packed, Micros: 100}}}
	for _, only := range []bool{false, true} {
		o.Packed = map[string]bool{nodes[0]: only}
		g := fused(t, patterned())
		s := newSelector(g, chipstest.Target(t, "x86_64_v4"), o)
		k, err := s.cheapest(g.Blocks[0], func(v *ir.Value) layout.Layout {
			if v.Const != nil {
				return layout.RowMajor
			}
			return layout.Blocked(1, 16)
		})
		require.NoError(t, err)
		assert.Equal(t, only, k.packs(), k.Name)
		assert.True(t, k.packable, "that others pack weights in these layouts is known of what a record chose")
	}
}
