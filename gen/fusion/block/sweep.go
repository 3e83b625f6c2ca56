package block

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// Sweep drops the blocks of which nobody reads a result (chains that only computed a
// shape, for instance) and, of the others, the operands that no load reads. Constants
// live as operands only, so they go with their last reader. A block that computes a symbol stays
// while something uses that, or where more is taken to be known of it than that it is computed. Of
// blocks that run graphs it drops the results that nobody reads, and what only they need.
func Sweep(g *Graph) {
	needed := map[*ir.Value]bool{}
	for _, v := range g.Outputs {
		needed[v] = true
	}
	symbols := map[string]bool{}
	for _, c := range g.Checks {
		c.A.Vars(symbols)
		c.B.Vars(symbols)
	}
	var kept []*Block // in reverse
	for i := len(g.Blocks) - 1; i >= 0; i-- {
		b := g.Blocks[i]
		if !slices.ContainsFunc(b.Results, func(r *ir.Value) bool { return needed[r] }) &&
			!slices.ContainsFunc(b.Computes(), func(s string) bool { return symbols[s] }) && !b.narrowed(g.Facts) {
			continue
		}
		b.dropUnread(needed, symbols)
		for _, v := range b.Operands {
			needed[v] = true
		}
		b.use(symbols)
		kept = append(kept, b)
	}
	slices.Reverse(kept)
	g.Blocks = kept
}

// narrowed reports whether a number that the block computes is taken to be greater than it may be, or to be
// one number.
func (b *Block) narrowed(f sym.Facts) bool {
	return b.Call != nil && slices.ContainsFunc(b.Call.Computes, func(s opaque.Symbol) bool {
		r, ok := f[s.Name]
		return ok && (r.Lo > s.Lo || r.Lo == r.Hi)
	})
}

// dropUnread leaves the operands, and the results of graphs, that are read. The symbols are those that
// later blocks use.
func (b *Block) dropUnread(needed map[*ir.Value]bool, symbols map[string]bool) {
	switch {
	case b.Call != nil:
		return
	case b.Stage != nil:
		b.dropOperands()
		return
	case b.Control.If != nil:
		b.dropResults(b.Control.If, needed)
	default:
		b.dropStates(b.Control.Loop, needed, symbols)
	}
	for _, g := range b.Control.Graphs() {
		Sweep(g)
	}
	b.setOperands()
}

func (b *Block) dropResults(c *If, needed map[*ir.Value]bool) {
	for _, list := range []*[]*ir.Value{&c.Then.Outputs, &c.Else.Outputs, &b.Results} {
		var kept []*ir.Value
		for k, v := range *list {
			if needed[b.Results[k]] {
				kept = append(kept, v)
			}
		}
		*list = kept
	}
}

// dropStates drops the states that neither the graph around the loop nor what is left of its
// body reads, and of which neither uses a dimension.
func (b *Block) dropStates(l *Loop, needed map[*ir.Value]bool, symbols map[string]bool) {
	l.Parts = slices.DeleteFunc(l.Parts, func(p Part) bool { return !needed[p.Whole] && !sets(p.Dims, symbols) })
	kept := make([]bool, len(l.States))
	for k, s := range l.States {
		kept[k] = needed[s.Last] || l.While && k == 0 || sets(s.Dims, symbols)
	}
	for changed := true; changed; {
		var outputs []*ir.Value
		for k, s := range l.States {
			if kept[k] {
				outputs = append(outputs, s.Next)
			}
		}
		for _, p := range l.Parts {
			outputs = append(outputs, p.Value)
		}
		read, used := l.Body.live(outputs)
		changed = false
		for k, s := range l.States {
			if !kept[k] && (read[s.In] || sets(s.Dims, used)) {
				kept[k], changed = true, true
			}
		}
	}
	k := -1
	l.States = slices.DeleteFunc(l.States, func(State) bool { k++; return !kept[k] })
	l.sync(b)
}

// sets reports whether one of the symbols is a dimension's.
func sets(dims []Dim, symbols map[string]bool) bool {
	return slices.ContainsFunc(dims, func(d Dim) bool { return symbols[d.Name] })
}

// live are the values that computing some outputs reads, and the symbols that it uses.
func (g *Graph) live(outputs []*ir.Value) (read map[*ir.Value]bool, used map[string]bool) {
	read, used = map[*ir.Value]bool{}, map[string]bool{}
	for _, v := range outputs {
		read[v] = true
	}
	for _, c := range g.Checks {
		c.A.Vars(used)
		c.B.Vars(used)
	}
	for i := len(g.Blocks) - 1; i >= 0; i-- {
		b := g.Blocks[i]
		if len(b.Computes()) > 0 || slices.ContainsFunc(b.Results, func(r *ir.Value) bool { return read[r] }) {
			for _, v := range b.Operands {
				read[v] = true
			}
			b.use(used)
		}
	}
	return read, used
}

// dropOperands renumbers the operands to those that a load reads.
func (b *Block) dropOperands() {
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
