package fuse

import (
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/te"
)

// A device's work-group has the sums of its results to itself. Of few results with long sums there are too few groups for all units, so that
// such a product is cut, too: groups add parts of each sum, and another kernel joins these, in order, and computes what is made of the sums. That kernel
// is a launch more, which estimates count.

// mostSumParts is the most parts of a product's sum, leastSumPart the fewest points of one.
const mostSumParts, leastSumPart = 16, 64

// productInParts returns a contraction of parts of the sums, and the block that joins them, or nil if they are estimated to take longer.
func (f *fuser) productInParts(b *block.Block) (best []*block.Block) {
	if b.Stage == nil || b.Stage.Combine == nil || b.Stage.Update != nil || len(b.Placed) > 0 || !contracts(b) {
		return nil
	}
	if f.o.SumParts > 0 {
		return f.cutProduct(b, f.o.SumParts)
	}
	if n, known := points(b.Stage.Axes).Const(); !known || n > f.o.SumResults {
		return nil // enough for all units
	}
	least := f.o.Estimator.Shared(b)
	if math.IsInf(least, 1) {
		return nil
	}
	for n := int64(2); n <= mostSumParts; n++ {
		all := f.cutProduct(b, n)
		if all == nil {
			continue
		}
		if took := f.o.Estimator.Shared(all[0]) + f.o.Estimator.Alone(all[1]); took < least {
			best, least = all, took
		}
	}
	return best
}

// cutProduct cuts the first axis of a sum into so many parts; nil where it does not divide, or they had few points.
func (f *fuser) cutProduct(b *block.Block, n int64) []*block.Block {
	sum, known := points(b.Stage.Reduce).Const()
	axis := slices.IndexFunc(b.Stage.Reduce, func(a te.Axis) bool { return !a.Extent.Is(1) })
	if !known || n < 2 || sum < n*leastSumPart || axis < 0 {
		return nil
	}
	if extent, _ := b.Stage.Reduce[axis].Extent.Const(); extent%n != 0 {
		return nil
	}
	return f.cutAt(b, axis, n)
}
