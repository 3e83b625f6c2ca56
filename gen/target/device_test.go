package target

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeviceDefaults: facts that a file leaves out, and what estimates make of them.
func TestDeviceDefaults(t *testing.T) {
	parse := func(facts string) (*Target, *OpenCL) {
		c, err := Parse([]byte(strings.Replace(avx2, `"cpu"`, `"opencl": {"group_items": 64, "workers": 128`+facts+`}, "cpu"`, 1)))
		require.NoError(t, err)
		o, err := c.WorkGroups()
		require.NoError(t, err)
		return c, o
	}
	c, o := parse("")
	assert.Equal(t, int64(128), c.Alignment())
	assert.InDelta(t, 3, o.Clock(), 0)
	assert.InDelta(t, 15000, o.Launch(), 0)
	assert.InDelta(t, 30000, o.Transfer(0), 0)
	assert.InDelta(t, 33000, o.Transfer(12000), 0, "a microsecond more")
	assert.Equal(t, int64(128), o.UnitItems, "two groups")
	assert.Zero(t, o.UnitLocalBytes)
	_, o = parse(`, "local_bytes": 1000, "unit_items": 512, "unit_registers": 4096`)
	assert.Equal(t, []int64{512, 2000, 4096}, []int64{o.UnitItems, o.UnitLocalBytes, o.UnitRegisters})
	c, o = parse(`, "align_bytes": 512, "clock_mhz": 1500, "launch_us": 2, "transfer_us": 4, "link_gb_per_s": 24`)
	assert.Equal(t, int64(512), c.Alignment())
	assert.InDelta(t, 2, o.Clock(), 0)
	assert.InDelta(t, 6000, o.Launch(), 0)
	assert.InDelta(t, 15000, o.Transfer(24000), 0)
	assert.Equal(t, int64(32), (&Target{VectorBits: 256}).Alignment(), "of a processor")
}
