package nodetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/emit/opencl/opencltest"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// TestOpenCLNodes compiles the cases to OpenCL C and compares what a device computes with the expected outputs: what
// interpreters run and these do not is listed, with the reasons.
func TestOpenCLNodes(t *testing.T) {
	for _, v := range []struct {
		device   string
		symbolic bool
		least    int // guards against cases that vanish
	}{
		{"opencl_buffers", false, 1450},
		{"opencl_images", true, 1440},
	} {
		t.Run(v.device, func(t *testing.T) {
			t.Parallel()
			facts, err := os.ReadFile(filepath.Join(repository, "platforms/devices", v.device+".json"))
			require.NoError(t, err)
			device, err := target.Parse(facts)
			require.NoError(t, err)
			b := chooseCases(t, cases(t), device, v.symbolic, nil, 1, func(*Case) bool { return true })
			b.runOnDevice(t, v.least)
		})
	}
}

// TestOpenCLDevices compiles some of the cases by the facts of each phone, board and card, and runs them on the device that is there.
func TestOpenCLDevices(t *testing.T) {
	const one = 60 // of so many
	for _, name := range []string{"adreno_750", "mali_g610", "powervr_bxe", "intel_arc_a750", "amd_7900xtx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts, err := os.ReadFile(filepath.Join(repository, "platforms/devices/opencl_"+name+".json"))
			require.NoError(t, err)
			device, err := target.Parse(facts)
			require.NoError(t, err)
			b := chooseCases(t, cases(t), device, false, nil, one, func(*Case) bool { return true })
			b.runOnDevice(t, 1400/one)
		})
	}
}

// TestOpenCLAttention compiles the cases of attention for a device whose work-groups compute it as one kernel wherever they can: with masks, caches, queries
// that attend to no key, and heads that share keys.
func TestOpenCLAttention(t *testing.T) {
	t.Parallel()
	facts, err := os.ReadFile(filepath.Join(repository, "platforms/devices/opencl_nvidia.json"))
	require.NoError(t, err)
	device, err := target.Parse(facts)
	require.NoError(t, err)
	device.OpenCL.LaunchMicros = 1e4 // or estimates would have so few queries and keys as three kernels
	b := chooseCases(t, cases(t), device, false, nil, 2, func(c *Case) bool { return strings.HasPrefix(c.Name, "test_attention") })
	one, apart := 0, []string(nil)
	for i, p := range b.programs {
		switch {
		case slices.ContainsFunc(p.Program.Calls(), func(c *plan.Call) bool { return c.Kernel.Anchor == "attention" }):
			one++
		case !strings.Contains(b.of[i].Name, "_qk_matmul"): // scores that are a result
			apart = append(apart, b.of[i].Name)
		}
	}
	t.Logf("%d of %d programs have such a kernel", one, len(b.programs))
	assert.Empty(t, apart)
	atLeast(t, 45, one)
	b.runOnDevice(t, 50)
}

// TestCompiledOnDevice compiles the cases of TestCompiledNodes for a processor and an OpenCL device beside it, which runs
// all that it can: the whole host program in C++, with launches and transfers. None is left out.
func TestCompiledOnDevice(t *testing.T) {
	s, chip := cases(t), hostChip(t)
	for _, v := range []struct {
		device   string
		symbolic bool
		always   int // one of this many cases, or all with -only=. or -every
	}{
		{"opencl_buffers", false, 12 * *oneOf},
		{"opencl_images", true, 24 * *oneOf},
	} {
		t.Run(v.device, func(t *testing.T) {
			facts, err := os.ReadFile(filepath.Join(repository, "platforms/devices", v.device+".json"))
			require.NoError(t, err)
			device, err := target.Parse(facts)
			require.NoError(t, err)
			b := chooseCases(t, s, chip, v.symbolic, nil, v.always, func(*Case) bool { return true }, device)
			atLeast(t, leastCompiled/v.always, len(b.programs))
			if *only == "." { // the suite of the processor is the same
				alone := chooseCases(t, s, chip, v.symbolic, nil, 1, func(*Case) bool { return true })
				require.Len(t, b.programs, len(alone.programs))
			}
			launched, launches := 0, 0
			for _, p := range b.programs {
				n := len(p.Program.Launches())
				if launches += n; n > 0 {
					launched++
				}
			}
			t.Logf("%d programs, of which %d launch %d kernels", len(b.programs), launched, launches)
			atLeast(t, leastCompiled/v.always*3/4, launched)
			b.run(t, cpptest.OnDevice(device))
		})
	}
}

// runOnDevice runs the programs on the machine's first device; at least so many of them run.
func (b *batch) runOnDevice(t *testing.T, least int) {
	var programs []opencltest.Case
	var of []*Case
	left := map[string]int{}
	for i, p := range b.programs {
		if what := opencltest.Beyond(p.Program); what != "" {
			left[what]++
			continue
		}
		programs = append(programs, opencltest.Case{Name: p.Name, Program: p.Program, Device: b.chip, Dims: p.Dims, Inputs: p.Inputs})
		of = append(of, b.of[i])
	}
	ran := 0
	for i, r := range opencltest.Run(t, repository, programs) {
		if r.Status == opencltest.Lacks {
			left["doubles, which the device lacks"]++
			continue
		}
		if ran++; !assert.Zero(t, r.Status, of[i].Label()) {
			continue
		}
		for k, want := range of[i].Outputs {
			assert.NoError(t, Compare(r.Outputs[k], want), "%s: output %d", of[i].Label(), k)
		}
	}
	t.Logf("%d run", ran)
	for what, n := range left {
		t.Logf("%d do not: %s", n, what)
	}
	if left["doubles, which the device lacks"] == 0 {
		atLeast(t, least, ran)
	}
}
