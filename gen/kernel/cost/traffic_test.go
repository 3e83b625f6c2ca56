package cost

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
)

// TestWalked: for a filter tiles read the channels of X of which it keeps kernels; for all filters, all of X.
func TestWalked(t *testing.T) {
	kept := &loop.Kept{Kernels: 180, Channels: 64}
	x := &nest{n: 1, micro: &loop.MicroKernel{Kept: kept}, stored: &sched.Nonzeros{Filters: 1}}
	x.path = x.loops(3) // the second one walks filters
	copied := &access{x: x, of: te.Source{Stage: true}}
	for k, want := range []float64{1, 1, 18.0 / 64, 18.0 / 64} {
		assert.InDelta(t, want, x.walked(copied, k), 1e-9, "within %d loops", k)
	}
	assert.InDelta(t, 1, x.walked(&access{x: x, of: te.Source{N: 1}, constant: true}, 2), 0, "of weights only what is stored is counted anyhow")
	assert.InDelta(t, 1, x.walked(&access{x: x, of: te.Source{Stage: true, N: 1}}, 2), 0, "results are all stored")
	kept.Kernels = 10 * 2 * kept.Channels
	assert.InDelta(t, 1, x.walked(copied, 2), 0)
	x.micro = &loop.MicroKernel{}
	assert.InDelta(t, 1, x.walked(copied, 2), 0, "dense weights")
}
