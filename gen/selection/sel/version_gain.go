package sel

import (
	"cmp"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/target"
)

const (
	// mostAdded is what the constants of all versions add to the network's, as a part of them, and mostAddedEach those of one to its block's: a tap
	// of nine is a ninth, and less where weights are transformed.
	mostAdded, mostAddedEach = 0.1, 0.125
	// leastShare is the part of all such blocks' time that a block takes at least for which versions are looked for, and leastGain how much of the
	// block's own part they save.
	leastShare, leastGain = 0.01, 0.1
	// leastCycles are those of a run that a version saves at least: it is code, and a condition in each run.
	leastCycles = 5000
)

// AddVersions gives blocks versions for small sizes, the largest size first.
func (c *Choice) AddVersions(g *block.Graph, t *target.Target, o Options) error {
	c.Versions = map[*block.Block][]*Version{}
	left := 0.0
	everyBlock(g, 1, func(b *block.Block, _ float64) {
		if k, ok := c.Kernels[b]; ok {
			left += float64(mostAdded * float64(constantBytes(k)))
		}
	})
	some := o.EveryVersion
	everyBlock(g, 1, func(b *block.Block, _ float64) { some = some || b.Guarded() })
	if !some {
		return nil
	}
	for _, size := range smallSizes {
		s := newSmall(g, t, o, size)
		if s == nil {
			continue
		}
		if err := s.add(c, g, &left); err != nil {
			return err
		}
	}
	return nil
}

// gain is what a version saves of a run.
type gain struct {
	block  *block.Block
	v      *Version
	cycles float64
}

// timed is a block that is computed so often, and what it takes each time.
type timed struct {
	b             *block.Block
	cycles, times float64
}

// runsOf are the blocks that may have versions, as they run at the size, and what all of them take.
func (s *small) runsOf(c *Choice, g *block.Graph) (runs []timed, total float64, err error) {
	everyBlock(g, 1, func(b *block.Block, times float64) {
		k, computed := c.Kernels[b]
		if !computed || err != nil || b.Stage == nil || b.Stage.Update != nil || k.Tuning != nil || !s.shrinks(b) && !k.Packing.Transformed() {
			return
		}
		if vs := c.Versions[b]; len(vs) > 0 {
			k = vs[0].Kernel
		}
		var e Kernel
		if e, err = s.host().estimate(k.Lowered); err == nil {
			runs = append(runs, timed{b, e.Cycles, times})
			total += float64(e.Cycles * times)
		}
	})
	return runs, total, err
}

// add gives versions for one size to the blocks that gain the most for the bytes that they add, until the rest loses little.
func (s *small) add(c *Choice, g *block.Graph, left *float64) error {
	runs, total, err := s.runsOf(c, g)
	if err != nil {
		return err
	}
	var gains []gain
	lost := 0.0
	for _, r := range runs {
		own := c.Kernels[r.b]
		if !s.o.EveryVersion && r.cycles*r.times < leastShare*total {
			continue
		}
		v, err := s.version(c, r.b)
		if err != nil {
			return err
		}
		if v == nil || !s.o.EveryVersion && !v.pays(own, r.cycles) {
			continue
		}
		saved := float64((r.cycles - v.Kernel.Cycles) * r.times)
		gains, lost = append(gains, gain{r.b, v, saved}), lost+saved
	}
	return s.take(c, gains, lost, total-lost, left)
}

// take adds versions until what is lost without the others is little of what a run takes at least.
func (s *small) take(c *Choice, gains []gain, lost, least float64, left *float64) error {
	slices.SortStableFunc(gains, func(x, y gain) int {
		return cmp.Compare(y.cycles*float64(x.v.added), x.cycles*float64(y.v.added))
	})
	for _, x := range gains {
		if lost <= mostLost*least && !s.o.EveryVersion {
			break
		}
		if float64(x.v.added) > *left && !s.o.EveryVersion {
			continue
		}
		if err := x.v.make(); err != nil {
			return err
		}
		lost -= x.cycles
		*left -= float64(x.v.added)
		c.Versions[x.block] = slices.Insert(c.Versions[x.block], 0, x.v)
	}
	return nil
}

// pays reports whether a version takes so many cycles fewer than its block, and adds so few constants, that it is worth its code.
func (v *Version) pays(own Kernel, cycles float64) bool {
	return v.Kernel.Cycles <= (1-leastGain)*cycles && cycles-v.Kernel.Cycles >= leastCycles && float64(v.added) <= mostAddedEach*float64(constantBytes(own))
}
