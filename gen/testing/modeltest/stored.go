package modeltest

import (
	"fmt"
	"math/rand/v2"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/layout/layouttest"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
)

// AnyLayouts gives each value a random layout that it can have, or none.
func AnyLayouts(seed uint64) func(*ir.Value) (layout.Layout, bool) {
	r := rand.New(rand.NewPCG(seed, 9))
	given := map[*ir.Value]layout.Layout{}
	return func(v *ir.Value) (layout.Layout, bool) {
		l, known := given[v]
		if !known && r.IntN(8) > 0 {
			l = layouttest.Layout(r, len(v.Shape))
		}
		given[v] = l
		return l, l != layout.RowMajor
	}
}

// CompileStored runs all passes on a graph whose values are stored as is asked, wherever kernels can have them so.
func CompileStored(g *ir.Graph, c Config, stored func(*ir.Value) (layout.Layout, bool)) (*plan.Program, error) {
	chip, err := Chip(c.Chip)
	if err != nil {
		return nil, err
	}
	return compile(&pipeline.State{Graph: g, Target: chip, Stored: stored}, c.Disable)
}

// RunStored compiles a graph so and runs it on inputs by name.
func RunStored(g *ir.Graph, c Config, stored func(*ir.Value) (layout.Layout, bool), inputs map[string]*ir.Tensor) (*plan.Program, []*ir.Tensor, error) {
	p, err := CompileStored(g, c, stored)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range p.Inputs {
		if inputs[v.Name] == nil {
			return nil, nil, fmt.Errorf("no input %q", v.Name)
		}
	}
	out, err := runTexts(p, InputsOf(p, inputs))
	return p, out, err
}
