package attend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
	"rules_dnn/gen/propose/workgroup"
)

// attentionTile is how a group shares attention: so many queries, and so many keys at a time.
type attentionTile struct {
	rows, chunk int64
	// tall are the rows of an item's tile of results, and tallScores of its tile of scores, wide and wideScores their columns, and step how many products are
	// written out.
	tall, tallScores, wide, wideScores int64
	step                               int64
	items                              int64
	halves                             bool // items of a sub-group multiply together (halves.go)
	ahead                              bool // keys and values of the next chunk are fetched while items compute the one at hand
}

func (t attentionTile) String() string {
	text := fmt.Sprintf("%d queries, %d keys, %dx%d and %dx%d by %d", t.rows, t.chunk, t.tallScores, t.wideScores, t.tall, t.wide, t.step)
	if t.halves {
		text += " in halves"
	}
	if t.ahead {
		text += " ahead"
	}
	return text
}

// name is that of kernels of a tile, without their schedules' digests.
func (t attentionTile) name() string { return fmt.Sprintf("%s %s", Anchor, t) }

// What is tried of tiles.
var (
	attentionRows  = []int64{8, 16, 32, 64}
	attentionKeys  = []int64{16, 32, 64}
	attentionTalls = []int64{2, 4, 8}
	attentionSteps = []int64{8, 16, 32}
)

// fewKeys is the fewest keys of a chunk but where more do not fit: with 16 kernels took longer.
const fewKeys = 32

// tiles are those that fit, the one of the least estimate first.
func (a *attention) tiles() []attentionTile {
	var all []attentionTile
	known := false
	if n, is := a.key.Extent.Const(); is && n > 0 {
		known = true
	}
	for _, rows := range attentionRows {
		for _, chunk := range attentionKeys {
			for _, tall := range attentionTalls {
				for _, tallScores := range attentionTalls {
					for _, step := range attentionSteps {
						t := attentionTile{rows: rows, chunk: chunk, tall: tall, tallScores: tallScores, wide: workgroup.Quad, wideScores: workgroup.Quad, step: step}
						at := *a
						at.attentionTile, at.granule = t, t.rows
						scores, results := at.itemsOf()
						t.items = max(scores, results)
						if !at.fits(t.items, scores, results) {
							continue
						}
						all = append(all, t)
						if t.ahead = true; known && micro.Usual(a.key.Extent) > chunk {
							all = append(all, t)
						}
					}
				}
			}
		}
	}
	all = append(all, a.halfTiles(known)...)
	if many := slices.DeleteFunc(slices.Clone(all), func(t attentionTile) bool { return t.chunk < fewKeys }); len(many) > 0 {
		all = many
	}
	estimates := map[attentionTile]float64{}
	for _, t := range all {
		estimates[t] = a.estimate(t)
	}
	slices.SortStableFunc(all, func(x, y attentionTile) int { return cmp.Compare(estimates[x], estimates[y]) })
	return all
}

// itemsOf are how many items compute scores, and results.
func (a *attention) itemsOf() (scores, results int64) {
	return a.rows / a.tallScores * (a.chunk / a.wideScores), a.rows / a.tall * (a.columns() / a.wide)
}

// fits reports whether a device has the items, the memory and the registers, and of which most have something to do.
func (a *attention) fits(items, scores, results int64) bool {
	o := a.device
	if a.rows%a.tall != 0 || a.rows%a.tallScores != 0 || a.chunk%a.step != 0 || items > min(o.GroupItems, workgroup.MaxTileItems) || a.rows > items || 4*min(scores, results) < items {
		return false
	}
	if products := max(a.tall*a.wide, a.tallScores*a.wideScores) * a.step; !a.halves && products > workgroup.StepProducts || a.rows*a.columns() > maxHeld || a.rows*a.chunk > maxHeld {
		return false
	}
	if a.rows > 8 && micro.Usual(a.queries) <= a.rows/2 || a.chunk > 16 && micro.Usual(a.key.Extent) <= a.chunk/2 {
		return false
	}
	return a.bytes() <= o.LocalBytes && (o.UnitRegisters == 0 || a.registers()*items <= o.UnitRegisters)
}

// maxHeld is the most elements of a value that the items of a group have in their registers.
const maxHeld = 4096

// bytes are those of memory that items share.
func (a *attention) bytes() int64 {
	depth, parts := a.whole(match.PointsOf(a.depth)), a.chunk/a.wideScores+1
	if a.halves {
		return 2*((depth+a.chunk)*a.rows+(depth+a.columns())*a.chunk) + 4*(2*a.rows*parts+4*a.rows)
	}
	return 4 * (depth*(a.rows+workgroup.LocalPad) + depth*(a.chunk+workgroup.LocalPad) + a.chunk*(a.columns()+workgroup.LocalPad) + a.chunk*(a.rows+workgroup.LocalPad) + 2*a.rows*parts + 4*a.rows)
}

// registers is how many an item has, in elements.
func (a *attention) registers() int64 {
	return 2*a.tallScores*a.wideScores + max(a.tallScores*a.wideScores, 2*a.tall*a.wide) + a.tall + a.wide + 40
}

// What estimates are made of, in cycles, fitted to 230 kernels of eight sizes on an NVIDIA H100 (docs/performance.md), of which they are 9 to 19 % off on
// average.
const (
	attentionAlone   = 1.9    // of an instruction of a sub-group that a unit has alone
	attentionWait    = 1625.0 // of a chunk, in which items wait for each other
	attentionFetch   = 50.0   // more of one that is not fetched ahead
	attentionStep    = 40.0   // of a step of products
	attentionEnd     = 7870.0 // of a group, before its first chunk and after the last one
	attentionReads   = 3.2    // of a read of four elements that items share, and attentionSlots instructions of it
	attentionSlots   = 0.73
	attentionPower   = 45.0  // instructions of a score that becomes a weight
	attentionCopy    = 3.4   // of an element that is copied
	attentionCache   = 0.244 // the part of what the second-level cache gives that copies get
	attentionExposed = 0.12  // the part of the lesser of what is computed and what items share that takes time besides
	attentionBeside  = 0.456 // and that of copies and all else
)

// estimate is the cycles of a tile by the facts of the device.
func (a *attention) estimate(t attentionTile) float64 {
	at := *a
	at.attentionTile, at.granule = t, t.rows
	a, o := &at, a.device
	ceil := func(n, by int64) float64 { return float64((n + by - 1) / by) }
	groups := ceil(micro.Usual(a.queries), a.rows)
	for i, x := range a.b.Stage.Axes[:a.b.Depth] {
		if i != a.query {
			groups *= float64(micro.Usual(x.Extent))
		}
	}
	scores, results := a.itemsOf()
	sub, ports := float64(max(1, o.SubGroup)), max(1, float64(a.env.Target.Parallel)/float64(max(1, o.Units*o.SubGroup)))
	depth, keys := float64(a.whole(match.PointsOf(a.depth))), float64(a.chunk)
	products := func(items int64, tall, wide, sum float64) (issue, reads, alone float64) {
		if a.halves {
			return halfProducts(math.Ceil(float64(items)/sub), tall, wide, sum)
		}
		n := sum * (tall + wide) / workgroup.Quad
		slots := float64(tall*wide*sum) + float64(attentionSlots*n)
		subs := math.Ceil(float64(items) / sub)
		return float64(subs * slots), float64(subs * n * attentionReads), float64(attentionAlone * slots)
	}
	i1, r1, a1 := products(scores, float64(a.tallScores), float64(a.wideScores), depth)
	i2, r2, a2 := products(results, float64(a.tall), float64(a.wide), keys)
	each := float64(float64(a.tallScores*a.wideScores) * math.Ceil(float64(scores)/sub)) // scores that become weights
	copied := keys * (depth + float64(a.columns())) / sub
	issue, reads, alone := i1+i2+float64(each*attentionPower)+float64(copied*attentionCopy), r1+r2+float64(each*2), a1+a2+float64(attentionPower*float64(a.tallScores*a.wideScores))
	wait := attentionWait
	if !a.ahead {
		wait += attentionFetch
	}
	wait += float64(attentionStep * (depth + keys) / float64(a.step))
	resident := float64(max(1, min(o.UnitItems/a.items, o.UnitLocalBytes/max(1, a.bytes()))))
	if o.UnitRegisters > 0 {
		resident = max(1, min(resident, float64(o.UnitRegisters/(a.registers()*a.items))))
	}
	chunks := ceil(micro.Usual(a.key.Extent), a.chunk)
	set := func(n float64) float64 {
		if n == 0 {
			return 0
		}
		busy := max(n*issue/ports, n*reads)
		busy += float64(attentionExposed * min(n*issue/ports, n*reads))
		return float64(chunks*max(busy, alone+wait)) + attentionEnd
	}
	per := math.Ceil(groups / float64(max(1, o.Units)))
	whole := math.Floor(per / resident)
	cycles := float64(whole*set(resident)) + set(per-float64(whole*resident))
	read := float64(float64(a.size()) * groups * chunks * keys * (depth + float64(a.columns()))) // keys and values, by each group
	read /= attentionCache * a.env.Target.L2BytesPerCycle
	return max(cycles, read) + float64(attentionBeside*min(cycles, read))
}

// GroupCycles returns the estimated cycles of the best kernel of attention by work-groups, or
// +Inf.
func GroupCycles(b *block.Block, env *lower.Env) float64 {
	a := attentionOf(b, env)
	if a == nil {
		return math.Inf(1)
	}
	for _, t := range a.tiles() {
		if l, err := a.follow(t); err == nil && l != nil {
			return a.estimate(t)
		}
	}
	return math.Inf(1)
}
