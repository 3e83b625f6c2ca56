package sel

import (
	"cmp"
	"slices"

	"rules_dnn/gen/fusion/block"
)

// mostLost is what a variant's run may lose by estimates, as a part of what it takes with the best kernels, where kernels read the weights of the
// choice's own kernels and others would be faster: a library has as few more weights as this allows. Estimates take the loss for greater than
// it is: resnet50 for AVX2 with all weights of AVX-512's kernels was to take 7.5 % longer, and took 4.
const mostLost = 0.05

// apart are the blocks of a variant that lose by reading those weights.
type apart struct {
	blocks []separable
	least  float64 // cycles of a run with the best kernels
}

// separable is a block whose best kernel reads weights of its own, which take so many bytes.
type separable struct {
	block *block.Block
	best  Kernel
	loss  float64 // cycles of a run
	bytes int64
}

// add notes a block that runs so often, the kernel that shares weights, or is the best one where none does, and the best one.
func (a *apart) add(b *block.Block, k, best Kernel, times float64) {
	a.least += float64(best.Cycles * times)
	if loss := (k.Cycles - best.Cycles) * times; loss > 0 {
		a.blocks = append(a.blocks, separable{b, best, loss, constantBytes(best)})
	}
}

// constantBytes are those of the constants that a kernel reads.
func constantBytes(k Kernel) int64 {
	sum := int64(0)
	for _, b := range k.Kernel.Buffers {
		if n, known := b.Size.Const(); b.Const && known {
			sum += n * int64(b.Type.Size())
		}
	}
	return sum
}

// choose gives blocks their best kernels until the rest lose little enough: those first that gain the most for their bytes, of which
// the last ones turn out not to be needed where a larger one came after them.
func (a *apart) choose(kernels map[*block.Block]Kernel) {
	lost := 0.0
	for _, x := range a.blocks {
		lost += x.loss
	}
	slices.SortStableFunc(a.blocks, func(x, y separable) int { return cmp.Compare(y.loss*float64(x.bytes), x.loss*float64(y.bytes)) })
	most := mostLost * a.least
	n := 0
	for ; n < len(a.blocks) && lost > most; n++ {
		lost -= a.blocks[n].loss
	}
	chosen := a.blocks[:n]
	slices.SortStableFunc(chosen, func(x, y separable) int { return cmp.Compare(y.bytes, x.bytes) })
	for _, x := range chosen {
		if lost+x.loss <= most {
			lost += x.loss
			continue
		}
		kernels[x.block] = x.best
	}
}
