package workgroup

import (
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
	"rules_dnn/gen/propose/micro"
)

// groupCosts are what estimates of groups are made of, in cycles.
type groupCosts struct {
	readSlots   float64 // instructions that a sub-group issues to read four elements that items share
	copySlots   float64 // instructions of an element that an item copies
	windowSlots float64 // more of one of a window, whose place is computed anew for each point of the sum
	placeSlots  float64 // more of one of a window, whose points of the sum are ordered so that a step is at one place
	keptSlots   float64 // more of one at a point of the sum that a table tells
	tableSlots  float64 // of such a point, for all that an item copies there
	stepSlots   float64 // instructions of a step besides
	readCycles  float64 // of such a read of a sub-group, which all sub-groups of a unit do one after the other
	exposed     float64 // the part of the lesser of what is computed and what is read that takes time besides
	aloneRate   float64 // cycles of an instruction of a sub-group whose unit has no other one to issue
	aloneRead   float64 // cycles of a point of the sum that such a sub-group waits
	stepCycles  float64 // of a step, in which items wait for each other
	fetchCycles float64 // of a step at least: what the next one needs comes from memory in it
	joinCycles  float64 // of a part of the sums
	joinRate    float64 // results of a part that a port of a unit joins in a cycle
	cacheRate   float64 // the part of what the second-level cache gives that copies get
	registers   int64   // of an item besides sums, what it has fetched, and a row and a column
	// A sum has so many parts at most. Of these an item's tile has so many results, and a group so many at least.
	mostParts, leastTile, mostTile, leastResults int64
}

// Both were fitted to kernels on an NVIDIA H100 (docs/performance.md): to 1400 of ten contractions of few results and of parts of their sums, and to 2278
// of 67 contractions most of which have many. What those of pruned weights take besides was fitted to 126 kernels of nine layers of VGG-16 and resnet50.
var (
	fewResults = &groupCosts{readSlots: 0.5, copySlots: 5, windowSlots: 45, placeSlots: 10, keptSlots: 10, tableSlots: 66, stepSlots: 2, readCycles: 3.7, exposed: 0.1, aloneRate: 2, aloneRead: 1.1,
		stepCycles: 350, fetchCycles: 1340, joinCycles: 60, joinRate: 3.8, cacheRate: 0.45, registers: 38, mostParts: 16, leastTile: 16, mostTile: 32, leastResults: 256}
	manyResults = &groupCosts{readSlots: 1.1, copySlots: 1.5, keptSlots: 10, tableSlots: 66, stepSlots: 4, readCycles: 3, exposed: 0.18, aloneRate: 2.1, aloneRead: 3,
		stepCycles: 360, joinCycles: 124, joinRate: 16, cacheRate: 1, registers: 25, mostParts: 8, leastTile: 16, mostTile: 16, leastResults: 1024}
)

const (
	endCycles = 4000 // of a group, before its first step and after its last one
	// fewSets is how many results of each item that units have at once are few.
	fewSets = 4
)

// costsOf are those of a contraction of so many results as it has, of whose sums it may add parts.
func (g *groupTiles) costsOf() *groupCosts {
	results := micro.Usual(g.rows.extent) * micro.Usual(g.columns.extent)
	for _, a := range g.batch {
		part := slices.ContainsFunc(g.X.Load.Index, func(e sym.Expr) bool { return e.Uses(a.Var) && match.UsesOneOf(e, g.Reduce) })
		if !part {
			results *= micro.Usual(a.Extent)
		}
	}
	if results < fewSets*g.device.Units*g.device.UnitItems {
		return fewResults
	}
	return manyResults
}

// registers is how many an item has, in elements.
func (g *groupTiles) registers(t groupTile) int64 {
	return t.tall*t.wide + t.tall + t.wide + t.copied()*t.size()/4 + g.costs.registers
}

// copied is how many elements an item copies in a step.
func (t groupTile) copied() int64 { return t.step * t.parts * (t.rows() + t.columns()) / t.items() }

// resident is how many groups a unit has registers, memory and room for at once.
func (g *groupTiles) resident(t groupTile) int64 {
	o := g.device
	n := min(o.UnitItems/t.items(), o.UnitLocalBytes/t.bytes())
	if o.UnitRegisters > 0 {
		n = min(n, o.UnitRegisters/(g.registers(t)*t.items()))
	}
	return max(1, n)
}

// unit is what a unit of a device makes of a tile.
type unit struct {
	groupTile
	*groupCosts
	subGroups, ports, steps float64
	copies                  float64 // instructions of an element that is copied
}

// step is the cycles of a step of so many groups that a unit computes at once: what their sub-groups issue, what they read of memory that they share,
// or what one alone takes.
func (u unit) step(groups float64) float64 {
	if u.halves {
		return u.halfStep(groups)
	}
	reads := float64(float64(u.groupTile.step*(u.tall+u.wide)) / Quad)
	slots := float64(u.tall*u.wide*u.groupTile.step) + float64(u.readSlots*reads) + float64(u.copies*float64(u.copied())) + u.stepSlots
	issue := float64(math.Ceil(groups*u.subGroups/u.ports) * slots)
	shared := float64(groups * u.subGroups * reads * u.readCycles)
	alone := float64(u.aloneRate*slots) + float64(u.aloneRead*float64(u.groupTile.step))
	return max(max(issue, shared)+float64(u.exposed*min(issue, shared)), alone)
}

// cycles is those of so many groups at once.
func (u unit) cycles(groups float64) float64 {
	if groups == 0 {
		return 0
	}
	cycles := float64(u.steps*max(u.step(groups), u.step(1)+u.stepCycles, u.fetchCycles)) + endCycles
	if u.parts > 1 {
		cycles += float64(u.joinCycles * float64(u.parts))
	}
	return cycles + float64(groups*float64(u.rows()*u.columns()*u.parts)/(u.ports*u.joinRate))
}

// estimate is the cycles of a tile by the facts of the device: its units compute as many groups at once as they have room for, one such set after
// the other.
func (g *groupTiles) estimate(t groupTile) float64 {
	g = g.with(t)
	o := g.device
	ceil := func(n, by int64) float64 { return float64((n + by - 1) / by) }
	groups := ceil(micro.Usual(g.rows.extent), t.rows()) * ceil(micro.Usual(g.columns.extent), t.columns())
	for _, a := range g.batch {
		groups *= float64(micro.Usual(a.Extent))
	}
	u := unit{groupTile: t, groupCosts: g.costs, subGroups: max(1, float64(t.items())/float64(max(1, o.SubGroup))), steps: ceil(g.sum, t.step*t.parts)}
	u.copies = g.copySlots()
	u.ports = max(1, float64(g.env.Target.Parallel)/float64(max(1, o.Units*o.SubGroup)))
	each, resident := math.Ceil(groups/float64(max(1, o.Units))), float64(g.resident(t))
	whole := math.Floor(each / resident)
	cycles := float64(whole*u.cycles(resident)) + u.cycles(each-float64(whole*resident))
	copied := float64(groups * float64(int64(g.X.Load.Type.Size())*g.sum*(t.rows()+t.columns())))
	return max(cycles, copied/(g.costs.cacheRate*g.env.Target.L2BytesPerCycle))
}

// copySlots are the instructions of an element that an item copies, of both factors on average. Indices of a window are quotients of the sum's.
func (g *groupTiles) copySlots() float64 {
	all := float64(g.groupTile.rows() + g.groupTile.columns())
	slots := g.costs.copySlots
	if g.kept != nil {
		columns := g.groupTile.columns()
		across := min(Evenly(columns), g.items()/g.parts)
		return slots + float64((float64(g.costs.keptSlots*float64(columns))+float64(g.costs.tableSlots*float64(across)))/all)
	}
	for n, t := range []*match.Term{g.X, g.W} {
		if g.packed[n] != nil || !g.windowed(t) {
			continue
		}
		more, size := g.costs.windowSlots, g.groupTile.rows()
		if g.packed[1-n] != nil {
			more = g.costs.placeSlots
		}
		if n == 1 {
			size = g.groupTile.columns()
		}
		slots += float64(more*float64(size)) / all
	}
	return slots
}

// windowed reports whether an index of a factor is made of an axis of the sum and one of its rows or columns.
func (g *groupTiles) windowed(t *match.Term) bool {
	return slices.ContainsFunc(t.Load.Index, func(e sym.Expr) bool {
		return match.UsesOneOf(e, g.Reduce) && (match.UsesOneOf(e, g.rows.Axes) || match.UsesOneOf(e, g.columns.Axes))
	})
}

// TileCycles returns the estimated cycles of the best kernel of a contraction whose items share
// what they read, or +Inf.
func TileCycles(b *block.Block, env *lower.Env) float64 {
	least := math.Inf(1)
	g := sharedFactors(b, env)
	if g == nil {
		return least
	}
	all, err := g.keeping()
	if err != nil {
		return least // making the kernel reports the error
	}
	for _, g := range all {
		if tiles := g.tiles(); len(tiles) > 0 {
			least = min(least, g.estimate(tiles[0]))
		}
	}
	return least
}
