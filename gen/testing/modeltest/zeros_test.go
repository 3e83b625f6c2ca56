package modeltest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
)

// sparsity is how weights are zero that someone else pruned: blocks of so many filters and channels are kept or dropped as a whole.
type sparsity struct {
	name              string
	filters, channels int64
	kept              float64
	// stored are the chips whose kernels leave out what is zero.
	stored []string
}

// clearBlocks drops blocks of a matrix [filters, channels], or of [filters, channels, taps...], where each tap is a channel.
func (s sparsity) clearBlocks(w *ir.Tensor) {
	r := rand.New(rand.NewPCG(11, 12))
	keep := map[[2]int64]bool{}
	channels := w.Len() / w.Shape[0]
	for f := range w.Shape[0] {
		for c := range channels {
			block := [2]int64{f / s.filters, c / s.channels}
			if _, known := keep[block]; !known {
				keep[block] = r.Float64() < s.kept
			}
			if !keep[block] {
				setNumber(w, f*channels+c, 0)
			}
		}
	}
}

// TestZeros: weights with zeros that no mask tells of. Of blocks at least as high as a register has lanes kernels leave the zeros out without being
// asked; of lower ones, and of single weights, where so few are kept that the filters of a register keep little together. All else is dense.
func TestZeros(t *testing.T) {
	for _, s := range []sparsity{
		{"blocks of 16 x 1", 16, 1, 0.25, Chips},
		{"blocks of 32 x 32", 32, 32, 0.25, Chips},
		{"blocks of 16 x 4, half of them", 16, 4, 0.5, Chips},
		{"blocks of 8 x 8", 8, 8, 0.2, Chips},
		{"blocks of 4 x 4", 4, 4, 0.25, []string{"x86_64", "x86_64_v3", "arm64"}},
		{"one weight of 50", 1, 1, 0.02, Chips},
		{"one weight of 4", 1, 1, 0.25, nil},
		{"one weight of 10", 1, 1, 0.1, []string{"x86_64", "x86_64_v3", "arm64"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			for _, rows := range []int64{1, 24} {
				p := prunedProduct{name: s.name, rows: rows, depth: 512, out: 256, transposed: true, zeros: s.clearBlocks}
				_, inputs := p.graph()
				var stored []string
				for chip, got := range everywhere(t, func() *ir.Graph { g, _ := p.graph(); return g }, inputs) {
					if anyTile(got, func(m *loop.MicroKernel) bool { return m.Kept != nil }) {
						stored = append(stored, chip)
					}
				}
				slices.Sort(stored)
				assert.Equal(t, slices.Sorted(slices.Values(s.stored)), stored, "of %d rows", rows)
			}
		})
	}
}

// TestZerosOfWindows: in convolutions of stride 1 filters leave out what is zero, each by itself: those of a point single weights, and those of
// windows whole kernels, of which weights anywhere may be left.
func TestZerosOfWindows(t *testing.T) {
	for _, c := range []convolution{
		{name: "points", x: []int64{1, 64, 12, 33}, w: []int64{40, 64, 1, 1}, pads: []int64{0, 0, 0, 0}, zeros: sparsity{filters: 1, channels: 1, kept: 0.1}.clearBlocks},
		{name: "windows", x: []int64{1, 64, 12, 33}, w: []int64{40, 64, 3, 3}, pads: []int64{1, 1, 1, 1}, zeros: sparsity{filters: 1, channels: 1, kept: 0.02}.clearBlocks},
		{name: "blocks of windows", x: []int64{1, 64, 12, 33}, w: []int64{48, 64, 3, 3}, pads: []int64{1, 1, 1, 1}, zeros: sparsity{filters: 16, channels: 9, kept: 0.2}.clearBlocks},
	} {
		t.Run(c.name, func(t *testing.T) {
			for chip, p := range c.run(t) {
				assert.True(t, anyTile(p, func(m *loop.MicroKernel) bool { return m.Kept != nil }), "%s: %s", chip, p)
			}
		})
	}
}
