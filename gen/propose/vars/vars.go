// Package vars has the names of loops that schedules of several kinds have.
package vars

import "fmt"

// Of tiles of a contraction.
const (
	Group = "cg" // group of result channels
	Vec   = "cv" // block of channels within the group
	Lane  = "cl" // channel within the block
	Row   = "tr" // pixel within the tile
	Tile  = "tp" // number of the tile within the task
	Set   = "cs" // number of the task along the groups, where it has several
	Chunk = "tc" // number of the task along the pixels, or along an axis that tasks share
)

// Run is the run within the tile.
const Run = "tu"

// Band numbers the bands; the row's own variable counts within one.
const Band = "tb"

// Part is the variable of an axis that is cut into tasks.
const Part = "q"

// Axis is the loop over an axis of the result.
func Axis(i int) string { return fmt.Sprintf("p%d", i) }

// K is the loop over an axis of the sum.
func K(i int) string { return fmt.Sprintf("k%d", i) }
