package propose

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/fuse"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/lower/lowertest"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestInStep: if neighbouring work-items run in step, kernels whose items share nothing yield to
// kernels of work-groups. A kernel that is wanted by its name is made nevertheless.
func TestInStep(t *testing.T) {
	const large, small = "input %x f32[512, 512]\ninput %w f32[512, 512]\n", "input %x f32[16, 16]\ninput %w f32[16, 16]\n"
	const vector, shortVector = "input %x f32[1, 4096]\ninput %w f32[4096, 2048]\n", "input %x f32[1, 64]\ninput %w f32[64, 2048]\n"
	const product, softmax = "%y ?[*] = MatMul.13(%x, %w)\noutput %y", "%y ?[*] = Softmax.13(%x) {axis = -1}\noutput %y"
	const depthwiseGraph = "input %x f32[1, 16, 14, 14]\ninput %w f32[16, 1, 3, 3]\n%y ?[*] = Conv.11(%x, %w) {group = 16, pads = [1, 1, 1, 1]}\noutput %y"
	for _, c := range []struct {
		name, graph string
		kernels     string // what their names begin with
		constant    bool   // W is, as tiles want it
		only        string
		yields      bool
	}{
		{"a large product by loops", large + product, "generic", false, "", true},
		{"a large product by loops, by name", large + product, "generic", false, "generic", false},
		{"a small product by loops", small + product, "generic", false, "", false},
		{"a large product by tiles", large + product, "contraction", true, "", true},
		{"a small product by tiles", small + product, "contraction", true, "", false},
		{"a vector's large product by loops", vector + product, "generic", false, "", true},
		{"a vector's large product by tiles", vector + product, "contraction", true, "", true},
		{"a vector's large product by loops, by name", vector + product, "generic", false, "generic", false},
		{"a vector's small product by loops", shortVector + product, "generic", false, "", false},
		{"rows by an item each", "input %x f32[64, 256]\n" + softmax, "row chain", false, "", true},
		{"short rows by an item each", "input %x f32[64, 6]\n" + softmax, "row chain", false, "", false},
		{"a depthwise convolution", depthwiseGraph, "direct", true, "", true},
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
			fuse.Run(bs, fuse.Options{})
			require.Len(t, bs.Blocks, 1)
			b := bs.Blocks[0]
			for _, inStep := range []int64{0, 1, 16} {
				d := chipstest.Target(t, "opencl_buffers")
				d.OpenCL.SubGroup = inStep
				env := lower.NewEnv(d, nil, lower.Options{Contractions: true, Windows: true, Vectors: true})
				env.Only = c.only
				env.Layouts = func(v *ir.Value) layout.Layout {
					if len(v.Shape) == 4 && v.Const == nil {
						return layout.Blocked(1, d.ChannelBlock())
					}
					return layout.RowMajor
				}
				ls, err := Kernels(b, env)
				require.NoError(t, err)
				ls = slices.DeleteFunc(ls, func(l *lower.Lowered) bool { return !strings.HasPrefix(l.Name, c.kernels) })
				assert.Equal(t, inStep <= 1 || !c.yields, len(ls) > 0, "%d in step", inStep)
			}
		})
	}
}

// TestYields: loops yield to kernels of work-groups if the device has them.
func TestYields(t *testing.T) {
	b := lowertest.Formed(t, "input %x f32[512, 512]\ninput %w f32[512, 512]\n%y ?[*] = MatMul.13(%x, %w)\noutput %y")
	for name, change := range map[string]func(o *target.OpenCL){
		"a device that takes them": func(o *target.OpenCL) {},
		"too few items":            func(o *target.OpenCL) { o.GroupItems = 2 },
		"too little memory":        func(o *target.OpenCL) { o.LocalBytes = 64 },
	} {
		t.Run(name, func(t *testing.T) {
			d := lowertest.Device(t)
			change(d.OpenCL)
			ls, err := Kernels(b, lower.NewEnv(d, nil, lower.Options{Contractions: true, Vectors: true}))
			require.NoError(t, err)
			named := func(anchor string) bool {
				return slices.ContainsFunc(ls, func(l *lower.Lowered) bool { return strings.HasPrefix(l.Name, anchor) })
			}
			if name == "a device that takes them" {
				assert.True(t, named("group tiles"))
			}
			assert.NotEqual(t, named("group tiles"), named("generic"))
		})
	}
}

// TestTable: names are unique, and proposers yield to those that claim blocks.
func TestTable(t *testing.T) {
	of := map[string]*lower.Proposer{}
	for _, p := range table {
		assert.NotContains(t, of, p.Name)
		of[p.Name] = p
	}
	claimed := map[string]bool{}
	for _, p := range table {
		for _, name := range p.YieldsTo {
			if assert.Contains(t, of, name, p.Name) {
				assert.NotNil(t, of[name].Claims, "%s yields to %s", p.Name, name)
			}
			claimed[name] = true
		}
	}
	for _, p := range table {
		assert.Equal(t, p.Claims != nil, claimed[p.Name], "what %s claims is asked", p.Name)
	}
}

// TestSwitches: without its switch a proposer returns nothing.
func TestSwitches(t *testing.T) {
	b := lowertest.Formed(t, "input %x f32[512, 512]\ninput %w f32[512, 512]\n%y ?[*] = MatMul.13(%x, %w)\noutput %y")
	for _, on := range []bool{false, true} {
		ls, err := Kernels(b, lower.NewEnv(lowertest.Chip(t, "x86_64_v3"), nil, lower.Options{Contractions: on, Vectors: true}))
		require.NoError(t, err)
		products := slices.DeleteFunc(ls, func(l *lower.Lowered) bool { return !strings.HasPrefix(l.Name, "product") })
		assert.Equal(t, on, len(products) > 0)
	}
	convolution := lowertest.Formed(t, "input %x f32[1, 32, 24, 24]\ninput %w f32[64, 32, 3, 3]\n%y ?[*] = Conv.11(%x, %w) {pads = [1, 1, 1, 1]}\noutput %y")
	convolution.Operands[1].Const = ir.NewTensor(ir.F32, 64, 32, 3, 3)
	for _, on := range []bool{false, true} {
		env := lower.NewEnv(lowertest.Device(t), nil, lower.Options{Contractions: true, Winograd: on})
		assert.Equal(t, on, len(Splits(convolution, env, []int64{2})) > 0)
	}
}

// TestAsked: the table asks for layouts of instructions, and knows products that take any order of
// axes.
func TestAsked(t *testing.T) {
	bytes := lowertest.Formed(t, lowertest.WholePixels)
	var wanted []string
	env := lower.NewEnv(lowertest.Chip(t, "hexagon_v68"), nil, lower.Options{Contractions: true})
	require.NoError(t, Layouts(bytes, env, func(v *ir.Value, l layout.Layout) { wanted = append(wanted, v.Name) }))
	assert.Contains(t, wanted, "x")
	product := lowertest.Formed(t, "input %x f32[64, 64]\ninput %w f32[64, 64]\n%y ?[*] = MatMul.13(%x, %w)\noutput %y")
	sum := lowertest.Formed(t, "input %x f32[64, 64]\ninput %w f32[64, 64]\n%y ?[*] = Add.14(%x, %w)\noutput %y")
	for _, on := range []bool{false, true} {
		env := lower.NewEnv(lowertest.Chip(t, "x86_64_v3"), nil, lower.Options{Contractions: on})
		assert.Equal(t, on, AnyOrder(product, env))
		assert.False(t, AnyOrder(sum, env))
	}
}
