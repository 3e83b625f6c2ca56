package contracttest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/fuse"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/contract/depthwise"
	"rules_dnn/gen/propose/contract/tiled"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/nest"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestInStep: where neighbouring work-items run in step, kernels whose items each walk what they read by themselves give way to those of work-groups, where
// there are such; a kernel that is asked for by its name is made all the same.
func TestInStep(t *testing.T) {
	const large, small = "input %x f32[512, 512]\ninput %w f32[512, 512]\n", "input %x f32[16, 16]\ninput %w f32[16, 16]\n"
	const vector, shortVector = "input %x f32[1, 4096]\ninput %w f32[4096, 2048]\n", "input %x f32[1, 64]\ninput %w f32[64, 2048]\n"
	const product, softmax = "%y ?[*] = MatMul.13(%x, %w)\noutput %y", "%y ?[*] = Softmax.13(%x) {axis = -1}\noutput %y"
	const depthwiseGraph = "input %x f32[1, 16, 14, 14]\ninput %w f32[16, 1, 3, 3]\n%y ?[*] = Conv.11(%x, %w) {group = 16, pads = [1, 1, 1, 1]}\noutput %y"
	for _, c := range []struct {
		name, graph string
		by          func(*block.Block, *lower.Env) ([]*lower.Lowered, error)
		constant    bool // W is, as tiles want it
		only        string
		yields      bool
	}{
		{"a large product by loops", large + product, one(nest.Generic), false, "", true},
		{"a large product by loops, by name", large + product, one(nest.Generic), false, "generic", false},
		{"a small product by loops", small + product, one(nest.Generic), false, "", false},
		{"a large product by tiles", large + product, tiled.Candidates, true, "", true},
		{"a small product by tiles", small + product, tiled.Candidates, true, "", false},
		{"a vector's large product by loops", vector + product, one(nest.Generic), false, "", true},
		{"a vector's large product by tiles", vector + product, tiled.Candidates, true, "", true},
		{"a vector's large product by loops, by name", vector + product, one(nest.Generic), false, "generic", false},
		{"a vector's small product by loops", shortVector + product, one(nest.Generic), false, "", false},
		{"rows by an item each", "input %x f32[64, 256]\n" + softmax, one(nest.Chain), false, "", true},
		{"short rows by an item each", "input %x f32[64, 6]\n" + softmax, one(nest.Chain), false, "", false},
		{"a depthwise convolution", depthwiseGraph, one(depthwise.Candidate), true, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, c.graph)
			require.NoError(t, shape.Infer(g))
			for _, v := range g.Inputs {
				if dims, _ := v.Static(); c.constant && v.Name == "w" {
					v.Const = ir.NewTensor(v.Type, dims...)
				}
			}
			bs, err := block.Form(g)
			require.NoError(t, err)
			fuse.Run(bs, fuse.Options{Chains: true})
			require.Len(t, bs.Blocks, 1)
			b := bs.Blocks[0]
			for _, inStep := range []int64{0, 1, 16} {
				d := chipstest.Target(t, "opencl_buffers")
				d.OpenCL.SubGroup = inStep
				env := &lower.Env{Target: d, Only: c.only, Contractions: true, Windows: true, Vectors: true, Layouts: func(v *ir.Value) layout.Layout {
					if len(v.Shape) == 4 && v.Const == nil {
						return layout.Blocked(1, d.ChannelBlock())
					}
					return layout.RowMajor
				}}
				ls, err := c.by(b, env)
				require.NoError(t, err)
				assert.Equal(t, inStep <= 1 || !c.yields, len(ls) > 0, "%d in step", inStep)
			}
		})
	}
}

// one is a lowering that proposes one kernel, or none, as one that proposes several.
func one(by func(*block.Block, *lower.Env) (*lower.Lowered, error)) func(*block.Block, *lower.Env) ([]*lower.Lowered, error) {
	return func(b *block.Block, env *lower.Env) ([]*lower.Lowered, error) {
		l, err := by(b, env)
		if l == nil {
			return nil, err
		}
		return []*lower.Lowered{l}, err
	}
}
