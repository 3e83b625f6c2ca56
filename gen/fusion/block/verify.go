package block

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
)

// Verify checks that blocks stand in execution order, that sources exist, and that graphs
// that blocks run compute what they hand out.
func (g *Graph) Verify() error {
	if err := g.verify(map[*ir.Value]bool{}); err != nil {
		return err
	}
	return g.verifySymbols(g.pending())
}

// verify gets the values that the graphs around g have computed before it, and adds g's own.
func (g *Graph) verify(have map[*ir.Value]bool) error {
	for _, v := range g.Inputs {
		have[v] = true
	}
	for _, b := range g.Blocks {
		for _, v := range b.Operands {
			if v.Const == nil && !have[v] {
				return fmt.Errorf("block %s reads %q before it is computed", b.Label(), v.Name)
			}
		}
		if err := b.verify(have); err != nil {
			return err
		}
		for _, r := range b.Results {
			if have[r] {
				return fmt.Errorf("block %s computes %q a second time", b.Label(), r.Name)
			}
			have[r] = true
		}
	}
	for _, v := range g.Outputs {
		if v.Const == nil && !have[v] {
			return fmt.Errorf("no block computes the output %q", v.Name)
		}
	}
	return nil
}

func (b *Block) verify(have map[*ir.Value]bool) error {
	if b.Control != nil {
		return b.verifyControl(have)
	}
	if b.Call != nil {
		return b.verifyCall()
	}
	if len(b.Results) != len(b.Stage.Results) {
		return fmt.Errorf("block %s: %d results of a stage that computes %d", b.Label(), len(b.Results), len(b.Stage.Results))
	}
	for i, s := range b.Stages() {
		if err := b.verifyStage(i, s); err != nil {
			return fmt.Errorf("block %s: %w", b.Label(), err)
		}
	}
	if err := b.verifyTypes(); err != nil {
		return fmt.Errorf("block %s: %w", b.Label(), err)
	}
	return nil
}

func (b *Block) verifyControl(have map[*ir.Value]bool) error {
	read := slices.Clone(b.Operands)
	if b.setOperands(); !slices.Equal(read, b.Operands) {
		return fmt.Errorf("block %s: its operands differ from the values that its graphs read", b.Label())
	}
	for _, g := range b.Control.Graphs() {
		for _, v := range g.Inputs {
			if have[v] {
				return fmt.Errorf("the graph of block %s has the input %q, which an earlier block computes", b.Label(), v.Name)
			}
		}
		if err := g.verify(have); err != nil {
			return fmt.Errorf("in %s: %w", b.Label(), err)
		}
		own := g.computed()
		for v := range own {
			delete(have, v) // what the block hands out are its own results
		}
		for _, v := range g.Inputs {
			delete(have, v)
		}
		given := map[*ir.Value]bool{}
		for _, v := range g.Outputs {
			if !own[v] {
				return fmt.Errorf("block %s returns %q, which no block of its graph computes", b.Label(), v.Name)
			}
			if given[v] && b.Control.If != nil {
				return fmt.Errorf("block %s returns %q twice", b.Label(), v.Name)
			}
			given[v] = true
		}
		if len(g.Outputs) != len(b.Results) {
			return fmt.Errorf("block %s has %d results; its graph has %d outputs", b.Label(), len(b.Results), len(g.Outputs))
		}
	}
	return nil
}

// computed are the values that blocks of g itself give.
func (g *Graph) computed() map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for _, b := range g.Blocks {
		for _, v := range b.Results {
			out[v] = true
		}
	}
	return out
}

// computes reports whether a block of g itself gives v.
func (g *Graph) computes(v *ir.Value) bool {
	return slices.ContainsFunc(g.Blocks, func(b *Block) bool { return slices.Contains(b.Results, v) })
}
