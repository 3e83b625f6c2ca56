package block

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// Call is what the block of an opaque operator does instead of a stage: its operands and results are
// row-major, and nothing is composed with it. Operands[i] and Results[i] are the numbers, among
// the block's, of what the call takes and gives; -1 where that is absent.
type Call struct {
	*opaque.Call
	Operands, Results []int
}

// call makes the block of an opaque operator.
func (f *former) call(n *ir.Node, c *opaque.Call) *Block {
	b := &Block{Origins: []string{n.Label()}, Ops: []string{n.Op}, Call: &Call{Call: c}}
	b.madeFor(n)
	operand := func(v *ir.Value) int {
		if i := slices.Index(b.Operands, v); i >= 0 {
			return i
		}
		b.Operands = append(b.Operands, v)
		return len(b.Operands) - 1
	}
	reads := map[int]bool{}
	for _, a := range c.Args {
		reads[a.N] = reads[a.N] || a.Kind == opaque.Operand
	}
	for i := range c.Operands {
		at := -1
		switch k := i - len(n.Inputs); {
		case k >= 0:
			at = operand(ir.ConstValue(fmt.Sprintf("%s.constant%d", n.Outputs0(), k), c.Consts[k]))
		case n.Inputs[i] != nil && reads[i]:
			at = operand(f.value(n.Inputs[i]))
		}
		b.Call.Operands = append(b.Call.Operands, at)
	}
	for i := range c.Results {
		at, v := -1, (*ir.Value)(nil)
		if i < len(n.Outputs) {
			v = n.Outputs[i]
		}
		if v == nil && c.Whole {
			v = &ir.Value{Name: fmt.Sprintf("%s.unread%d", n.Name, i), Type: c.Results[i].Type, Shape: c.Results[i].Shape, HasShape: true}
		}
		if v != nil {
			at = len(b.Results)
			b.Results = append(b.Results, v)
		}
		b.Call.Results = append(b.Call.Results, at)
	}
	return b
}

func (b *Block) verifyCall() error {
	c := b.Call
	if b.Stage != nil || b.Control != nil || len(c.Operands) != len(c.Call.Operands) || len(c.Results) != len(c.Call.Results) {
		return fmt.Errorf("block %s: its call has %d operands and %d results, and the block passes %d and %d, or has a stage or a branch besides",
			b.Label(), len(c.Call.Operands), len(c.Call.Results), len(c.Operands), len(c.Results))
	}
	for i, k := range c.Operands {
		if want := c.Call.Operands[i].Type; k >= len(b.Operands) || k >= 0 && b.Operands[k].Type != want {
			return fmt.Errorf("block %s: operand %d of its call is number %d of the block's %d operands; want one of type %s", b.Label(), i, k, len(b.Operands), want)
		}
	}
	for i, k := range c.Results {
		if want := c.Call.Results[i].Type; k >= len(b.Results) || k >= 0 && b.Results[k].Type != want {
			return fmt.Errorf("block %s: result %d of its call is number %d of the block's %d results; want one of type %s", b.Label(), i, k, len(b.Results), want)
		}
	}
	return nil
}

// Computes are the symbols that the block computes.
func (b *Block) Computes() []string {
	if b.Control != nil {
		return b.Control.computes()
	}
	if b.Call == nil {
		return nil
	}
	var out []string
	for _, s := range b.Call.Computes {
		out = append(out, s.Name)
	}
	return out
}

// use adds the symbols of the block's loops and of its values' shapes to a set, those of the
// graphs that it runs included.
func (b *Block) use(used map[string]bool) {
	add := func(es ...sym.Expr) {
		for _, e := range es {
			e.Vars(used)
		}
	}
	for _, v := range slices.Concat(b.Operands, b.Results) {
		add(v.Shape...)
	}
	switch {
	case b.Control != nil:
		if l := b.Control.Loop; l != nil {
			add(l.Trips)
			for _, s := range l.States {
				for _, d := range s.Dims {
					add(d.First)
				}
			}
		}
		if c := b.Control.If; c != nil {
			for _, s := range c.Sets {
				add(s.Then, s.Else)
			}
		}
		for _, g := range b.Control.Graphs() {
			g.use(used)
		}
	case b.Call != nil:
		for _, a := range b.Call.Args {
			add(a.Size)
			add(a.Dims...)
		}
	default:
		for _, s := range b.Stages() {
			useStage(s, add)
		}
	}
}

func useStage(s *te.Stage, add func(...sym.Expr)) {
	for _, a := range slices.Concat(s.Axes, s.Reduce) {
		add(a.Extent)
	}
	for _, e := range s.Exprs() {
		te.Walk(e, func(x te.Expr) { te.EachIndex(x, func(i sym.Expr) { add(i) }) })
	}
}

// use adds the symbols of the graph's checks and blocks to a set.
func (g *Graph) use(used map[string]bool) {
	for _, c := range g.Checks {
		c.A.Vars(used)
		c.B.Vars(used)
	}
	for _, b := range g.Blocks {
		b.use(used)
	}
}

// verifySymbols checks that no block uses a symbol before the block that computes it.
func (g *Graph) verifySymbols(pending map[string]bool) error {
	for _, b := range g.Blocks {
		carried := 0
		computes := b.Computes()
		if b.Control != nil {
			carried = len(b.Control.carries())
			if err := b.set(computes[len(computes)-carried:], pending); err != nil {
				return err
			}
			for _, r := range b.Control.Graphs() {
				if err := r.verifySymbols(pending); err != nil {
					return err
				}
			}
		}
		if err := b.set(computes[:len(computes)-carried], pending); err != nil {
			return err
		}
		if len(pending) == 0 {
			continue // there is nothing that could be used too early
		}
		used := map[string]bool{}
		b.use(used)
		for s := range used {
			if pending[s] {
				return fmt.Errorf("block %s uses the symbol %q before it is computed", b.Label(), s)
			}
		}
	}
	return nil
}

// set notes symbols that the block computes.
func (b *Block) set(names []string, pending map[string]bool) error {
	for _, s := range names {
		if !pending[s] {
			return fmt.Errorf("block %s computes the symbol %q; want a computed symbol that no earlier block computes", b.Label(), s)
		}
		delete(pending, s)
	}
	return nil
}

// pending are the symbols that blocks compute.
func (g *Graph) pending() map[string]bool {
	out := map[string]bool{}
	for _, s := range g.Symbols {
		if s.Computed {
			out[s.Name] = true
		}
	}
	return out
}
