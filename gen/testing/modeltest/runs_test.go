package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// TestRuns: of small images a register tile has pixels of several rows, the last one what is left of them.
func TestRuns(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "windows", x: []int64{1, 32, 14, 14}, w: []int64{256, 32, 3, 3}, pads: same, strides: []int64{2, 2}, add: true},
		{name: "rows that fill no tile", x: []int64{2, 32, 9, 13}, w: []int64{256, 32, 3, 3}, pads: same, strides: []int64{2, 2}},
		{name: "one point", x: []int64{1, 64, 14, 14}, w: []int64{512, 64, 1, 1}, pads: none, strides: []int64{2, 2}, add: true},
		{name: "last block not full", x: []int64{1, 24, 14, 13}, w: []int64{250, 24, 3, 3}, pads: same, strides: []int64{2, 2}},
		{name: "groups", x: []int64{1, 64, 14, 14}, w: []int64{512, 32, 3, 3}, group: 2, pads: same, strides: []int64{2, 2}},
	} {
		c.between = true
		t.Run(c.name, func(t *testing.T) {
			p := c.run(t)["x86_64_v4"]
			assert.True(t, anyTile(p, func(m *loop.MicroKernel) bool { return m.Run > 0 }), p.String())
		})
	}
}

// TestApart: where each weight is used once, the registers of a tile are read from places of their own.
func TestApart(t *testing.T) {
	none := []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "blocks", x: []int64{1, 64, 1, 1}, w: []int64{128, 64, 1, 1}, pads: none, add: true},
		{name: "last block not full", x: []int64{1, 35, 1, 1}, w: []int64{44, 35, 1, 1}, pads: none},
		{name: "windows", x: []int64{1, 32, 3, 3}, w: []int64{72, 32, 3, 3}, pads: none},
		{name: "groups", x: []int64{1, 96, 1, 1}, w: []int64{120, 48, 1, 1}, group: 2, pads: none},
	} {
		t.Run(c.name, func(t *testing.T) {
			for chip, p := range c.run(t) {
				assertPieces(t, p)
				if chip != "x86_64_v4" {
					continue
				}
				assert.True(t, anyTile(p, func(m *loop.MicroKernel) bool { return m.VecStep > 0 }), p.String())
			}
		})
	}
}

// anyTile reports whether a micro-kernel of the program is so.
func anyTile(p *plan.Program, is func(m *loop.MicroKernel) bool) bool {
	found := false
	for _, c := range p.Calls() {
		loop.Walk(c.Kernel.Body, func(s loop.Stmt) bool {
			if t, ok := s.(loop.Tile); ok {
				found = found || is(t.Micro)
			}
			return true
		})
	}
	return found
}

// TestShares: short pixel axes are cut into tasks for threads to share, and groups of channels are tasks where X stays in the cache.
func TestShares(t *testing.T) {
	none := []int64{0, 0, 0, 0}
	for _, c := range []struct {
		convolution
		tasks int64 // on x86_64_v4
	}{
		{convolution{name: "expanded", x: []int64{1, 96, 14, 14}, w: []int64{576, 96, 1, 1}, pads: none, add: true}, 6 * 7},
		{convolution{name: "projected", x: []int64{1, 576, 7, 7}, w: []int64{160, 576, 1, 1}, pads: none}, 2 * 5},
		{convolution{name: "one tile", x: []int64{1, 64, 2, 2}, w: []int64{64, 64, 1, 1}, pads: none}, 1},
		{convolution{name: "many pixels", x: []int64{1, 16, 112, 112}, w: []int64{96, 16, 1, 1}, pads: none}, 175},
	} {
		c.between = true
		t.Run(c.name, func(t *testing.T) {
			p := c.run(t)["x86_64_v4"]
			found := false
			for _, call := range p.Calls() {
				if slices.ContainsFunc(call.Block.Operands, func(v *ir.Value) bool { return v.Name == "w" }) {
					n, _ := call.Kernel.Tasks().Const()
					assert.Equal(t, c.tasks, n, p.String())
					found = true
				}
			}
			assert.True(t, found)
		})
	}
}
