package hostile

import (
	"maps"
	"slices"
)

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func chainCases(m *maker) error    { return nil }
func typeCases(m *maker) error     { return nil }
func fileCases(m *maker) error     { return nil }
func orderCases(m *maker) error    { return nil }
func sparseCases(m *maker) error   { return nil }
func constantCases(m *maker) error { return nil }
func controlCases(m *maker) error  { return nil }
func opsetCases(m *maker) error    { return nil }
func symbolCases(m *maker) error   { return nil }
