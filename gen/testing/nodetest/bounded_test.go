package nodetest

import (
	"errors"
	"maps"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
)

// bounding compiles a case as its user would, who bounds what the message says that nothing bounds
// and tries again: by a number that none of the case's own exceeds. What compiles gets a
// graph of its own each time.
func bounding(c *Case, compile func(bounds map[string]sym.Range) error) error {
	bounds := maps.Clone(given[c.Name])
	if bounds == nil {
		bounds = map[string]sym.Range{}
	}
	for {
		err := compile(bounds)
		var open *plan.BoundError
		if !errors.As(err, &open) {
			return err
		}
		before := len(bounds)
		for _, name := range open.Names {
			bounds[name] = sym.Range{Hi: most(c)}
		}
		if len(bounds) == before { // bounds of symbols do not help
			return err
		}
	}
}

// given are bounds that decide a rank: of a Squeeze without axes, and of an If whose branches differ.
var given = map[string]map[string]sym.Range{
	"test_affine_grid_2d_expanded":               {"size_symbols_0": {Lo: 2, Hi: 8}},
	"test_affine_grid_2d_align_corners_expanded": {"size_symbols_0": {Lo: 2, Hi: 8}},
	"test_affine_grid_3d_align_corners_expanded": {"size_symbols_2": {Lo: 2, Hi: 8}},
}

// most is above all dimensions of a case and all numbers of its small integer inputs, and low enough
// for memory of several.
func most(c *Case) int64 {
	top := int64(1)
	note := func(xs []int64) {
		for _, x := range xs {
			top = max(top, min(x, 64))
		}
	}
	for _, list := range [][]*ir.Tensor{c.Inputs, c.Outputs} {
		for _, t := range list {
			note(t.Shape)
		}
	}
	for _, t := range c.Inputs {
		if xs, err := t.Ints(); err == nil && len(xs) <= 16 {
			note(xs)
		}
	}
	return top
}
