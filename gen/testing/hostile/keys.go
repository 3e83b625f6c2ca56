package hostile

import (
	"maps"
	"slices"
)

// sortedKeys are a map's keys, in an order that is the same each time.
func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
