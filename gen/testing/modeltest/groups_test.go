package modeltest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/program/plan"
)

// TestGroups: groups of channels that begin within the blocks of storage, that fill blocks, that are parts of one, and
// that are too few to be read in blocks; channels whose last block is not full.
func TestGroups(t *testing.T) {
	same, none := []int64{1, 1, 1, 1}, []int64{0, 0, 0, 0}
	for _, c := range []convolution{
		{name: "within blocks", x: []int64{1, 96, 9, 10}, w: []int64{96, 24, 3, 3}, group: 4, pads: same, add: true},
		{name: "last block not full", x: []int64{1, 72, 14, 14}, w: []int64{72, 24, 3, 3}, group: 3, pads: same, add: true},
		{name: "strides", x: []int64{2, 72, 15, 13}, w: []int64{72, 24, 3, 3}, group: 3, pads: same, strides: []int64{2, 2}},
		{name: "whole blocks", x: []int64{1, 64, 9, 8}, w: []int64{64, 32, 3, 3}, group: 2, pads: none},
		{name: "whole blocks of one point", x: []int64{1, 64, 6, 8}, w: []int64{96, 32, 1, 1}, group: 2, pads: none},
		{name: "one point within blocks", x: []int64{1, 72, 6, 8}, w: []int64{72, 24, 1, 1}, group: 3, pads: none},
		{name: "parts of a block", x: []int64{1, 64, 7, 7}, w: []int64{64, 4, 3, 3}, group: 16, pads: same},
		{name: "more results than channels", x: []int64{1, 24, 8, 8}, w: []int64{80, 12, 3, 3}, group: 2, pads: same},
		{name: "odd channels", x: []int64{1, 42, 8, 8}, w: []int64{42, 21, 3, 3}, group: 2, pads: same},
		{name: "symbolic", x: []int64{1, 72, 14, 19}, w: []int64{72, 24, 3, 3}, group: 3, pads: same, symbolic: true, add: true},
	} {
		c.between = true
		t.Run(c.name, func(t *testing.T) {
			blocked := false
			for _, p := range c.run(t) {
				blocked = blocked || readsBlocks(p)
			}
			assert.Equal(t, c.w[1]%4 == 0, blocked, "a chip's code reads the groups in blocks")
		})
	}
}

// readsBlocks reports whether the convolution with groups is a register-tiled kernel that reads blocks of channels.
func readsBlocks(p *plan.Program) bool {
	for _, c := range p.Calls() {
		in := c.Block.Operands
		grouped := slices.ContainsFunc(in, func(v *ir.Value) bool { return v.Name == "w" })
		blocked := slices.ContainsFunc(in, func(v *ir.Value) bool { return p.Layouts[v] != layout.RowMajor })
		if grouped && blocked && c.Kernel.Anchor == "contraction" {
			return true
		}
	}
	return false
}

// TestLastBlock: where the last block of channels is not full, sums and products of channels run over the blocks, too.
func TestLastBlock(t *testing.T) {
	for _, channels := range []int64{24, 72, 36} {
		c := convolution{name: "squeezed", x: []int64{2, 16, 9, 10}, w: []int64{channels, 16, 1, 1}, pads: []int64{0, 0, 0, 0}, squeeze: true, between: true}
		p := c.run(t)["x86_64_v4"]
		for v, l := range p.Layouts {
			if len(v.Shape) == 4 && v.Shape[1].Is(channels) && v.Shape[2].Is(9) {
				assert.EqualValues(t, 16, l.Along(1), "%d channels: %s in %s", channels, v.Name, p)
			}
		}
	}
}

// TestBands: rows whose windows overlap share a copy of the input, where the rows divide into bands of one length.
func TestBands(t *testing.T) {
	same := []int64{1, 1, 1, 1}
	for _, c := range []struct {
		convolution
		tasks int64 // on arm64_cortex_a55, whose depthwise convolutions copy what they read
	}{
		{convolution{name: "depthwise", x: []int64{1, 64, 16, 12}, w: []int64{64, 1, 3, 3}, group: 64, pads: same}, 8 * 16 / 8},
		{convolution{name: "strides", x: []int64{2, 64, 16, 12}, w: []int64{64, 1, 3, 3}, group: 64, pads: same, strides: []int64{2, 2}, add: true}, 2 * 8 * 8 / 4},
		{convolution{name: "a prime number of rows", x: []int64{1, 64, 17, 12}, w: []int64{64, 1, 3, 3}, group: 64, pads: same}, 8 * 17},
		{convolution{name: "no overlap", x: []int64{1, 64, 16, 12}, w: []int64{64, 1, 1, 3}, group: 64, pads: []int64{0, 1, 0, 1}}, 8 * 16},
		{convolution{name: "groups", x: []int64{1, 96, 8, 10}, w: []int64{96, 24, 3, 3}, group: 4, pads: same}, 4 * 8 / 2},
	} {
		c.between = true
		t.Run(c.name, func(t *testing.T) {
			c.run(t)
			g, _ := c.graph(rand.New(rand.NewPCG(1, 2)))
			p, err := Compile(g, Config{Chip: "arm64_cortex_a55"})
			require.NoError(t, err)
			at := slices.IndexFunc(p.Calls(), func(s *plan.Call) bool {
				return slices.ContainsFunc(s.Block.Operands, func(v *ir.Value) bool { return v.Name == "w" })
			})
			tasks, known := p.Calls()[at].Kernel.Tasks().Const()
			assert.True(t, known)
			assert.Equal(t, c.tasks, tasks)
		})
	}
}
