package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/program/plan"
)

// TestRowsByGroups: items share the rows of row-wise reduction fusions, and sets of items the sums of thin products.
func TestRowsByGroups(t *testing.T) {
	for _, c := range []struct{ name, device, anchor string }{
		{"softmax of rows", "opencl_nvidia", "group rows"},
		{"softmax of rows", "opencl_buffers", "group rows"},
		{"softmax of scaled scores", "opencl_nvidia", "group rows"},
		{"layer norm", "opencl_nvidia", "group rows"},
		{"instance norm", "opencl_nvidia", "group rows"},
		{"thin product", "opencl_nvidia", "group tiles"},
	} {
		t.Run(c.name+" on "+c.device, func(t *testing.T) {
			d := device(t, c.device)
			p := compile(t, modelOf(t, c.name).graph(t), d)
			k := kernelOf(p, c.anchor)
			require.NotNil(t, k, "%s", p)
			assert.GreaterOrEqual(t, k.Kernel.Items(), d.OpenCL.SubGroup)
			src, err := opencl.Print(p, d)
			require.NoError(t, err)
			assert.Contains(t, src.Text, "__local float")
			if c.anchor == "group tiles" {
				assert.Contains(t, schedules(p), "item g3s = ", "sums in parts")
			}
		})
	}
}

// TestLocalMemory: kernels share what a group has the memory for, in elements of their types, and where it is too little others compute the block.
func TestLocalMemory(t *testing.T) {
	softmax := func(of string) *model {
		return newModel().line("input %%x %s[64, 256]", of).line("%%y ?[*] = Softmax.13(%%x) {axis = -1}").line("output %%y")
	}
	total := func(of string) *model {
		return newModel().line("input %%x %s[16, 1024]", of).line("%%y ?[*] = ReduceMax.13(%%x) {axes = [1], keepdims = 0}").line("output %%y")
	}
	large := newModel().line("input %%x f32[512, 512]").line("input %%w f32[512, 512]").line("%%y ?[*] = MatMul.13(%%x, %%w)").line("output %%y")
	short := newModel().line("input %%x f32[64, 6]").line("%%y ?[*] = Softmax.13(%%x) {axis = -1}").line("output %%y")
	asked := newModel().line("symbol N 1..4096").line("input %%x f32[64, N]").line("%%y ?[*] = Softmax.13(%%x) {axis = -1}").line("output %%y")
	sum := newModel().line("symbol N 1..4096").line("input %%x f32[512, N]").line("input %%w f32[N, 512]").line("%%y ?[*] = MatMul.13(%%x, %%w)").line("output %%y")
	for _, c := range []struct {
		name   string
		model  *model
		bytes  int64
		anchor string
	}{
		{"rows of floats", softmax("f32"), 1024, "group rows"},
		{"rows of doubles", softmax("f64"), 2048, "group rows"},
		{"rows of doubles in the memory of floats", softmax("f64"), 1024, "row chain"},
		{"rows in no memory", softmax("f32"), 0, "row chain"},
		{"sums of floats", total("f32"), 160, "group sums"},
		{"sums of long integers", total("i64"), 320, "group sums"},
		{"sums of long integers in the memory of floats", total("i64"), 160, "generic"},
		{"a product", large, 8192, "group tiles"},
		{"rows that are too short", short, 49152, "row chain"},
		{"rows of a length that a symbol gives", asked, 49152, "row chain"},
		{"a product whose sums are of a length that a symbol gives", sum, 49152, "generic"},
		{"a product in little memory", large, 256, "generic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := device(t, "opencl_nvidia")
			d.OpenCL.LocalBytes = c.bytes
			p := compile(t, c.model.graph(t), d)
			var anchors []string
			for _, call := range p.Calls() {
				anchors = append(anchors, call.Kernel.Anchor)
				assert.LessOrEqual(t, call.Kernel.SharedBytes(), c.bytes)
			}
			assert.Contains(t, anchors, c.anchor)
		})
	}
}

// modelOf is one of the blocks' models.
func modelOf(t *testing.T, name string) *model {
	for _, b := range blocks {
		if b.name == name {
			return b.model
		}
	}
	t.Fatalf("there is no model %q", name)
	return nil
}

// kernelOf is a program's call of a kernel of an anchor, or nil.
func kernelOf(p *plan.Program, anchor string) *plan.Call {
	for _, c := range p.Calls() {
		if c.Kernel.Anchor == anchor {
			return c
		}
	}
	return nil
}

// schedules are those of a program's kernels.
func schedules(p *plan.Program) string {
	var out []string
	for _, c := range p.Calls() {
		out = append(out, c.Schedule)
	}
	return strings.Join(out, "\n")
}
