package opencl_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/opencl"
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
