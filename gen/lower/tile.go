package lower

import (
	"cmp"
	"fmt"
	"slices"

	"rules_dnn/gen/cost"
	"rules_dnn/gen/instr"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sched"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
)

// tile is a register tile: rows of pixels by vectors of result channels.
type tile struct {
	rows, vectors int64
}

// like reports whether tiles of one width differ by less than a tenth of their rows.
func (t tile) like(o tile) bool { return 10*max(t.rows-o.rows, o.rows-t.rows) < max(t.rows, o.rows) }

func (t tile) String() string { return fmt.Sprintf("tile %dx%d", t.rows, t.vectors) }

// tiled is what a tile is chosen for: pixels x channels, these in groups blocks of perBlock
// vectors each, every result a sum of steps products.
type tiled struct {
	t                        *target.Target
	instr                    *instr.Row
	x                        instr.Operand
	pixels, groups, perBlock int64
	steps                    int64
	// stored is the type of W in memory where micro-kernels widen it; Invalid: that of the instruction.
	stored ir.DType
	// apart is how many bytes a row of X lies from the next, if it is given.
	apart int64
	// runs is how often there are so many pixels. A tile has some of a run's pixels, or the pixels of some runs, of
	// at most mostWide vectors.
	runs, mostWide int64
	// multiple divides the rows of every tile, if it is given; it divides the pixels.
	multiple int64
	// most bounds the rows, if it is given.
	most int64
	// packing is how the weights are packed already, if they are.
	packing *Packing
	// widening is the cycles in which each set of tasks of other channels widens all of X again, and tasks how many there are of each of its parts.
	widening float64
	tasks    int64
}

// newTiled is of rows that an axis has, or of as many as it usually has where only the run knows.
func newTiled(t *target.Target, row *instr.Row, x instr.Operand, rows sym.Expr) *tiled {
	p := &tiled{t: t, instr: row, x: x, pixels: usual(rows)}
	if _, known := rows.Const(); !known {
		p.most = mostRows
	}
	return p
}

// usual is an extent, or what one counts as that only the run knows.
func usual(e sym.Expr) int64 {
	if n, known := e.Const(); known {
		return n
	}
	return usualPixels
}

// maxGroups is how many blocks of channels a tile has at most.
const maxGroups = 8

// choose picks the tile that takes the fewest cycles by the facts of the chip and the instruction.
func (p *tiled) choose() tile { return p.ranked()[0] }

// ranked are the tiles that fit, those of the least loss first: of the fewest cycles where the processor is known, else of the least ratio to
// the fewest cycles of any processor that may run the kernels; one where none fits.
func (p *tiled) ranked() []tile {
	all := p.fitting()
	if all == nil {
		return []tile{{max(1, p.multiple), p.perBlock}}
	}
	var on [][]float64
	for _, t := range p.t.Processors() {
		q := *p
		q.t = t
		cycles := make([]float64, len(all))
		for i, x := range all {
			cycles[i] = q.cost(x)
		}
		on = append(on, cycles)
	}
	costs := map[tile]float64{}
	for i, loss := range cost.Losses(on) {
		costs[all[i]] = loss
	}
	slices.SortStableFunc(all, func(a, b tile) int { return cmp.Compare(costs[a], costs[b]) })
	return all
}

// fitting are the tiles that fit: of parts of a run's pixels, then of several runs.
func (p *tiled) fitting() []tile {
	step := max(1, p.multiple)
	var all []tile
	for g := int64(1); g <= min(p.groups, maxGroups); g++ {
		if p.groups%g != 0 {
			continue
		}
		v := g * p.perBlock
		if !p.reads(v) {
			continue
		}
		for r := step; r <= p.pixels && p.fits(r, v) && (p.most == 0 || r <= p.most); r += step {
			all = append(all, tile{r, v})
		}
		for r := 2 * p.pixels; r <= p.runs*p.pixels && p.fits(r, v) && v <= p.mostWide; r += p.pixels {
			all = append(all, tile{r, v})
		}
	}
	return all
}

// cost is the cycles of all pixels and channels in tiles of one size.
func (p *tiled) cost(t tile) float64 {
	parts := float64(p.groups / (t.vectors / p.perBlock))
	if t.rows > p.pixels { // of several runs
		return parts * p.rowsCost(p.runs*p.pixels, t.rows, t.vectors)
	}
	return float64(float64(parts*float64(max(p.runs, 1)))*p.rowsCost(p.pixels, t.rows, t.vectors)) + p.again(t)
}

// again is the cycles in which tasks widen X again, where there are as many as threads want only by sets of channels: of few tiles of pixels.
func (p *tiled) again(t tile) float64 {
	if p.widening == 0 {
		return 0
	}
	groups, tiles := p.groups/(t.vectors/p.perBlock), (p.pixels+t.rows-1)/t.rows
	for sets := int64(1); sets < groups; sets++ {
		if groups%sets == 0 && sets*tiles*p.tasks >= minTasks-minTasks/nearly {
			return float64(sets-1) * p.widening
		}
	}
	return float64(groups-1) * p.widening
}

// reads reports whether tiles of so many vectors can read the packed weights.
func (p *tiled) reads(vectors int64) bool {
	return p.packing.holds(vectors*p.instr.Lanes) || p.pixels == 1 && p.packing.apart(p.instr.Lanes, p.groups*p.perBlock)
}

func (p *tiled) fits(rows, vectors int64) bool {
	return !p.displaces(rows) && p.instr.Registers(p.x, rows, vectors) <= p.t.Registers(p.instr)
}

// displaces reports whether so many rows of X, some of each of which are read at every point of the sum, take more lines of their sets of the
// first-level cache than leave W room.
func (p *tiled) displaces(rows int64) bool {
	if p.apart == 0 {
		return false
	}
	way := p.t.WayBytes()
	sets := max(way/max(sym.GCD(p.apart, way), 1), 1)
	return rows > mostRows && rows > sets*max(p.t.Ways()-2, 1)
}

// rowsCost is the cycles of so many pixels of one group: full tiles, and the rest.
func (p *tiled) rowsCost(pixels, r, v int64) float64 {
	cost := float64(float64(pixels/r) * p.tileCost(r, v))
	if rest := pixels % r; rest > 0 {
		cost += p.tileCost(rest, v)
	}
	return cost
}

// callCycles is what a tile costs besides its products: the call, and accumulators that
// are filled and emptied.
const callCycles = 16

func (p *tiled) tileCost(r, v int64) float64 {
	if p.instr.Matrix > 0 {
		return matrixCycles(p.t, p.instr, r, v, (p.steps+p.instr.Matrix-1)/p.instr.Matrix)
	}
	return callCycles + float64(float64(p.steps)*max(stepCost(p.t, p.instr, p.x, p.stored, p.instr.Together(), r, v), stream(p.t, p.instr, p.stored, p.steps, v)))
}

// TileCycles estimates one call of a micro-kernel.
func TileCycles(t *target.Target, m *loop.MicroKernel) float64 {
	if m.Instr.Matrix > 0 {
		return matrixCycles(t, m.Instr, m.Rows, m.Vectors, m.MatrixSteps())
	}
	if m.Kept != nil && !m.Broadcast() {
		return keptCycles(t, m)
	}
	return callCycles + float64(float64(m.Steps())*max(stepCost(t, m.Instr, m.X, m.Stored, m.Narrow, m.Rows, m.Vectors), stream(t, m.Instr, m.Stored, m.Steps(), m.Vectors)))
}

// CallCycles estimates one call of a micro-kernel whose operands are in the first-level cache.
func CallCycles(t *target.Target, m *loop.MicroKernel) float64 {
	if m.Instr.Matrix > 0 {
		return matrixCycles(t, m.Instr, m.Rows, m.Vectors, m.MatrixSteps())
	}
	if m.Kept != nil && !m.Broadcast() {
		return keptCycles(t, m)
	}
	return callCycles + float64(float64(m.Steps())*stepCost(t, m.Instr, m.X, m.Stored, m.Narrow, m.Rows, m.Vectors))
}

// stream is the cycles in which one point's registers of W come from the second-level cache: all
// tiles of pixels read the same W, which stays in the first-level one only where it leaves room.
func stream(t *target.Target, row *instr.Row, stored ir.DType, steps, v int64) float64 {
	bytes := v * row.Bytes()
	if stored != ir.Invalid {
		bytes = bytes / int64(row.W.Size()) * int64(stored.Size())
	}
	if steps*bytes <= t.L1D*3/4 {
		return 0
	}
	return float64(bytes) / t.L2BytesPerCycle
}

// page is the bytes up to which processors fetch streams ahead by themselves.
const page = 4096

// prefetch decides what a micro-kernel fetches ahead: W that comes through the first-level cache, so many elements, and X
// where the loops jump in it, if steps enough share what that takes. W is of the type that is stored; registers of W that are apart walk memory by themselves.
func prefetch(t *target.Target, row *instr.Row, stored ir.DType, steps, vectors int64, apart bool, k []loop.KLoop) (w int64, x bool) {
	if t.PrefetchBytes == 0 {
		return 0, false
	}
	if steps*vectors*row.Lanes*row.Group*int64(stored.Size()) > t.L1D/2 {
		w = t.PrefetchBytes / int64(stored.Size())
		if apart {
			w = max(w/vectors/row.Lanes, 1) * row.Lanes
		}
	}
	if n := len(k); n > 1 {
		x = k[n-2].Extent > 1 && k[n-2].XStep*int64(row.X.Size()) >= page && k[n-1].Extent >= row.Lanes
	}
	return w, x
}

// nextW is how much of the W that follows its own a tile lets come to the second-level cache: as much as the cache has room for beside its own, where that is
// a stream that calls read again and again; 0 where it is not.
func nextW(t *target.Target, tile *sched.Tile, stored ir.DType, own int64) int64 {
	room := t.L2/int64(stored.Size()) - own
	if tile.Ahead == 0 || room < own/2 || instr.Lookup(tile.Row).Group > 1 {
		return 0
	}
	return min(room, own)
}

// hidden is the part of the loads and instructions that costs time although others take
// longer: what runs beside the bottleneck is not free.
const hidden = 1.0 / 16

// stepCost is the cycles of one point of the reduction. Products, loads and instructions
// each have a rate, and an accumulator waits for its last value. W that is stored in 16 bits is
// widened first; sums in 16 bits are of so many points.
func stepCost(t *target.Target, row *instr.Row, x instr.Operand, stored ir.DType, narrow, r, v int64) float64 {
	loads, instrs := row.Loads(x, r, v)
	loads /= t.LoadsPerCycle
	issue := (float64(r*v*row.Ops) + instrs) / t.IssuePerCycle
	fma := row.Applications(x, r, v, t.Units(row), narrow)/t.FMAPerCycle + float64(float64(v)*t.Widen(stored))
	beside := loads + issue
	if stored != ir.Invalid && x == instr.Memory && v == 1 {
		beside = 1/t.LoadsPerCycle + issue // products bring X themselves: conversions run beside them best
	}
	return max(fma, loads, issue, t.Latency(row)) + float64(hidden*beside)
}

// usualPixels is what an extent counts as that only the run knows. Of such pixels those that
// fill no tile are computed one by one, so that tiles of more than mostRows do not pay.
const usualPixels, mostRows = 56, 8

// minTasks is how many tasks bands leave at least, for threads to share.
const minTasks = 16

// nearly as many tasks as threads want are enough: fewer by one of so many.
const nearly = 8

const fewTasks = 4
