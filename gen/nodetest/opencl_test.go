package nodetest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/print/opencl/opencltest"
	"rules_dnn/gen/target"
)

// TestOpenCLNodes compiles cases to OpenCL C and compares what a device computes with the expected
// outputs; without -every, one of so many of the newest release.
func TestOpenCLNodes(t *testing.T) {
	s, err := Load()
	require.NoError(t, err)
	for _, v := range []struct {
		device   string
		symbolic bool
		always   int
	}{
		{"opencl_buffers", false, 20},
		{"opencl_images", true, 50},
	} {
		t.Run(v.device, func(t *testing.T) {
			facts, err := os.ReadFile(filepath.Join(repository, "platforms/devices", v.device+".json"))
			require.NoError(t, err)
			device, err := target.Parse(facts)
			require.NoError(t, err)
			runOnDevice(t, s, device, v.symbolic, v.always)
		})
	}
}

func runOnDevice(t *testing.T, s *Suite, device *target.Target, symbolic bool, stride int) {
	if *every || *only != "" {
		stride = 1
	}
	match, err := regexp.Compile(*only)
	require.NoError(t, err)
	var cases []opencltest.Case
	var of []*Case
	seen, host := 0, 0
	for i, c := range s.Cases {
		later := slices.ContainsFunc(s.Cases[i+1:], func(later *Case) bool { return later.Name == c.Name })
		if !match.MatchString(c.Name) || later {
			continue
		}
		if seen++; seen%stride != 0 {
			continue
		}
		p, err := compile(c, device, symbolic, nil)
		if err != nil {
			continue // TestCompiledNodes says which those are
		}
		if !opencltest.Runs(p.Program) {
			host++
			continue
		}
		cases = append(cases, opencltest.Case{Name: c.Label(), Program: p.Program, Device: device, Dims: p.Dims, Inputs: p.Inputs})
		of = append(of, c)
	}
	if *only == "" {
		require.Greater(t, len(cases), leastCompiled/2/stride)
	}
	lack := 0
	for i, r := range opencltest.Run(t, repository, cases) {
		if r.Status == opencltest.Lacks {
			lack++
			continue
		}
		if !assert.Zero(t, r.Status, of[i].Label()) {
			continue
		}
		for k, want := range of[i].Outputs {
			assert.NoError(t, Compare(r.Outputs[k], want), "%s: output %d", of[i].Label(), k)
		}
	}
	t.Logf("%d run, %d left to hosts that do more than call kernels, %d that need doubles, which the device lacks", len(cases)-lack, host, lack)
}
