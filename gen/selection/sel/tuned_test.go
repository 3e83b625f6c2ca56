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
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/target/chips/chipstest"
)

func rowMajor(*ir.Value) layout.Layout { return layout.RowMajor }

var tuned = Options{Options: lower.Options{Contractions: true, Windows: true, Winograd: true, Vectors: true}, Layouts: true}

func twoConvolutions() string {
	return filters("a", 32, 32, 3, 3) + filters("b", 64, 32, 1, 1) + `
  input %x f32[1, 32, 28, 28]
  %p f32[1, 32, 28, 28] = Conv.11(%x, @a) {pads = [1, 1, 1, 1]}
  %q f32[1, 32, 28, 28] = Relu.14(%p)
  %y f32[1, 64, 28, 28] = Conv.11(%q, @b)
  output %y
`
}

// named are the kernels' names, by the operators of their blocks.
func named(c *Choice) map[string]string {
	out := map[string]string{}
	for b, k := range c.Kernels {
		out[b.Ops[0]+b.Ops[len(b.Ops)-1]] = k.Name
	}
	return out
}

func run(t *testing.T, o Options) (*block.Graph, *Choice) {
	t.Helper()
	g := fused(t, twoConvolutions())
	c, err := Run(g, chipstest.Target(t, "x86_64_v4"), o)
	require.NoError(t, err)
	require.NoError(t, g.Verify())
	return g, c
}

// explored are the blocks whose kernels can be measured, by the operators.
func explored(t *testing.T) map[string]*tuning.Choice {
	t.Helper()
	o := tuned
	o.Candidate = 1
	_, c := run(t, o)
	out := map[string]*tuning.Choice{}
	for b, k := range c.Kernels {
		out[b.Ops[0]+b.Ops[len(b.Ops)-1]] = k.Tuning
	}
	return out
}

// TestCandidates: the first of all candidates is what estimates choose, every one can be asked for by its number, and
// layouts stay.
func TestCandidates(t *testing.T) {
	g, plain := run(t, tuned)
	all := explored(t)
	conv := all["ConvRelu"]
	require.Greater(t, len(conv.Kernels), 3)
	require.Greater(t, len(all["ConvConv"].Kernels), 1)
	assert.Equal(t, []string{"generic"}, all["LayoutLayout"].Kernels, "a copy has no other")
	assert.Equal(t, named(plain)["ConvRelu"], conv.Kernels[0])
	families := map[string]bool{}
	for i, name := range conv.Kernels {
		o := tuned
		o.Candidate = i + 1
		h, c := run(t, o)
		assert.Equal(t, name, named(c)["ConvRelu"])
		for k, b := range g.Blocks {
			assert.Equal(t, plain.Layouts[b.Results[0]], c.Layouts[h.Blocks[k].Results[0]])
			families[c.Kernels[h.Blocks[k]].Family] = true
		}
	}
	assert.Contains(t, families, "winograd F(4,3)")
	assert.Contains(t, families, "contraction x2")
	o := tuned
	o.Candidate = 1000
	_, c := run(t, o)
	assert.Equal(t, named(plain), named(c), "a block without so many is as estimates prefer it")
}

// TestMeasured: what is in a record decides, for blocks and kernels that there are.
func TestMeasured(t *testing.T) {
	_, plain := run(t, tuned)
	conv := explored(t)["ConvRelu"]
	for i, name := range conv.Kernels {
		o := tuned
		o.Times = tuning.Times{conv.Key: {{Name: "of yesterday", Micros: 1}, {Name: name, Micros: 20}, {Name: conv.Kernels[0], Micros: 30}}}
		if i == 0 {
			o.Times[conv.Key] = o.Times[conv.Key][:2]
		}
		g, c := run(t, o)
		got := named(c)
		assert.Equal(t, name, got["ConvRelu"])
		assert.Equal(t, named(plain)["ConvConv"], got["ConvConv"], "estimates decide where nothing is known")
		checkLayouts(t, g, c)
		require.Len(t, c.Stale, 1)
		assert.Contains(t, c.Stale[0], `Conv+Relu f32[1 32 28 28] axis1/16 of`)
		assert.Contains(t, c.Stale[0], `no kernel is "of yesterday"`)
		if i > 0 {
			assert.InDelta(t, 2.0/3, cyclesOf(c, "Relu")/cyclesOf(plain, "Relu"), 1e-9, "as many fewer as it is faster")
		}
	}
	o := tuned
	o.Times = tuning.Times{conv.Key: {{Name: conv.Kernels[1], Micros: 20}, {Name: conv.Kernels[0], Micros: 20.5}}}
	_, c := run(t, o)
	assert.Equal(t, conv.Kernels[0], named(c)["ConvRelu"], "what is faster by noise is not")
	o.Times = tuning.Times{"0000": {{Name: "generic", Micros: 1}}}
	_, c = run(t, o)
	assert.Equal(t, named(plain), named(c))
	assert.Equal(t, []string{"1 of 1 blocks are not in the model"}, c.Stale)
	assert.Empty(t, plain.Stale)
}

// TestParameters: a record's kernel that nothing proposes by itself is proposed from its parameters; where these, or what is made of them, are
// none of the block's, it is left out, and said so.
func TestParameters(t *testing.T) {
	_, plain := run(t, tuned)
	conv := explored(t)["ConvRelu"]
	i := slices.IndexFunc(conv.Params, func(p string) bool { return strings.HasPrefix(p, "contraction ") })
	require.GreaterOrEqual(t, i, 0, conv)
	p, err := params.Parse(conv.Params[i])
	require.NoError(t, err)
	set := func(name string, n int64) *params.Point {
		q := *p
		q.Values = slices.Clone(p.Values)
		k := slices.IndexFunc(q.Values, func(v params.Value) bool { return v.Name == name })
		require.GreaterOrEqual(t, k, 0, p)
		q.Values[k].N = n
		return &q
	}
	g := fused(t, twoConvolutions())
	s := newSelector(g, chipstest.Target(t, "x86_64_v4"), tuned)
	b := g.Blocks[slices.IndexFunc(g.Blocks, func(b *block.Block) bool { return b.Ops[len(b.Ops)-1] == "Relu" })]
	blocked := func(v *ir.Value) layout.Layout {
		if v.Const != nil {
			return layout.RowMajor
		}
		return layout.Blocked(1, 16)
	}
	groups, _ := p.Get("groups")
	other := set("groups", 1-groups) // loops in another order: no tile is asked for that has them so
	k, err := s.proposedFrom(b, blocked, other)
	require.NoError(t, err)
	require.NotNil(t, k.Lowered)
	assert.NotContains(t, conv.Kernels, k.Name)
	record := func(name, params string) (*Choice, string) {
		o := tuned
		o.Times = tuning.Times{conv.Key: {{Name: name, Micros: 1, Params: params}, {Name: conv.Kernels[0], Micros: 20}}}
		g, c := run(t, o)
		require.NoError(t, c.Verify(g, loop.Proofs{}))
		return c, strings.Join(c.Stale, "\n")
	}
	c, stale := record(k.Name, other.String())
	assert.Equal(t, k.Name, named(c)["ConvRelu"])
	assert.Empty(t, stale)
	for params, want := range map[string]string{
		set("rows", 999).String(): "rows=999 in",
		p.String():                "is now",
		"contraction rows=1":      "does not have the parameters of contraction",
		"teleport rows=1":         "no kernel is",
	} {
		c, stale := record(k.Name, params)
		assert.Equal(t, named(plain)["ConvRelu"], named(c)["ConvRelu"])
		assert.Contains(t, stale, want)
	}
}

// onDevice chooses kernels of two convolutions that all run on a device.
func onDevice(t *testing.T, o Options) (*block.Graph, *Choice) {
	t.Helper()
	o.Device = chipstest.Target(t, "opencl_buffers")
	o.Price = func(_ *block.Block, space layout.Space) float64 {
		if space == layout.Host {
			return 1e12
		}
		return 0
	}
	return run(t, o)
}

// TestDeviceMeasured: candidates of a block on a device are the device's kernels, and its part of a record decides between them; what is known
// of the chip does not, nor does the device's part of what the chip runs. What is gained is gained of the kernel, not of its launch.
func TestDeviceMeasured(t *testing.T) {
	_, plain := onDevice(t, tuned)
	o := tuned
	o.Candidate = 1
	g, c := onDevice(t, o)
	require.NoError(t, c.Verify(g, loop.Proofs{}))
	i := slices.IndexFunc(g.Blocks, func(b *block.Block) bool { return b.Ops[len(b.Ops)-1] == "Relu" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, layout.Device, c.Kernels[g.Blocks[i]].Space)
	conv := c.Kernels[g.Blocks[i]].Tuning
	require.NotNil(t, conv)
	require.Greater(t, len(conv.Kernels), 2)
	assert.NotContains(t, conv.What, "on device", "the record says of what device it is")
	assert.Equal(t, named(plain)["ConvRelu"], conv.Kernels[0])
	assert.NotEqual(t, explored(t)["ConvRelu"].Key, conv.Key, "the device's facts are in the key")
	link, err := chipstest.Target(t, "opencl_buffers").WorkGroups()
	require.NoError(t, err)

	for n, name := range conv.Kernels {
		o := tuned
		o.Candidate = n + 1
		_, c := onDevice(t, o)
		assert.Equal(t, name, named(c)["ConvRelu"])

		o = tuned
		o.DeviceTimes = tuning.Times{conv.Key: {{Name: "of yesterday", Micros: 1}, {Name: name, Micros: 20}, {Name: conv.Kernels[0], Micros: 30}}}
		if n == 0 {
			o.DeviceTimes[conv.Key] = o.DeviceTimes[conv.Key][:2]
		}
		o.Times = tuning.Times{"0000": {{Name: "generic", Micros: 1}}}
		_, c = onDevice(t, o)
		assert.Equal(t, name, named(c)["ConvRelu"])
		assert.Equal(t, named(plain)["ConvConv"], named(c)["ConvConv"], "estimates decide where nothing is known")
		assert.Contains(t, strings.Join(c.Stale, "\n"), `no kernel is "of yesterday"`)
		assert.Contains(t, c.Stale, "1 of 1 blocks are not in the model")
		if n > 0 {
			assert.InDelta(t, 2.0/3, (cyclesOf(c, "Relu")-link.Launch())/(cyclesOf(plain, "Relu")-link.Launch()), 1e-9, "as many fewer as it is faster")
		}
	}

	other := tuning.Times{conv.Key: {{Name: conv.Kernels[1], Micros: 20}, {Name: conv.Kernels[0], Micros: 30}}}
	o = tuned
	o.Times, o.DeviceTimes = other, tuning.Times{"0000": {{Name: "generic", Micros: 1}}}
	_, c = onDevice(t, o)
	assert.Equal(t, named(plain), named(c), "no part of the chip's is of the device")
	assert.Equal(t, []string{"1 of 1 blocks are not in the model", "1 of 1 blocks on opencl_buffers are not in the model"}, c.Stale)

	o = tuned
	o.Candidate, o.DeviceHistory = 2, other
	_, c = onDevice(t, o)
	assert.Equal(t, conv.Kernels[0], named(c)["ConvRelu"], "a search finds none that is worth measuring: kernels of work-groups have no parameters")
}

func cyclesOf(c *Choice, op string) float64 {
	for b, k := range c.Kernels {
		if b.Ops[len(b.Ops)-1] == op {
			return k.Cycles
		}
	}
	return 0
}

// TestEstimateIgnoresTimes: fusion would otherwise make other blocks than those that were measured.
func TestEstimateIgnoresTimes(t *testing.T) {
	g := fused(t, twoConvolutions())
	chip := chipstest.Target(t, "x86_64_v4")
	for _, b := range g.Blocks {
		want := Estimate(b, g.Facts, chip, tuned)
		o := tuned
		o.Times = tuning.Times{tuning.Key(b, rowMajor, g.Facts, chip): {{Name: "contraction tile 1x1", Micros: 1}}}
		o.Candidate = 2
		assert.Equal(t, want, Estimate(b, g.Facts, chip, o))
	}
}
