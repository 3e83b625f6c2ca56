package lower

import (
	"rules_dnn/gen/loop"
	"rules_dnn/gen/target"
)

// tile is a register tile: rows of pixels by vectors of result channels.
type tile struct {
	rows, vectors int64
}

// chooseTile picks the tile that computes pixels x channels in the fewest cycles by the
// chip's facts: an FMA for each accumulator, a load for each vector of weights, and for each
// pixel one broadcast. groups is the number of channel blocks, of perBlock vectors each.
func chooseTile(t *target.Target, pixels, groups, perBlock int64) tile {
	best, bestCost := tile{1, perBlock}, -1.0
	for g := int64(1); g <= groups && g <= 8; g++ {
		if groups%g != 0 {
			continue
		}
		v := g * perBlock
		for r := int64(1); r <= pixels && fits(t, r, v); r++ {
			cost := float64(groups/g) * rowsCost(t, pixels, r, v)
			if bestCost < 0 || cost < bestCost {
				best, bestCost = tile{r, v}, cost
			}
		}
	}
	return best
}

func fits(t *target.Target, rows, vectors int64) bool {
	broadcast := int64(1)
	if t.BroadcastOperand {
		broadcast = 0
	}
	return rows*vectors+vectors+broadcast <= int64(t.VectorRegisters)
}

func rowsCost(t *target.Target, pixels, r, v int64) float64 {
	cost := float64(pixels/r) * stepCost(t, r, v)
	if rest := pixels % r; rest > 0 {
		cost += stepCost(t, rest, v)
	}
	return cost
}

// fmaLatency in cycles bounds small tiles: their accumulators wait for themselves.
const fmaLatency = 4

func stepCost(t *target.Target, r, v int64) float64 {
	fma := float64(r*v) / t.FMAPerCycle
	loads := float64(v) + float64(r)/2
	return max(fma, loads, fmaLatency)
}

// TileCycles estimates one call of a micro-kernel.
func TileCycles(t *target.Target, m *loop.MicroKernel) float64 {
	step := stepCost(t, m.Rows, m.Vectors)
	if !m.Broadcast {
		step = max(step, float64(m.Vectors+m.Rows*m.Vectors)/2)
	}
	return float64(m.Steps())*step + float64(m.Rows*m.Vectors)
}
