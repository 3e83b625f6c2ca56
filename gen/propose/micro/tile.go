// Package micro has the register tiles of micro-kernels: which fit a chip's registers, and how many cycles they are estimated to take.
package micro

import (
	"cmp"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/cost"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/kernel/sched"
	"rules_dnn/gen/propose/weights"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/instr"
)

// Tile is a register tile: rows of pixels by vectors of result channels.
type Tile struct {
	Rows, Vectors int64
}

// Like reports whether tiles of one width differ by less than a tenth of their rows.
func (t Tile) Like(o Tile) bool { return 10*max(t.Rows-o.Rows, o.Rows-t.Rows) < max(t.Rows, o.Rows) }

func (t Tile) String() string { return fmt.Sprintf("tile %dx%d", t.Rows, t.Vectors) }

// Tiled is what a tile is chosen for: pixels x channels, these in groups blocks of PerBlock
// vectors each, every result a sum of steps products.
type Tiled struct {
	T                        *target.Target
	Instr                    *instr.Row
	X                        instr.Operand
	Pixels, Groups, PerBlock int64
	Steps                    int64
	// Stored is the type of W in memory where micro-kernels widen it; Invalid: that of the instruction.
	Stored ir.DType
	// Apart is how many bytes a row of X lies from the next, if it is given.
	Apart int64
	// Runs is how often there are so many pixels. A tile has some of a run's pixels, or the pixels of some runs, of
	// at most MostWide vectors.
	Runs, MostWide int64
	// Multiple divides the rows of every tile, if it is given; it divides the pixels.
	Multiple int64
	// Most bounds the rows, if it is given.
	Most int64
	// Packing is how the weights are packed already, if they are.
	Packing *weights.Packing
	// Widening is the cycles in which each set of tasks of other channels widens all of X again, and tasks how many there are of each of its parts.
	Widening float64
	Tasks    int64
	// Needed, if not nil, returns the share of the products that tiles of 'rows' rows compute.
	Needed func(rows int64) float64
}

// NewTiled is of rows that an axis has, or of as many as it usually has where only the run knows.
func NewTiled(t *target.Target, row *instr.Row, x instr.Operand, rows sym.Expr) *Tiled {
	p := &Tiled{T: t, Instr: row, X: x, Pixels: Usual(rows)}
	if _, known := rows.Const(); !known {
		p.Most = MostRows
	}
	return p
}

// Usual is an extent, or what one counts as that only the run knows.
func Usual(e sym.Expr) int64 {
	if n, known := e.Const(); known {
		return n
	}
	return usualPixels
}

// MaxGroups is how many blocks of channels a tile has at most.
const MaxGroups = 8

// Choose picks the tile that takes the fewest cycles by the facts of the chip and the instruction.
func (p *Tiled) Choose() Tile { return p.Ranked()[0] }

// Ranked are the tiles that fit, those of the least loss first: of the fewest cycles where the processor is known, else of the least ratio to
// the fewest cycles of any processor that may run the kernels; one where none fits.
func (p *Tiled) Ranked() []Tile {
	all := p.Fitting()
	if all == nil {
		return []Tile{{max(1, p.Multiple), p.PerBlock}}
	}
	var on [][]float64
	for _, t := range p.T.Processors() {
		q := *p
		q.T = t
		cycles := make([]float64, len(all))
		for i, x := range all {
			cycles[i] = q.cost(x)
		}
		on = append(on, cycles)
	}
	costs := map[Tile]float64{}
	for i, loss := range cost.Losses(on) {
		costs[all[i]] = loss
	}
	slices.SortStableFunc(all, func(a, b Tile) int { return cmp.Compare(costs[a], costs[b]) })
	return all
}

// Fitting are the tiles that fit: of parts of a run's pixels, then of several runs.
func (p *Tiled) Fitting() []Tile {
	step := max(1, p.Multiple)
	var all []Tile
	for g := int64(1); g <= min(p.Groups, MaxGroups); g++ {
		if p.Groups%g != 0 {
			continue
		}
		v := g * p.PerBlock
		if !p.reads(v) {
			continue
		}
		for r := step; r <= p.Pixels && p.Fits(r, v) && (p.Most == 0 || r <= p.Most); r += step {
			all = append(all, Tile{r, v})
		}
		for r := 2 * p.Pixels; r <= p.Runs*p.Pixels && p.Fits(r, v) && v <= p.MostWide; r += p.Pixels {
			all = append(all, Tile{r, v})
		}
	}
	return all
}

// cost is the cycles of all pixels and channels in tiles of one size.
func (p *Tiled) cost(t Tile) float64 {
	parts := float64(p.Groups / (t.Vectors / p.PerBlock))
	if p.Needed != nil {
		parts *= p.Needed(t.Rows)
	}
	if t.Rows > p.Pixels { // of several runs
		return parts * p.rowsCost(p.Runs*p.Pixels, t.Rows, t.Vectors)
	}
	return float64(float64(parts*float64(max(p.Runs, 1)))*p.rowsCost(p.Pixels, t.Rows, t.Vectors)) + p.again(t)
}

// again is the cycles in which tasks widen X again, where there are as many as threads want only by sets of channels: of few tiles of pixels.
func (p *Tiled) again(t Tile) float64 {
	if p.Widening == 0 {
		return 0
	}
	groups, tiles := p.Groups/(t.Vectors/p.PerBlock), (p.Pixels+t.Rows-1)/t.Rows
	for sets := int64(1); sets < groups; sets++ {
		if groups%sets == 0 && sets*tiles*p.Tasks >= MinTasks-MinTasks/Nearly {
			return float64(sets-1) * p.Widening
		}
	}
	return float64(groups-1) * p.Widening
}

// reads reports whether tiles of so many vectors can read the packed weights.
func (p *Tiled) reads(vectors int64) bool {
	return p.Packing.Holds(vectors*p.Instr.Lanes) || p.Pixels == 1 && p.Packing.Apart(p.Instr.Lanes, p.Groups*p.PerBlock)
}

// Fits reports whether registers hold a tile, and the first-level cache what it reads of X beside W.
func (p *Tiled) Fits(rows, vectors int64) bool {
	return !p.displaces(rows) && p.registers(rows, vectors) <= p.T.Registers(p.Instr)
}

// registers returns the number of registers that a tile takes. Compilers allocate them if W is
// widened or there is a single row.
func (p *Tiled) registers(rows, vectors int64) int64 {
	if p.Stored != ir.Invalid || rows == 1 {
		return p.Instr.RegistersCompiled(p.X, rows, vectors)
	}
	return p.Instr.Registers(p.X, rows, vectors)
}

// displaces reports whether so many rows of X, some of each of which are read at every point of the sum, take more lines of their sets of the
// first-level cache than leave W room.
func (p *Tiled) displaces(rows int64) bool {
	if p.Apart == 0 {
		return false
	}
	way := p.T.WayBytes()
	sets := max(way/max(sym.GCD(p.Apart, way), 1), 1)
	return rows > MostRows && rows > sets*max(p.T.Ways()-2, 1)
}

// rowsCost is the cycles of so many pixels of one group: full tiles, and the rest.
func (p *Tiled) rowsCost(pixels, r, v int64) float64 {
	cost := float64(float64(pixels/r) * p.tileCost(r, v))
	if rest := pixels % r; rest > 0 {
		cost += p.tileCost(rest, v)
	}
	return cost
}

func (p *Tiled) tileCost(r, v int64) float64 {
	if p.Instr.Matrix > 0 {
		return cost.MatrixCycles(p.T, p.Instr, r, v, (p.Steps+p.Instr.Matrix-1)/p.Instr.Matrix)
	}
	return cost.PerCall + float64(float64(p.Steps)*max(cost.Step(p.T, p.Instr, p.X, p.Stored, p.Instr.Together(), r, v), cost.Stream(p.T, p.Instr, p.Stored, p.Steps, v)))
}

// page is the bytes up to which processors fetch streams ahead by themselves.
const page = 4096

// Prefetch decides what a micro-kernel fetches ahead: W that comes through the first-level cache, so many elements, and X
// where the loops jump in it, if steps enough share what that takes. W is of the type that is stored; registers of W that are apart walk memory by themselves.
func Prefetch(t *target.Target, row *instr.Row, stored ir.DType, steps, vectors int64, apart bool, k []loop.KLoop) (w int64, x bool) {
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

// NextW is how much of the W that follows its own a tile lets come to the second-level cache: as much as the cache has room for beside its own, where that is
// a stream that calls read again and again; 0 where it is not.
func NextW(t *target.Target, tile *sched.Tile, stored ir.DType, own int64) int64 {
	room := t.L2/int64(stored.Size()) - own
	if tile.Ahead == 0 || room < own/2 || instr.Lookup(tile.Row).Group > 1 {
		return 0
	}
	return min(room, own)
}

// usualPixels is what an extent counts as that only the run knows. Of such pixels those that
// fill no tile are computed one by one, so that tiles of more than MostRows do not pay.
const usualPixels, MostRows = 56, 8

// MinTasks is how many tasks bands leave at least, for threads to share.
const MinTasks = 16

// Nearly as many tasks as threads want are enough: fewer by one of so many.
const Nearly = 8

const FewTasks = 4
