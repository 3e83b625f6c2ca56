package target

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// TestCapabilities: what processors and devices answer.
func TestCapabilities(t *testing.T) {
	for cpu, language := range map[string]string{"x86_64": "cpp", "arm64": "cpp", "hexagon": "hvx"} {
		c := &Target{Name: "mine", CPU: cpu, VectorBits: 256, Parallel: 1}
		assert.Equal(t, language, c.Language())
		assert.Equal(t, []bool{true, false, true}, []bool{c.Views(), c.WorkItems(), c.TilesFillScratch()}, cpu)
		assert.Equal(t, []int64{1, 1}, []int64{c.AtOnce(false), c.AtOnce(true)}, cpu)
		assert.Empty(t, c.Baseline(), cpu)
		_, err := c.WorkGroups()
		assert.ErrorContains(t, err, "the facts of mine do not say how OpenCL kernels run")
	}
	device := &Target{CPU: "opencl", VectorBits: 128, Parallel: 2048, OpenCL: &OpenCL{GroupItems: 64, Workers: 512}}
	assert.Equal(t, "opencl", device.Language())
	assert.Equal(t, []bool{false, true, false}, []bool{device.Views(), device.WorkItems(), device.TilesFillScratch()})
	assert.Equal(t, []int64{2048, 512}, []int64{device.AtOnce(false), device.AtOnce(true)})
	groups, err := device.WorkGroups()
	require.NoError(t, err)
	assert.Same(t, device.OpenCL, groups)
	device.OpenCL.LocalBytes = 1 << 10
	assert.Zero(t, device.Unshared().OpenCL.LocalBytes)
	assert.Equal(t, int64(1<<10), device.OpenCL.LocalBytes, "the target itself stays as it is")
	assert.Equal(t, device.Name, device.Unshared().Name)
	assert.Nil(t, (*Target)(nil).Unshared())
	assert.Contains(t, (&Target{CPU: "x86_64", VectorBits: 128}).Baseline(), "linux_x86_64_v3")
	assert.Empty(t, (&Target{CPU: "arm64", VectorBits: 128}).Baseline())
}

// TestHalves: what vectors hold, which values are stored in blocks of them, and where loads of tiles convert floats of 16 bits.
func TestHalves(t *testing.T) {
	for _, c := range []struct {
		chip     Target
		vectors  int // types
		blocked  int // types
		converts []ir.DType
	}{
		{Target{CPU: "x86_64", VectorBits: 128}, 13, 3, nil},
		{Target{CPU: "x86_64", VectorBits: 256, CPUFeatures: []string{"avx2"}}, 13, 3, []ir.DType{ir.BF16}},
		{Target{CPU: "x86_64", VectorBits: 512, CPUFeatures: []string{"avx512f", "f16c"}}, 13, 3, []ir.DType{ir.F16, ir.BF16}},
		{Target{CPU: "arm64", VectorBits: 128}, 13, 3, nil},
		{Target{CPU: "hexagon", VectorBits: 1024}, 1, 1, nil},
		{Target{CPU: "opencl", VectorBits: 128, OpenCL: &OpenCL{}}, 1, 1, nil},
	} {
		assert.Len(t, c.chip.VectorTypes(), c.vectors, "%+v", c.chip)
		assert.Len(t, c.chip.BlockedTypes(), c.blocked, "%+v", c.chip)
		assert.Equal(t, c.vectors > 1, c.chip.Quantizes(), "%+v", c.chip)
		assert.Equal(t, c.chip.CPU == "arm64", c.chip.Logistic(), "%+v", c.chip)
		for _, d := range []ir.DType{ir.F16, ir.BF16, ir.F32, ir.F64, ir.I8} {
			assert.Equal(t, slices.Contains(c.converts, d), c.chip.LoadsConvert(d), "%+v %s", c.chip, d)
		}
	}
}

// TestFamilies: what tools call a chip's processors.
func TestFamilies(t *testing.T) {
	names := func(cpu string) string { return (&Target{CPU: cpu}).GOARCH() + " " + (&Target{CPU: cpu}).Triple() }
	assert.Equal(t, "amd64 x86_64-linux-gnu", names("x86_64"))
	assert.Equal(t, "arm64 aarch64-linux-gnu", names("arm64"))
	for _, cpu := range []string{"hexagon", "opencl", "another"} {
		assert.Equal(t, " ", names(cpu), "none")
	}
	assert.Equal(t, "cpp", (&Target{CPU: "another"}).Language())
}

// TestWays: facts say how many lines a set of the first-level cache has, or it has 8.
func TestWays(t *testing.T) {
	facts := func(more string) *Target {
		c, err := Parse([]byte(strings.Replace(avx2, `"cpu"`, more+`"cpu"`, 1)))
		require.NoError(t, err)
		return c
	}
	assert.Equal(t, []int64{8, 4096}, []int64{facts("").Ways(), facts("").WayBytes()})
	c := facts(`"l1d_bytes": 65536, "l1d_ways": 4, `)
	assert.Equal(t, []int64{4, 16384}, []int64{c.Ways(), c.WayBytes()})
}

// TestWiden: a conversion takes as long as a product, unless the facts say otherwise; of bf16 it is two instructions, of f16 many where the processor
// has none.
func TestWiden(t *testing.T) {
	c := &Target{CPU: "arm64", FMAPerCycle: 2}
	assert.InDelta(t, 0.5, c.Widen(ir.F16), 1e-9)
	assert.InDelta(t, 1, c.Widen(ir.BF16), 1e-9)
	assert.Zero(t, c.Widen(ir.Invalid))
	c.WidenCycles = 0.1
	assert.InDelta(t, 0.1, c.Widen(ir.F16), 1e-9)
	c = &Target{CPU: "x86_64", FMAPerCycle: 1}
	assert.InDelta(t, 8, c.Widen(ir.F16), 1e-9)
	assert.InDelta(t, 2, c.Widen(ir.BF16), 1e-9)
	c.CPUFeatures = []string{"f16c"}
	assert.InDelta(t, 1, c.Widen(ir.F16), 1e-9)
}
