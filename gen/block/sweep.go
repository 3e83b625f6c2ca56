package block

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// Sweep drops the blocks of which nobody reads a result (chains that only computed a
// shape, for instance) and, of the others, the operands that no load reads. Constants
// live as operands only, so they go with their last reader.
func Sweep(g *Graph) error {
	needed := map[*ir.Value]bool{}
	for _, v := range g.Outputs {
		needed[v] = true
	}
	var kept []*Block // in reverse
	for i := len(g.Blocks) - 1; i >= 0; i-- {
		b := g.Blocks[i]
		if !slices.ContainsFunc(b.Results, func(r *ir.Value) bool { return needed[r] }) {
			continue
		}
		b.dropUnread()
		for _, v := range b.Operands {
			needed[v] = true
		}
		kept = append(kept, b)
	}
	slices.Reverse(kept)
	g.Blocks = kept
	return g.Verify()
}

// dropUnread renumbers the operands to those that a load reads.
func (b *Block) dropUnread() {
	read := make([]bool, len(b.Operands))
	b.Loads(func(l te.Load) {
		if !l.Source.Stage {
			read[l.Source.N] = true
		}
	})
	if !slices.Contains(read, false) {
		return
	}
	to := make([]int, len(b.Operands))
	var kept []*ir.Value
	for i, v := range b.Operands {
		if read[i] {
			to[i] = len(kept)
			kept = append(kept, v)
		}
	}
	b.Operands = kept
	b.MapExprs(func(e te.Expr) te.Expr {
		if l, ok := e.(te.Load); ok && !l.Source.Stage {
			l.Source.N = to[l.Source.N]
			return l
		}
		return e
	})
}
