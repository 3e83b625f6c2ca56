package opencl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target"
)

// Row-wise reductions: of attention's scores, of rows of a transformer, of rows that fill no group, and of sums that are the result.
var (
	scores     = newModel().line("input %%x f32[12, 197, 197]").line("%%y ?[*] = Softmax.13(%%x) {axis = -1}").line("output %%y")
	normalized = newModel().line("input %%x f32[197, 768]").line("input %%s f32[768]").line("input %%b f32[768]").
			line("%%y ?[*] = LayerNormalization.17(%%x, %%s, %%b) {axis = -1}").line("output %%y")
	summed = newModel().line("symbol N 1..9").line("input %%x f32[N, 300]").line("%%y ?[*] = ReduceLogSumExp.13(%%x) {axes = [1], keepdims = 0}").line("output %%y")
	few    = newModel().line("symbol N 1..9").line("input %%x f32[N, 40]").line("%%y ?[*] = Softmax.13(%%x) {axis = -1}").line("output %%y")
)

// exchanging are facts of a device by which items exchange values, as no file of platforms says.
func exchanging(t *testing.T, name string) *target.Target {
	d := device(t, name)
	require.False(t, d.OpenCL.Exchange)
	d.OpenCL.Exchange = true
	return d
}

// eitherWay are a text's parts of a kernel: what items of sub-groups do together, and what they do in memory that a group shares.
func eitherWay(t *testing.T, text string) (together, alone string) {
	kernel := text[strings.LastIndex(text, "__kernel"):]
	_, rest, found := strings.Cut(kernel, "#ifdef DNN_TOGETHER\n")
	require.True(t, found, text)
	together, alone, found = strings.Cut(rest, "#else\n")
	require.True(t, found)
	return together, alone
}

// TestSubGroups: how often the items of a group wait for each other, with exchanges within sub-groups and without them.
func TestSubGroups(t *testing.T) {
	for _, c := range []struct {
		name, device    string
		model           *model
		together, alone int
	}{
		{"softmax of 197", "opencl_nvidia", scores, 0, 6},
		{"softmax of 197", "opencl_intel_arc_a750", scores, 2, 6},
		{"softmax of 197", "opencl_adreno_750", scores, 0, 6},
		{"layer norm of 768", "opencl_nvidia", normalized, 2, 6},
		{"layer norm of 768", "opencl_intel_arc_a750", normalized, 2, 6},
		{"layer norm of 768", "opencl_adreno_750", normalized, 2, 6},
	} {
		t.Run(c.name+" on "+c.device, func(t *testing.T) {
			d := exchanging(t, c.device)
			src, err := opencl.Print(compile(t, c.model.graph(t), d), d)
			require.NoError(t, err)
			together, alone := eitherWay(t, src.Text)
			const barrier = "barrier(CLK_LOCAL_MEM_FENCE);"
			assert.Equal(t, c.together, strings.Count(together, barrier), together)
			assert.Equal(t, c.alone, strings.Count(alone, barrier))
			assert.Contains(t, together, "dnn_near(")
			assert.NotContains(t, alone, "dnn_near(")
			assert.Equal(t, "DNN_TOGETHER", src.Probed)
			assert.Contains(t, src.Probe, fmt.Sprintf("intel_reqd_sub_group_size(%d)", d.OpenCL.SubGroup))
			assert.NotContains(t, src.Probe, "mma.sync")
		})
	}
}

// exchanges checks that the interpreter of loops makes the same bytes of a case whose items exchange what they have.
func exchanges(t *testing.T, c opencltest.Case, want []*ir.Tensor) {
	for _, call := range c.Program.Calls() {
		shares := call.Kernel
		if call.Kernel = shares.InSubGroups(c.Device.OpenCL.SubGroup); call.Kernel == nil {
			call.Kernel = shares
		}
		defer func() { call.Kernel = shares }()
	}
	got, err := run.Program(c.Program, c.Inputs)
	require.NoError(t, err, c.Name)
	for i, w := range want {
		require.Equal(t, w.Data, got[i].Data, c.Name)
	}
}

// TestSubGroupsRun: what items exchange within sub-groups, of either size, makes the same bytes as what they share in memory.
func TestSubGroupsRun(t *testing.T) {
	var cases []opencltest.Case
	var want [][]*ir.Tensor
	for _, name := range []string{"opencl_nvidia", "opencl_buffers"} {
		d := exchanging(t, name)
		for i, m := range []*model{scores, normalized, summed, few} {
			c := opencltest.Case{Name: fmt.Sprintf("%d on %s", i, name), Program: compile(t, m.graph(t), d), Device: d, Dims: map[string]int64{"N": 3}}
			src, err := opencl.Print(c.Program, d)
			require.NoError(t, err)
			require.Contains(t, src.Text, "dnn_near(", c.Name)
			want = append(want, looped(t, &c, m.graph(t)))
			exchanges(t, c, want[len(want)-1])
			cases = append(cases, c)
		}
	}
	alone := opencltest.Run(t, root, cases)
	for i := range cases {
		cases[i].Together = true
	}
	for i, r := range opencltest.Run(t, root, cases) {
		require.Zero(t, r.Status, cases[i].Name)
		for k, w := range want[i] {
			assert.NoError(t, compare(r.Outputs[k], w), cases[i].Name)
			assert.Equal(t, alone[i].Outputs[k].Data, r.Outputs[k].Data, cases[i].Name)
		}
	}
}
