package target

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

const avx2 = `{"name": "mine", "cpu": "x86_64", "vector_bits": 256, "vector_registers": 16,
  "cpu_features": ["avx2", "fma"], "instructions": ["muladd_f32x4", "fma_f32x8"]}`

func TestWidestInstruction(t *testing.T) {
	c, err := Parse([]byte(avx2))
	require.NoError(t, err)
	assert.Equal(t, "fma_f32x8", c.Tile(ir.F32).Name)
	assert.Nil(t, c.Tile(ir.I32))
	assert.Equal(t, 8, c.Lanes(ir.F32))
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"fma_f32x8"`, `"fma_f32x9"`, `chip mine: instructions: there is no "fma_f32x9"; known: muladd_f32x4, `},
		{`"fma_f32x8"`, `"fma_f32x4"`, `chip mine: instructions: fma_f32x4 is for cpu "arm64"; the chip has cpu "x86_64"`},
		{`"fma_f32x8"`, `"fma_f32x16"`, `chip mine: instructions: fma_f32x16 needs "avx512f" in cpu_features`},
		{`256`, `128`, `chip mine: instructions: fma_f32x8 has 8 lanes of f32, which exceed vector_bits 128 in 1 registers`},
		{`"mine"`, `""`, "chip facts: no name"},
		{`"vector_bits"`, `"vectors"`, `chip facts: unknown field "vectors"`},
		{`256`, `100`, "chip mine: vector_bits is 100; want a power of two from 32 to 1024"},
		{`256`, `2048`, "chip mine: vector_bits is 2048; want a power of two from 32 to 1024"},
		{`256`, `1024`, "chip mine: vector_bits is 1024; want at most 512 without integers_only"},
		{`"cpu"`, `"integers_only": true, "cpu"`, "chip mine: instructions: muladd_f32x4 computes with floats, but the chip has integers_only"},
		{`256`, `-256`, "chip mine: vector_bits is -256"},
		{`256`, `"wide"`, "chip facts: line 1: vector_bits is a string; want an integer of 64 bits"},
		{`{`, ``, "chip facts: "},
		{`{"name"`, `{} {"name"`, "chip facts: line 1: trailing data after the JSON object"},
		{`"cpu"`, `"l1d_bytes": -1, "cpu"`, "chip mine: rates and cache sizes must be positive"},
		{`"cpu"`, `"l1d_ways": -1, "cpu"`, "chip mine: l1d_ways is -1; want 1 to l1d_bytes (32768), or 0 for the default 8"},
		{`"cpu"`, `"l1d_bytes": 16, "l1d_ways": 32, "cpu"`, "chip mine: l1d_ways is 32; want 1 to l1d_bytes (16)"},
		{`16`, `2`, "chip mine: vector_registers is 2; want 4 to 256"},
		{`"cpu"`, `"tasks": 0, "cpu"`, "chip mine: tasks, task_elements, parallel and load_cycles must be positive"},
		{`"cpu"`, `"images": {"max_width": 8}, "cpu"`, "chip mine: images: extents and rates must be positive"},
		{`"cpu"`, `"images": {"max_width": 8, "max_height": 8, "load_cycles": 1, "bytes_per_cycle": 8}, "task_elements": 6, "cpu"`,
			"chip mine: images: tasks store whole texels of 4 elements; want a multiple of it as task_elements, not 6"},
		{`"cpu"`, `"opencl": {"group_items": 48, "workers": 1}, "cpu"`, "chip mine: opencl: want a power of two for group_items, and workers"},
		{`"cpu"`, `"opencl": {"group_items": 64, "workers": 100}, "cpu"`, "chip mine: opencl: 100 workers are not a multiple of group_items (64), so further work-items would share a worker's memory"},
		{`"cpu"`, `"opencl": {"group_items": 64, "workers": 64, "align_bytes": 96}, "cpu"`, "chip mine: opencl: align_bytes is 96; want a power of two up to 4096"},
		{`"cpu"`, `"opencl": {"group_items": 64, "workers": 64, "align_bytes": 8192}, "cpu"`, "chip mine: opencl: align_bytes is 8192"},
		{`"cpu"`, `"opencl": {"group_items": 64, "workers": 64, "exchange": true}, "cpu"`, "chip mine: opencl: exchange needs sub_group, the number of items that exchange values; want at least 2"},
		{`"cpu"`, `"opencl": {"group_items": 64, "workers": 64, "winograd": [2, 3]}, "cpu"`, "chip mine: opencl: winograd has transforms of 2 or 4 results along each axis, not of 3"},
		{`"cpu"`, `"opencl": {"group_items": 64, "workers": 64, "launch_us": -1}, "cpu"`, "chip mine: opencl: clock_mhz, launch_us, transfer_us and link_gb_per_s must be positive"},
		{`"cpu"`, `"stores_per_cycle": -1, "cpu"`, "chip mine: stores_per_cycle, arithmetic_per_cycle, lane_cycles, crossing_cycles and widen_cycles must not be negative"},
		{`"cpu"`, `"l3_bytes": 1024, "cpu"`, "chip mine: l3_bytes is 1024, at 0 bytes a cycle; want at least l2_bytes (524288) and bytes_per_cycle (4), or 0 if there is no such cache"},
		{`"cpu"`, `"l3_bytes": 8388608, "l3_bytes_per_cycle": 3, "cpu"`, "chip mine: l3_bytes is 8388608, at 3 bytes a cycle"},
		{`"cpu"`, `"l3_bytes": -1, "cpu"`, "chip mine: l3_bytes is -1"},
		{`"cpu"`, `"loads_per_cycle": 0, "cpu"`, "chip mine: rates and cache sizes must be positive"},
	} {
		_, err := Parse([]byte(strings.Replace(avx2, c.from, c.to, 1)))
		assert.ErrorContains(t, err, c.want)
	}
}

func TestLanes(t *testing.T) {
	c := &Target{VectorBits: 128}
	for d, want := range map[ir.DType]int{ir.I8: 16, ir.F16: 8, ir.F32: 4, ir.F64: 2} {
		assert.Equal(t, want, c.Lanes(d), d)
	}
	assert.Equal(t, 1, (&Target{VectorBits: 32}).Lanes(ir.F64), "at least one")
	integers := &Target{VectorBits: 1024, IntegersOnly: true}
	assert.Equal(t, []int{32, 1}, []int{integers.Lanes(ir.I32), integers.Lanes(ir.F32)}, "no vectors of floats")
}

// TestPairs: instructions that sum products of floats in pairs are there only where that is allowed, and never what computes other floats.
func TestPairs(t *testing.T) {
	c, err := Parse([]byte(`{"name": "c", "cpu": "x86_64", "vector_bits": 512, "vector_registers": 32, "fma_latency": 4, "cpu_features": ["avx512f", "avx512bf16"], "instructions": ["vdpbf16ps_x16", "fma_f32x16"]}`))
	require.NoError(t, err)
	assert.Empty(t, c.Pairs(ir.F32))
	p := c.InPairs()
	require.Len(t, p.Pairs(ir.F32), 1)
	assert.Equal(t, "vdpbf16ps_x16", p.Pairs(ir.F32)[0].Name)
	assert.Empty(t, p.Pairs(ir.I32))
	assert.Empty(t, c.Pairs(ir.F32), "the chip itself is as it was")
	assert.Equal(t, c.Digest(), p.Digest(), "records are of the chip")
	for _, x := range []*Target{c, p} {
		assert.Equal(t, "fma_f32x16", x.Tile(ir.F32).Name)
		assert.Empty(t, x.Dots(ir.I32))
	}
	assert.Equal(t, 4.0, p.Latency(p.Tile(ir.F32)))
	assert.Equal(t, 6.0, p.Latency(p.Pairs(ir.F32)[0]), "that of floats is of other instructions")
	assert.Nil(t, (*Target)(nil).InPairs())
}
