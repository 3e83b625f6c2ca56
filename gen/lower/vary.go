package lower

import (
	"slices"

	"rules_dnn/gen/params"
)

// Proposers decide by rules and estimates. What they decide is a point of a space of parameters (package params), and where Env.Given is one,
// that decides instead: the rules are where a search begins.

// Names of parameters.
const (
	rowsParam     = "rows"     // of a register tile
	vectorsParam  = "vectors"  // of a register tile, or of a row of one
	groupsParam   = "groups"   // 1: tasks are of one group of channels each, outermost; 0: a task has all of some pixels
	tilesParam    = "tiles"    // register tiles of a task along its rows
	bandParam     = "band"     // rows of results that a task computes of one copy of X
	aheadParam    = "ahead"    // elements that W is fetched ahead; 0: not
	shareParam    = "share"    // filters that share what they keep
	channelsParam = "channels" // that are summed at a time; 0: all
	filtersParam  = "filters"  // that sum some channels at a time
	resultsParam  = "results"  // of a transform, along an axis
	partsParam    = "parts"    // of the result channels, each of which tasks of its own compute
	pixelsParam   = "pixels"   // of a tile of neighbouring results
)

// givenTile is the register tile that is given.
func givenTile(p *params.Point) (tile, bool) {
	rows, ok1 := p.Get(rowsParam)
	vectors, ok2 := p.Get(vectorsParam)
	return tile{rows, vectors}, ok1 && ok2
}

// pointIn is a point of the values of a space's parameters, and the space; no point where the values are none of it.
func pointIn(s *params.Space, value func(name string) int64) (*params.Point, *params.Space) {
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

// sized are the extents of some tiles.
func sized(all []tile, of func(tile) int64) []int64 {
	var out []int64
	for _, t := range all {
		out = append(out, of(t))
	}
	return params.Ascending(out...)
}

// rowsOf and vectorsOf are those of a tile.
func rowsOf(t tile) int64    { return t.rows }
func vectorsOf(t tile) int64 { return t.vectors }

// counts are the numbers from 1 to the least that is no less than most, the greater ones further and further apart, and others besides.
func counts(most int64, others ...int64) []int64 {
	out := slices.Clone(others)
	for n := int64(1); ; n += max(1, n/8) {
		out = append(out, n)
		if n >= most {
			break
		}
	}
	return params.Ascending(out...)
}

// divisors are those of n up to a bound.
func divisors(n, most int64) []int64 {
	var out []int64
	for d := int64(1); d <= min(n, most); d++ {
		if n%d == 0 {
			out = append(out, d)
		}
	}
	return out
}

// distances are how many elements of a size W may be fetched ahead, in parts and multiples of what the chip's facts say.
func distances(prefetch, size int64, others ...int64) []int64 {
	out := append(slices.Clone(others), 0)
	for _, bytes := range []int64{prefetch / 2, prefetch, 2 * prefetch, 4 * prefetch} {
		out = append(out, bytes/size)
	}
	return params.Ascending(out...)
}
