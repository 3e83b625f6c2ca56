package lower

import "fmt"

// Variables of loops.
const (
	groupVar = "cg" // group of result channels
	vecVar   = "cv" // block of channels within the group
	laneVar  = "cl" // channel within the block
	rowVar   = "tr" // pixel within the tile
	tileVar  = "tp" // number of the tile within the task
	restVar  = "tq" // number of the pixel among those that fill no tile
	setVar   = "cs" // number of the task along the groups, where it has several
	chunkVar = "tc" // number of the task along the pixels, or along an axis that tasks share
)

// runVar is the run within the tile.
const runVar = "tu"

// bandVar numbers the bands; the row's own variable counts within one.
const bandVar = "tb"

// partOfAxis is the variable of an axis that is cut into tasks.
const partOfAxis = "q"

func axisVar(i int) string { return fmt.Sprintf("p%d", i) }

func kVar(i int) string { return fmt.Sprintf("k%d", i) }
