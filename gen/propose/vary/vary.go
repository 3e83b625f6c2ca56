// Package vary has what spaces of parameters of several kinds of schedules are made of.
package vary

import (
	"slices"

	"rules_dnn/gen/kernel/params"
	"rules_dnn/gen/propose/micro"
)

// Proposers decide by rules and estimates. What they decide is a point of a space of parameters (package params), and where lower.Env.Given is one,
// that decides instead: the rules are where a search begins.

// Names of parameters.
const (
	Rows     = "rows"     // of a register tile
	Vectors  = "vectors"  // of a register tile, or of a row of one
	Groups   = "groups"   // 1: tasks are of one group of channels each, outermost; 0: a task has all of some pixels
	Tiles    = "tiles"    // register tiles of a task along its rows
	Band     = "band"     // rows of results that a task computes of one copy of X
	Ahead    = "ahead"    // elements that W is fetched ahead; 0: not
	Share    = "share"    // filters that share what they keep
	Channels = "channels" // that are summed at a time; 0: all
	Filters  = "filters"  // that sum some channels at a time
	Results  = "results"  // of a transform, along an axis
	Parts    = "parts"    // of the result channels, each of which tasks of its own compute
	Pixels   = "pixels"   // of a tile of neighbouring results
)

// GivenTile is the register tile that is given.
func GivenTile(p *params.Point) (micro.Tile, bool) {
	rows, ok1 := p.Get(Rows)
	vectors, ok2 := p.Get(Vectors)
	return micro.Tile{Rows: rows, Vectors: vectors}, ok1 && ok2
}

// PointIn is a point of the values of a space's parameters, and the space; no point where the values are none of it.
func PointIn(s *params.Space, value func(name string) int64) (*params.Point, *params.Space) {
	var values []int64
	for _, x := range s.Params {
		values = append(values, value(x.Name))
	}
	p := s.Of(values...)
	if s.Check(p) != nil {
		return nil, s
	}
	return p, s
}

// Sized are the extents of some tiles.
func Sized(all []micro.Tile, of func(micro.Tile) int64) []int64 {
	var out []int64
	for _, t := range all {
		out = append(out, of(t))
	}
	return params.Ascending(out...)
}

// RowsOf and VectorsOf are those of a tile.
func RowsOf(t micro.Tile) int64    { return t.Rows }
func VectorsOf(t micro.Tile) int64 { return t.Vectors }

// Counts are the numbers from 1 to the least that is no less than most, the greater ones further and further apart, and others besides.
func Counts(most int64, others ...int64) []int64 {
	out := slices.Clone(others)
	for n := int64(1); ; n += max(1, n/8) {
		out = append(out, n)
		if n >= most {
			break
		}
	}
	return params.Ascending(out...)
}

// Divisors are those of n up to a bound.
func Divisors(n, most int64) []int64 {
	var out []int64
	for d := int64(1); d <= min(n, most); d++ {
		if n%d == 0 {
			out = append(out, d)
		}
	}
	return out
}

// Distances are how many elements of a size W may be fetched ahead, in parts and multiples of what the chip's facts say.
func Distances(prefetch, size int64, others ...int64) []int64 {
	out := append(slices.Clone(others), 0)
	for _, bytes := range []int64{prefetch / 2, prefetch, 2 * prefetch, 4 * prefetch} {
		out = append(out, bytes/size)
	}
	return params.Ascending(out...)
}

// Flag is a parameter that is on or off.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
