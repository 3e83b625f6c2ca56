package modeltest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// poolings are the anchors of the kernels that compute a convolution and the pooling of its results.
func poolings(p *plan.Program) (anchors []string) {
	for _, x := range p.Calls() {
		if slices.Contains(x.Block.Ops, "Conv") && slices.ContainsFunc(x.Block.Ops, func(op string) bool { return strings.HasSuffix(op, "Pool") }) {
			anchors = append(anchors, x.Kernel.Anchor)
		}
	}
	return anchors
}

// TestPooled: poolings whose windows lie side by side are computed where the convolution is that they read, and give what the interpreter gives; others are
// computed after it.
func TestPooled(t *testing.T) {
	every := []string{"arm64", "x86_64", "x86_64_v3", "x86_64_v4"}
	same, two := []int64{1, 1, 1, 1}, []int64{2, 2}
	for _, c := range []struct {
		convolution
		pooled []string // chips that compute them there
		anchor string   // what their kernels' begin with
	}{
		{convolution: convolution{name: "filters that share what they keep", x: []int64{1, 32, 24, 28}, w: []int64{48, 32, 3, 3}, pads: same, share: 16, add: true, pool: two}, pooled: every, anchor: "pruned"},
		{convolution: convolution{name: "patterns of their own", x: []int64{1, 20, 32, 64}, w: []int64{18, 20, 3, 3}, pads: same, share: 1, add: true, pool: two}, pooled: every, anchor: "contraction"},
		{convolution: convolution{name: "dense", x: []int64{2, 16, 24, 24}, w: []int64{32, 16, 5, 5}, pads: []int64{2, 2, 2, 2}, add: true, pool: two}, pooled: every, anchor: "contraction"},
		{convolution: convolution{name: "by Winograd's algorithm", x: []int64{2, 32, 24, 28}, w: []int64{48, 32, 3, 3}, pads: same, add: true, pool: two}, pooled: every, anchor: "winograd F("},
		{convolution: convolution{name: "by Winograd's algorithm, tiles that reach beyond", x: []int64{1, 32, 26, 22}, w: []int64{64, 32, 3, 3}, pads: same, pool: two}, pooled: every, anchor: "winograd F("},
		{convolution: convolution{name: "of kept kernels", x: []int64{1, 64, 28, 24}, w: []int64{64, 64, 3, 3}, pads: same, add: true, pool: two, zeros: func(w *ir.Tensor) { dropKernels(w, 16, 3) }}, pooled: every, anchor: "winograd F(4,3) of kept kernels"},
		{convolution: convolution{name: "long windows", x: []int64{1, 32, 30, 24}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, pool: []int64{3, 2}}, pooled: every, anchor: "pruned"},
		{convolution: convolution{name: "windows of rows", x: []int64{1, 32, 24, 28}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, pool: []int64{2, 1}}, pooled: every, anchor: "pruned"},
		{convolution: convolution{name: "rows left over", x: []int64{1, 32, 25, 24}, w: []int64{32, 32, 3, 3}, pads: same, share: 16, pool: two}},
		{convolution: convolution{name: "filters left over", x: []int64{1, 32, 24, 24}, w: []int64{41, 32, 3, 3}, pads: same, share: 16, pool: two}, pooled: []string{"arm64", "x86_64", "x86_64_v4"}, anchor: "pruned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pooled []string
			for chip, p := range c.run(t) {
				for _, anchor := range poolings(p) {
					pooled = append(pooled, chip)
					assert.True(t, strings.HasPrefix(anchor, c.anchor), "%s: %s", chip, anchor)
				}
			}
			slices.Sort(pooled)
			assert.Equal(t, c.pooled, pooled)
		})
	}
}

// TestPooledLayers: poolings are computed where convolutions are whose pixels lie apart, and in libraries where each chip has a kernel that does so.
func TestPooledLayers(t *testing.T) {
	for _, c := range []struct {
		name, pool string
		share      int64
		anchor     string // of the processor's kernel
		library    bool   // all chips of a library have such a kernel
	}{
		{"pixels apart", "MaxPool.12(%c) {kernel_shape = [2, 2], strides = [2, 2]}", 1, "pixels", false},
		{"means of pixels apart", "AveragePool.19(%c) {kernel_shape = [2, 2], strides = [2, 2]}", 1, "pixels", false},
		{"filters that share what they keep", "MaxPool.12(%c) {kernel_shape = [2, 2], strides = [2, 2]}", 16, "pruned", true},
		{"means of windows of rows", "AveragePool.19(%c) {kernel_shape = [2, 1], strides = [2, 1]}", 1, "contraction", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &random{Rand: rand.New(rand.NewPCG(1, 2))}
			inputs := map[string]*ir.Tensor{"x": r.floats([]int64{2, 32, 56, 48}, 1)}
			w := r.floats([]int64{32, 32, 3, 3}, 1)
			prune(w, 0, c.share)
			network := func() *ir.Graph {
				const conv = ", %w) {pads = [1, 1, 1, 1]}\n"
				g := irtest.Parse(t, "input %x f32[2, 32, 56, 48]\ninput %w f32[32, 32, 3, 3]\n%a ?[*] = Conv.11(%x"+conv+
					"%c ?[*] = Conv.11(%a"+conv+"%p ?[*] = "+c.pool+"\n%y ?[*] = Conv.11(%p"+conv+"output %y\n")
				g.Inputs[1].Const, g.Inputs = w, g.Inputs[:1]
				return g
			}
			g := network()
			require.NoError(t, shape.Infer(g))
			want, err := interp.Graph(g, inputs)
			require.NoError(t, err)
			alone, err := Compile(network(), Config{Chip: "x86_64_v4"})
			require.NoError(t, err)
			assert.Equal(t, []string{c.anchor}, poolings(alone))
			library, err := CompileLibrary(network(), []string{"x86_64", "x86_64_v3", "x86_64_v4"}, nil)
			require.NoError(t, err)
			programs := []*plan.Program{alone}
			for i := range library.Variants() {
				assert.Equal(t, c.library, len(poolings(library.Variant(i))) == 1, "variant %d", i)
				programs = append(programs, library.Variant(i))
			}
			for _, p := range programs {
				got, err := run.Program(p, InputsOf(p, inputs))
				require.NoError(t, err)
				assertClose(t, want[0], got[0], p.String())
			}
		})
	}
}
