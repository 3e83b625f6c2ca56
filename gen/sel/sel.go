// Package sel chooses a layout for every value and a kernel for every block.
package sel

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/layout"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/lower"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
)

// Options switch parts off so that their effect can be measured.
type Options struct{ Anchors, Layouts bool }

// Choice is the result: layouts by value, and how each block is lowered.
type Choice struct {
	Layouts map[*ir.Value]layout.Layout
	Lower   func(*block.Block, lower.Layouts, sym.Facts) (*loop.Kernel, []*ir.Value, error)
}

// Run chooses.
func Run(_ *block.Graph, _ *target.Target, _ Options) (*Choice, error) {
	return &Choice{Layouts: map[*ir.Value]layout.Layout{}, Lower: generic}, nil
}

func generic(b *block.Block, lay lower.Layouts, f sym.Facts) (*loop.Kernel, []*ir.Value, error) {
	k, err := lower.Generic(b, lay, f)
	if err != nil {
		return nil, nil, err
	}
	args := append(append([]*ir.Value{}, b.Operands...), b.Results...)
	return k, args, nil
}
