package fuse

import (
	"math"

	"rules_dnn/gen/fusion/block"
)

// A contraction may also be computed by several blocks with fewer products, of values that lie in memory between them: a convolution by Winograd's
// algorithm. Each block is a launch, and what lies between them is stored and read, which estimates count: small ones stay whole.

// split is a contraction as the blocks of the way to compute it of the least estimate; nil where the contraction as a whole, or parts of its sums, are
// estimated to take less.
func (f *fuser) split(b *block.Block) (best []*block.Block) {
	if b.Stage == nil || b.Stage.Combine == nil || b.Stage.Update != nil || len(b.Placed) > 0 || !contracts(b) {
		return nil
	}
	least := math.Inf(1)
	for _, all := range f.o.Estimator.Splits(b) {
		if took := f.together(all); best == nil || took < least {
			best, least = all, took
		}
	}
	if best == nil || !f.o.SplitAll && least >= f.whole(b) {
		return nil
	}
	for _, b := range best {
		onlyRead(b)
	}
	return best
}

// whole estimates a contraction by one block, or by parts of its sums.
func (f *fuser) whole(b *block.Block) float64 {
	least := f.o.Estimator.Shared(b)
	if parts := f.productInParts(b); parts != nil {
		least = min(least, f.together(parts))
	}
	return least
}

// together estimates blocks that run one after the other: contractions by groups, and what is none.
func (f *fuser) together(all []*block.Block) float64 {
	sum := 0.0
	for _, b := range all {
		if contracts(b) {
			sum += f.o.Estimator.Shared(b)
		} else {
			sum += f.o.Estimator.Alone(b)
		}
	}
	return sum
}
