package schedtest

import "strings"

// Ahead: as GroupTiles, and what a step copies is fetched while the items compute the one before.
func Ahead() Example {
	x := GroupTiles()
	x.Name += " that fetch ahead"
	x.Schedule = strings.NewReplacer("  item a = ", "  ahead\n  item a = ", "  item d = ", "  ahead\n  item d = ").Replace(x.Schedule)
	return x
}
