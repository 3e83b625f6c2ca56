package sel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/target/chips/chipstest"
)

// TestSource: values reach another space row-major; other layouts are made on either side.
func TestSource(t *testing.T) {
	rows, blocked := layout.RowMajor, layout.Blocked(1, 8)
	there, image := rows.In(layout.Device), layout.Texels(1).In(layout.Device)
	for _, c := range []struct {
		written, to, from layout.Layout
		distance          int
	}{
		{rows, blocked, rows, 1},
		{blocked, rows, blocked, 1},
		{rows, there, rows, 1},
		{blocked, there, rows, 2},
		{rows, image, there, 2},
		{blocked, image, there, 3},
		{image, there, image, 1},
		{image, rows, there, 2},
		{image, blocked, rows, 3},
		{there, blocked, rows, 2},
	} {
		assert.Equal(t, c.from, source(c.written, c.to), "%s to %s", c.written, c.to)
		assert.Equal(t, c.distance, distance(c.written, c.to), "%s to %s", c.written, c.to)
	}
}

// TestSpaces: a value's layouts and what it takes to keep it in some of them.
func TestSpaces(t *testing.T) {
	device := chipstest.Target(t, "opencl_images")
	host := chipstest.Target(t, "x86_64_v3")
	x, y := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(1, 16, 8, 8), HasShape: true}, &ir.Value{Name: "y", Type: ir.F32, Shape: ir.Dims(1, 16, 8, 8), HasShape: true}
	g := &block.Graph{Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Blocks: []*block.Block{block.Copy(x, y, "copy", "Identity")}}
	s := newSelector(g, host, Options{Layouts: true})
	require.NoError(t, s.addDevice(device))
	require.NoError(t, s.enumerate())
	blocked, there, image := s.host().blocked, layout.RowMajor.In(layout.Device), layout.Texels(1).In(layout.Device)
	require.Equal(t, []layout.Layout{layout.RowMajor, blocked, there, image}, s.layouts(x))
	assert.Equal(t, []layout.Layout{layout.RowMajor}, s.layouts(ir.ConstValue("c", ir.NewTensor(ir.F32, 1, 16, 8, 8))), "constants lie where they are read")

	moved := 3000.*10 + 4096./12000*3000 // 10 us, 12 GB/s, and 3 GHz on the host
	assert.InDelta(t, moved, s.copies(x, layout.RowMajor, 1|4), 1e-6)
	assert.True(t, math.IsInf(s.copies(x, blocked, 2|4), 1), "it reaches the device from row-major alone")
	assert.False(t, math.IsInf(s.copies(x, blocked, 1|2|4|8), 1))
	assert.True(t, math.IsInf(s.copies(x, layout.RowMajor, 1|8), 1), "an image is made on the device")
	assert.Greater(t, s.copies(x, there, 4|8), 3000.*5, "a conversion there is a launch")

	for _, assigned := range s.assignments(g.Blocks[0]) {
		assert.Equal(t, assigned[x].Space, assigned[y].Space, "a kernel's values lie in one space")
	}
	assert.Len(t, s.assignments(g.Blocks[0]), 4+4)
}

// TestTransferIsVerified: a transfer changes the space and nothing else.
func TestTransferIsVerified(t *testing.T) {
	x, y := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(8, 8), HasShape: true}, &ir.Value{Name: "y", Type: ir.F32, Shape: ir.Dims(8, 8), HasShape: true}
	b := block.Copy(x, y, "copy", "Layout")
	g := &block.Graph{Inputs: []*ir.Value{x}, Blocks: []*block.Block{b}}
	for _, l := range []struct {
		to    layout.Layout
		right bool
	}{
		{layout.RowMajor.In(layout.Device), true},
		{layout.RowMajor, false},
		{layout.Blocked(1, 8).In(layout.Device), false},
	} {
		c := &Choice{Layouts: map[*ir.Value]layout.Layout{y: l.to}, Transfers: map[*block.Block]bool{b: true}}
		err := c.Verify(g, loop.Proofs{})
		assert.Equal(t, l.right, err == nil, "%s: %v", l.to, err)
		c.Views = map[*block.Block][]View{b: nil}
		assert.Error(t, c.Verify(g, loop.Proofs{}), "two things at once")
	}
}
