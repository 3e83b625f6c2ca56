package tiled

import (
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/sched"
)

// Where windows are dilated far, or are about as wide as what they move over, whole taps of many results are padding: of a window of 3x3 that is dilated by 12 over
// 33x33 four products of ten, of 128 taps over 49 frames six. Micro-kernels leave out the taps that are padding for all results of a tile.

const (
	// skipWays is for how many sets of taps along an axis there is code: all that three taps have, from the last one alone to the first one alone.
	skipWays = 5
	// leastSkipped is the part of the products that are to be left out at least, as each set is a micro-kernel of its own.
	leastSkipped = 1.0 / 10
)

// skips is for how many sets of taps there is code; 0 where few products are padding.
func (c *Laid) skips(p *Tiling) int64 {
	if c.copy == nil || c.Runs > 1 || !c.mayLeaveOut() || c.computed(p.Rows) == 1 {
		return 0
	}
	return skipWays
}

// mayLeaveOut reports whether micro-kernels of a copied X may leave out taps that are padding.
func (c *Laid) mayLeaveOut() bool {
	return c.Pixel >= 0 && !c.Window && c.Kept == 0 && c.Pooling[0] == 0 && len(c.merged) == 0
}

// computed returns the share of the products that tiles of n pixels compute: 1 if few taps are
// padding.
func (c *Laid) computed(pixels int64) float64 {
	if n := c.needed(pixels); n <= 1-leastSkipped {
		return n
	}
	return 1
}

// needed is the part of the products that tiles of so many pixels of a row compute.
func (c *Laid) needed(pixels int64) float64 {
	needed := 1.0
	for _, w := range c.Load.Guard {
		needed *= c.neededBy(w, pixels)
	}
	return needed
}

// neededBy is the part of the taps along an axis at which some result of a tile is not padding by a condition, over all tiles; 1 where the condition is on
// something else.
func (c *Laid) neededBy(w te.Within, pixels int64) float64 {
	lo, known := w.Lo.Const()
	hi, both := w.Hi.Const()
	at, zero := te.Axis{}, map[string]sym.Expr{}
	tap := at
	var steps [2]int64
	for k, axes := range [][]te.Axis{c.Block.Stage.Axes, c.Reduce} {
		for _, a := range axes {
			e, linear := sym.Coefficient(w.E, a.Var, c.Nest.Facts)
			n, isConst := e.Const()
			switch {
			case !linear || !isConst || n < 0 || n > 0 && steps[k] > 0:
				return 1
			case n > 0 && k == 0:
				at, steps[k] = a, n
			case n > 0:
				tap, steps[k] = a, n
			}
			zero[a.Var] = sym.Const(0)
		}
	}
	first, alone := w.E.Subst(zero, c.Nest.Facts).Const()
	points, _ := at.Extent.Const()
	taps, _ := tap.Extent.Const()
	if !known || !both || !alone || points < 1 || points > MostBands || taps < 2 {
		return 1
	}
	rows := int64(1)
	if at.Var == c.Block.Stage.Axes[c.Pixel].Var {
		rows = pixels
	}
	sum := int64(0)
	for i := int64(0); i < points; i += rows {
		size := min(rows, points-i)
		from, to := sched.Needed(lo, hi, first+i*steps[0], (size-1)*steps[0], steps[1], taps)
		sum += size * (to - from)
	}
	return float64(sum) / float64(points*taps)
}
