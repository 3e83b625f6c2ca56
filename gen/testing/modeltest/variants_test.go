package modeltest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

// levels are those of x86-64, the least capable first.
var levels = []string{"x86_64", "x86_64_v3", "x86_64_v4", "x86_64_v4_vnni"}

// TestVariants: each variant of a library computes what the network does, in the memory and the layouts of one plan, and reads the weights
// that the widest one reads.
func TestVariants(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "windows", x: []int64{1, 32, 14, 14}, w: []int64{256, 32, 3, 3}, pads: same, strides: []int64{2, 2}, add: true, between: true},
		{name: "winograd", x: []int64{1, 64, 20, 20}, w: []int64{64, 64, 3, 3}, pads: same, add: true, between: true},
		{name: "winograd in parts", x: []int64{1, 256, 14, 14}, w: []int64{256, 256, 3, 3}, pads: same, between: true},
		{name: "depthwise", x: []int64{1, 48, 17, 17}, w: []int64{48, 1, 3, 3}, group: 48, pads: same, between: true},
		{name: "one point", x: []int64{1, 64, 14, 14}, w: []int64{512, 64, 1, 1}, pads: none, squeeze: true},
		{name: "last block not full", x: []int64{1, 24, 14, 13}, w: []int64{250, 24, 3, 3}, pads: same, strides: []int64{2, 2}, between: true},
		{name: "groups", x: []int64{1, 64, 14, 14}, w: []int64{512, 32, 3, 3}, group: 2, pads: same, strides: []int64{2, 2}, between: true},
		{name: "groups in pieces", x: []int64{1, 96, 9, 9}, w: []int64{72, 24, 3, 3}, group: 4, pads: same, between: true},
		{name: "rows of one pixel", x: []int64{1, 64, 1, 1}, w: []int64{128, 64, 1, 1}, pads: none, add: true},
		{name: "rows of one pixel, last group not full", x: []int64{1, 64, 1, 1}, w: []int64{130, 64, 1, 1}, pads: none},
		{name: "rows of one pixel, groups to spare", x: []int64{1, 64, 1, 1}, w: []int64{72, 64, 1, 1}, pads: none},
		{name: "symbols", x: []int64{1, 32, 9, 9}, w: []int64{64, 32, 3, 3}, pads: same, symbolic: true, between: true},
	} {
		for _, chips := range [][]string{levels, {"x86_64_v4", "x86_64_v3"}} {
			t.Run(c.name+" "+chips[0], func(t *testing.T) {
				_, inputs := c.graph(rand.New(rand.NewPCG(1, 2)))
				g, _ := c.graph(rand.New(rand.NewPCG(1, 2)))
				want, err := interp.Graph(g, inputs)
				require.NoError(t, err)
				p, err := CompileLibrary(g, chips, nil)
				require.NoError(t, err)
				require.Equal(t, len(chips), p.Variants())
				for i := range chips {
					got, err := runTexts(p.Variant(i), InputsOf(p, inputs))
					require.NoError(t, err, chips[i])
					assertClose(t, want[0], got[0], chips[i])
				}
				if chips[0] == "x86_64" {
					_, alone := p.ConstantBytes(0)
					assert.Zero(t, alone, "the baseline's own weights")
				}
			})
		}
	}
}

// TestRandomVariants: random networks, in all variants.
func TestRandomVariants(t *testing.T) {
	for s := range uint64(60) {
		r := newRandom(s + 1)
		if len(r.g.Outputs) == 0 {
			continue
		}
		want, err := interp.Graph(r.g, r.inputs)
		if err != nil {
			continue // the dimensions suit no shape of the network
		}
		p, err := CompileLibrary(newRandom(s+1).g, levels, nil)
		require.NoError(t, err, "seed %d", s+1)
		for i, name := range levels {
			got, err := runTexts(p.Variant(i), InputsOf(p, r.inputs))
			var dims *run.DimsError
			if errors.As(err, &dims) {
				continue
			}
			require.NoError(t, err, "seed %d, %s", s+1, name)
			for k := range want {
				require.NoError(t, compare(got[k], want[k]), "seed %d, %s, output %d", s+1, name, k)
			}
		}
	}
}

// TestOneProgram: what a library's variants run differs in kernels and in the order of constants, and in nothing else.
func TestOneProgram(t *testing.T) {
	c := convolution{name: "net", x: []int64{1, 64, 20, 20}, w: []int64{64, 64, 3, 3}, pads: []int64{1, 1, 1, 1}, add: true, squeeze: true, between: true}
	compiled := func(chips ...string) *plan.Program {
		g, _ := c.graph(rand.New(rand.NewPCG(1, 2)))
		p, err := CompileLibrary(g, chips, nil)
		require.NoError(t, err)
		return p
	}
	p, single := compiled(levels...), compiled("x86_64_v4")
	single.ScratchBytes = p.ScratchBytes // enough for any variant
	assert.Equal(t, single.String(), p.String(), "the widest variant is what it is alone, and reads the same weights")
	for i := range levels {
		v := p.Variant(i)
		require.Equal(t, len(p.Calls()), len(v.Calls()))
		for k, call := range v.Calls() {
			own := p.Calls()[k]
			assert.Equal(t, own.Block, call.Block)
			assert.Equal(t, own.Over, call.Over)
			for n, x := range call.Args {
				if x.Const == nil {
					assert.Same(t, own.Args[n], x)
				}
				assert.Equal(t, p.Places[x], v.Places[x])
			}
		}
	}
	_, err := CompileLibrary(&ir.Graph{}, []string{"x86_64", "arm64"}, nil)
	assert.ErrorContains(t, err, `chip arm64 has cpu "arm64"`)
	_, err = CompileLibrary(&ir.Graph{}, []string{"x86_64", "x86_64"}, nil)
	assert.ErrorContains(t, err, "chip x86_64 is given twice")
}
