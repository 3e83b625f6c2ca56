package fuse

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target"
)

// Options are what rules may ask of the compiler and the chip.
type Options struct {
	// Off reports whether a rule is disabled, by its name. Nil: all rules are enabled.
	Off func(name string) bool
	// Estimator prices blocks. Nil: Unpriced.
	Estimator Estimator
	// Views keeps concatenations as blocks if other blocks can write their operands in place.
	Views bool
	// Moves composes data movement into blocks that read an element several times, if estimates are
	// lower. It pays where a launch costs more than indices do.
	Moves bool
	// Apart keeps each block of data movement as it is, to measure what composing them gains.
	Apart bool
	// Tasks is the number of tasks that keep the whole chip busy, and TaskElements the elements
	// that one of them takes. 0: reductions are not cut into parts.
	Tasks, TaskElements int64
	// Lanes is the number of neighbouring results of a reduction that a task may compute as a
	// vector. 0: one.
	Lanes int64
	// CacheBytes is the size of the cache of a task's processor. 0: unlimited.
	CacheBytes int64
	// SumResults is the maximum number of results of a product whose sums may be added in parts by
	// one kernel and joined by another, if estimates are lower: a device has too few work-groups
	// for them.
	SumResults int64
	// SumParts, unless it is 0, is the number of parts of the sums of all products that it divides.
	// 1: no product is cut.
	SumParts int64
	// SplitAll takes the best of the estimator's splits of a block even if the block has a lower
	// price.
	SplitAll bool
}

// groupPoints is the minimum number of points that a work-group should have.
const groupPoints = 64

// NewOptions returns the options of a chip's facts.
func NewOptions(t *target.Target) Options {
	o := Options{Moves: t.WorkItems(), Tasks: t.Tasks, TaskElements: t.TaskElements, CacheBytes: t.L2 / 2, Lanes: int64(t.Lanes(ir.F32))}
	if g, err := t.WorkGroups(); err == nil && g.LocalBytes > 0 {
		o.Tasks = min(o.Tasks, groupPoints*g.Units) // which its items share
		o.SumResults = g.Units * g.UnitItems
	}
	return o
}
