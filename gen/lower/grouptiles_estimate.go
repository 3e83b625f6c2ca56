package lower

import (
	"math"

	"rules_dnn/gen/target"
)

// What estimates of groups are made of, in cycles. They were fitted to 2278 kernels of 67 contractions on an NVIDIA H100 (docs/performance.md).
const (
	readSlots  = 1.1  // instructions that a sub-group issues to read four elements that items share
	copySlots  = 1.5  // instructions of an element that an item copies
	stepSlots  = 4    // instructions of a step besides
	readCycles = 3    // of such a read of a sub-group, which all sub-groups of a unit do one after the other
	exposed    = 0.18 // the part of the lesser of what is computed and what is read that takes time besides
	aloneRate  = 2.1  // cycles of an instruction of a sub-group whose unit has no other one to issue
	aloneRead  = 3    // cycles of a point of the sum that such a sub-group waits
	stepCycles = 360  // of a step, in which items wait for each other
	endCycles  = 4000 // of a group, before its first step and after its last one
	joinCycles = 124  // of a part of the sums
	// otherRegisters are those of an item besides sums, what it has fetched, and a row and a column.
	otherRegisters = 25
)

// registers is how many an item has, in elements.
func (t groupTile) registers() int64 {
	n := t.tall*t.wide + t.tall + t.wide + otherRegisters
	if t.ahead {
		n += t.copied()
	}
	return n
}

// copied is how many elements an item copies in a step.
func (t groupTile) copied() int64 { return t.step * t.parts * (t.rows() + t.columns()) / t.items() }

// resident is how many groups a unit has registers, memory and room for at once.
func (t groupTile) resident(o *target.OpenCL) int64 {
	n := min(o.UnitItems/t.items(), o.UnitLocalBytes/t.bytes())
	if o.UnitRegisters > 0 {
		n = min(n, o.UnitRegisters/(t.registers()*t.items()))
	}
	return max(1, n)
}

// unit is what a unit of a device makes of a tile.
type unit struct {
	groupTile
	subGroups, ports, steps float64
}

// step is the cycles of a step of so many groups that a unit computes at once: what their sub-groups issue, what they read of memory that they share,
// or what one alone takes.
func (u unit) step(groups float64) float64 {
	reads := float64(float64(u.groupTile.step*(u.tall+u.wide)) / quad)
	slots := float64(u.tall*u.wide*u.groupTile.step) + float64(readSlots*reads) + float64(copySlots*float64(u.copied())) + stepSlots
	issue := float64(math.Ceil(groups*u.subGroups/u.ports) * slots)
	shared := float64(groups * u.subGroups * reads * readCycles)
	alone := float64(aloneRate*slots) + float64(aloneRead*float64(u.groupTile.step))
	return max(max(issue, shared)+float64(exposed*min(issue, shared)), alone)
}

// cycles is those of so many groups at once.
func (u unit) cycles(groups float64) float64 {
	if groups == 0 {
		return 0
	}
	cycles := float64(u.steps*max(u.step(groups), u.step(1)+stepCycles)) + endCycles
	if u.parts > 1 {
		cycles += float64(joinCycles * u.parts)
	}
	return cycles + float64(groups*float64(u.rows()*u.columns()*u.parts)/(u.ports*16))
}

// estimate is the cycles of a tile by the facts of the device: its units compute as many groups at once as they have room for, one such set after
// the other.
func (g *groupTiles) estimate(t groupTile) float64 {
	g = g.with(t)
	o := g.device
	ceil := func(n, by int64) float64 { return float64((n + by - 1) / by) }
	groups := ceil(usual(g.rows.extent), t.rows()) * ceil(usual(g.columns.extent), t.columns())
	for _, a := range g.batch {
		groups *= float64(usual(a.Extent))
	}
	u := unit{groupTile: t, subGroups: max(1, float64(t.items())/float64(max(1, o.SubGroup))), steps: ceil(g.sum, t.step*t.parts)}
	u.ports = max(1, float64(g.env.Target.Parallel)/float64(max(1, o.Units*o.SubGroup)))
	each, resident := math.Ceil(groups/float64(max(1, o.Units))), float64(t.resident(o))
	whole := math.Floor(each / resident)
	cycles := float64(whole*u.cycles(resident)) + u.cycles(each-float64(whole*resident))
	copied := float64(groups * float64(4*g.sum*(t.rows()+t.columns())))
	return max(cycles, copied/g.env.Target.L2BytesPerCycle)
}
