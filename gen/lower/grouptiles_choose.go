package lower

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
)

// groupTile is the tile of a work-group: so many items each way, with register tiles of rows and columns, and how many products of each result
// are between two copies.
type groupTile struct {
	down, across int64 // items
	tall, wide   int64 // rows and columns of an item
	step         int64
	parts        int64 // of each sum, which as many sets of items add
}

func (t groupTile) String() string {
	text := fmt.Sprintf("%dx%d of %dx%d by %d", t.down*t.tall, t.across*t.wide, t.tall, t.wide, t.step)
	if t.parts > 1 {
		text += fmt.Sprintf(" in %d", t.parts)
	}
	return text
}

func (t groupTile) items() int64   { return t.down * t.across * t.parts }
func (t groupTile) rows() int64    { return t.down * t.tall }
func (t groupTile) columns() int64 { return t.across * t.wide }

// localPad parts rows of what items share, so that those that store to one column of several rows do so in memory banks of their own.
const localPad = 4

// bytes of memory that the items share.
func (t groupTile) bytes() int64 {
	bytes := 4 * t.step * t.parts * (t.rows() + t.columns() + 2*localPad)
	if t.parts > 1 {
		bytes += 4 * t.parts * t.rows() * t.columns()
	}
	return bytes
}

// registerTiles are those of an item: tall ones share what they read of W, wide ones of X. Larger ones leave a unit too few groups to hide each
// other's copies: 8x16 took 1.2 to 1.3 times as long as 8x8.
var registerTiles = [][2]int64{{8, 8}, {8, 4}, {4, 8}, {4, 4}, {2, 4}}

// tiles are those of interest that fit, the one of the least estimate first: of each register tile the best few, or all of them where a kernel is
// asked for by its name.
func (g *groupTiles) tiles() []groupTile {
	all := g.fitting()
	estimates := map[groupTile]float64{}
	for _, t := range all {
		estimates[t] = g.estimate(t)
	}
	slices.SortStableFunc(all, func(a, b groupTile) int { return cmp.Compare(estimates[a], estimates[b]) })
	if g.env.Only != "" || len(all) == 0 {
		return all
	}
	kept, of := all[:1:1], map[[2]int64]int{{all[0].tall, all[0].wide}: 1}
	for _, t := range all[1:] {
		if key := [2]int64{t.tall, t.wide}; of[key] < g.env.Tiles {
			of[key]++
			kept = append(kept, t)
		}
	}
	return kept
}

// fitting are the tiles that a device has the registers and the memory for.
func (g *groupTiles) fitting() []groupTile {
	var out []groupTile
	o, row := g.device, g.env.Target.Tile(ir.F32)
	for _, r := range registerTiles {
		if row.Registers(row.Broadcaster(0), r[0], r[1]/row.Lanes) > int64(g.env.Target.VectorRegisters) {
			continue
		}
		for down := int64(1); down <= maxGroupSide; down *= 2 {
			for across := int64(1); across <= maxGroupSide && down*across <= o.GroupItems; across *= 2 {
				for _, step := range groupSteps {
					for parts := int64(1); parts <= maxSumParts && parts*down*across <= o.GroupItems; parts *= 2 {
						t := groupTile{down, across, r[0], r[1], step, parts}
						if g.splits(t) && t.items() >= min(o.SubGroup, o.GroupItems) && t.bytes() <= o.LocalBytes {
							out = append(out, t)
						}
					}
				}
			}
		}
	}
	return out
}

// splits reports whether sums may be added in so many parts: each has several copies, a tile's rows lie together, and tiles are not so small that
// most of what a group does is to copy.
func (g *groupTiles) splits(t groupTile) bool {
	return t.parts == 1 || g.sum >= minPartSteps*t.parts*t.step && t.tall == quad && t.wide == quad && t.rows()*t.columns() >= minPartResults
}

// maxSumParts is the most parts of a sum, minPartSteps how many copies a part has at least, and minPartResults how many results a group.
const maxSumParts, minPartSteps, minPartResults = 8, 2, 512

// maxGroupSide is the most items of a group each way, and groupSteps are how many products may be between copies.
const maxGroupSide = 32

var groupSteps = []int64{8, 16, 32}

// What estimates of groups are made of. They were fitted to 70 kernels of 8 contractions on an NVIDIA H200 (docs/performance.md).
const (
	loadsPerProduct = 0.75 // of a row or a column that an item reads, in products
	waitCycles      = 600  // of a copy that no other group's products hide
	copyShare       = 0.5  // of a copy's time that products do not hide
	busyItems       = 256  // of a unit that keep it busy
	mostAtOnce      = 4    // groups that hide each other's copies
	// Of sums in parts, fitted to 112 kernels of 7 contractions on an NVIDIA H100: of an element that an item copies, and of joining the parts.
	copyCycles, joinCycles = 12, 2400
)

// estimate is the cycles of a tile by the facts of the device.
func (g *groupTiles) estimate(t groupTile) float64 {
	o := g.device
	ceil := func(n, by int64) float64 { return float64((n + by - 1) / by) }
	groups := ceil(usual(g.rows.extent), t.rows()) * ceil(usual(g.columns.extent), t.columns())
	for _, a := range g.batch {
		groups *= float64(usual(a.Extent))
	}
	rounds := math.Ceil(groups / float64(o.Units))
	together := min(rounds, mostAtOnce)
	products := float64(t.tall * t.wide)
	rate := products / (products + float64(loadsPerProduct*float64(t.tall+t.wide)))
	rate *= math.Sqrt(min(1, float64(t.items())*together/busyItems))
	perCycle := float64(max(1, g.env.Target.Parallel/o.Units))
	copied := float64(4*t.step*t.parts*(t.rows()+t.columns())) * float64(o.Units) / g.env.Target.L2BytesPerCycle
	one := float64(t.rows()*t.columns()*t.step*t.parts)/(perCycle*rate) + float64(copied*copyShare) + waitCycles/together
	if t.parts > 1 {
		one += float64(float64(copyCycles*t.step*t.parts*(t.rows()+t.columns())) / perCycle)
	}
	cycles := float64(rounds * ceil(g.sum, t.step*t.parts) * one)
	if t.parts > 1 {
		cycles += float64(rounds * joinCycles / together)
	}
	return cycles
}

// arrangement is how many items each way of those that run in step are neighbours, so that they read few rows and few columns.
func (g *groupTiles) arrangement() (down, across int64) {
	n := g.device.SubGroup
	across = min(g.across, max(1, n/4))
	down = min(g.down, max(1, n/across))
	return down, across
}

// divides reports whether an extent is whole parts.
func (g *groupTiles) divides(r run, size int64) bool {
	n, known := r.extent.Const()
	return known && n%size == 0
}

// walks reports whether neighbours of a factor in memory are neighbours along one of the axes.
func (t *term) walksAlong(names []string) bool {
	if len(t.load.Index) == 0 {
		return false
	}
	last := t.load.Index[len(t.load.Index)-1]
	return slices.ContainsFunc(names, last.Uses)
}
