package sel

import (
	"cmp"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/selection/pbqp"
)

// Kernels that store weights packed, of which only those are left that were not pruned, make libraries and memory as much smaller as the weights are
// (PatDNN 2.5.3). Choices do not give that up for a few percent.

// unpacked is how many times as long as it takes, by estimates or as it was measured, a kernel counts in choices that stores pruned weights in any other
// way, with their zeros or transformed, where another one stores them packed: it has to be faster by a tenth. How many bytes weights have is certain, and ten times
// as many for 2 % of the time are not what a network was pruned for; of estimates that are less than a tenth apart it is not certain which is the greater one.
const unpacked = 1.1

// mostStored is how many times as many weights as another kernel one stores at most where packed weights are asked for. Registers whose filters keep different weights
// store what any of them keeps, which may be most of what was dropped; those that have no filter in some lanes store zeros there, fewer than half.
const mostStored = 2

// packs reports whether a kernel stores pruned weights packed.
func (k Kernel) packs() bool { return k.Lowered != nil && k.Packing.Packed() }

// stored is how many weights a kernel stores that packs them; +Inf of others.
func (k Kernel) stored() float64 {
	if !k.packs() {
		return math.Inf(1)
	}
	e, err := fkw.Parse(k.Packing.Kept)
	if err != nil {
		return math.Inf(1)
	}
	all, _ := e.Elements()
	return float64(all)
}

// storesMore reports whether a kernel does not pack weights, or stores so many more than another one that it is none where packed weights are asked for.
func (k Kernel) storesMore(than float64) bool { return !k.packs() || k.stored() > mostStored*than }

// counted is how many times as long as it takes a kernel counts in choices.
func (k Kernel) counted() float64 {
	if k.packable && !k.packs() {
		return unpacked
	}
	return 1
}

// countsLess reports whether a kernel that pools counts less than those of the contraction and of the pooling by themselves, of which the former may be the only
// one to pack the weights, or to do so where that is wanted.
func (k Kernel) countsLess(sums, pooling Kernel, only bool) bool {
	if only && sums.packs() && k.storesMore(sums.stored()) {
		return false
	}
	k.packable = k.packable || sums.packs()
	sums.packable = k.packable
	return float64(k.Cycles*k.counted()) < float64(sums.Cycles*sums.counted())+pooling.Cycles
}

// wantsPacked reports whether the options ask that the weights of a block are stored packed.
func (s *selector) wantsPacked(b *block.Block) bool {
	return slices.ContainsFunc(b.Origins, func(node string) bool { return s.o.Packed[node] })
}

// packed notes of a block's kernels in some layouts that there are such as pack its weights, and leaves only these where options ask for that, without those that store many
// more weights than others.
func (s *selector) packed(b *block.Block, all []Kernel) []Kernel {
	if !slices.ContainsFunc(all, Kernel.packs) {
		return all
	}
	for i := range all {
		all[i].packable = true
	}
	if s.wantsPacked(b) {
		least := math.Inf(1)
		for _, k := range all {
			least = min(least, k.stored())
		}
		all = slices.DeleteFunc(all, func(k Kernel) bool { return k.storesMore(least) })
	}
	return all
}

// counting is a kernel of a record, with its time as it counts.
type counting struct {
	tuning.Kernel
	counted float64
}

// counting are the kernels of a block's record in the order in which they count, beside one that estimates prefer. Where only such as pack weights are wanted,
// others are left out.
func (s *selector) counting(b *block.Block, lay lower.Layouts, times []tuning.Kernel, estimated Kernel) ([]counting, error) {
	var out []counting
	for _, t := range times {
		c := counting{t, t.Micros}
		if estimated.packable {
			k, _, err := s.recorded(b, lay, t)
			if err != nil {
				return nil, err
			}
			if s.wantsPacked(b) && k.Lowered != nil && k.storesMore(estimated.stored()) {
				continue
			}
			k.packable = k.Lowered != nil // or it is stale
			c.counted = float64(c.counted * k.counted())
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(x, y counting) int { return cmp.Compare(x.counted, y.counted) })
	return out, nil
}

// assigned is the best kernel of a block in an assignment of layouts.
type assigned struct {
	cycles          float64
	name            string
	space           layout.Space
	packs, packable bool
	stored          float64 // weights, if it packs them
}

func assign(k Kernel) assigned {
	if k.Lowered == nil {
		return assigned{cycles: math.Inf(1)}
	}
	return assigned{k.Cycles, k.Name, k.Space, k.packs(), k.packable, k.stored()}
}

// over is by how many cycles more than it takes an assignment counts: kernels that pack weights may have other layouts in the same space. It is +Inf where
// only such are wanted, also of those that store many more than others.
func (c *class) over(of assigned, only bool) float64 {
	packable, least := false, math.Inf(1)
	for _, a := range c.best {
		if a.space == of.space {
			packable = packable || a.packable
		}
		if a.space == of.space && a.packs {
			least = min(least, a.stored)
		}
	}
	switch {
	case only && packable && (!of.packs || of.stored > mostStored*least):
		return math.Inf(1)
	case of.packs || !packable:
		return 0
	}
	return float64(of.cycles * (unpacked - 1))
}

// takeOver leaves the cycles that kernels take in a solution's cost, without those that they count besides.
func (s *selector) takeOver(p *pbqp.Solution) {
	for i, cs := range s.candidates {
		over := float64(cs[p.Choice[i]].over * s.runs[s.blocks[i].Results[0]])
		p.Cost, p.Bound = p.Cost-over, p.Bound-over
	}
}
