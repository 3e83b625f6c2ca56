package fuse

import (
	"fmt"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
)

// mostSpread is the most readers of a move that get one of their own.
const mostSpread = 4

// spread gives each move that reads another move's result a block of its own for that, so that they become one: the elements are moved once
// for each reader, and not once more for all of them. What they compute is named after the result.
func spread(f *fuser) (n int) {
	if !f.o.Moves {
		return 0
	}
	g, names := f.g, f.names
	readers := map[*ir.Value][]*block.Block{}
	for _, b := range g.Blocks {
		for _, v := range b.Operands {
			readers[v] = append(readers[v], b)
		}
	}
	var out []*block.Block // from the last one to the first
	for _, b := range slices.Backward(g.Blocks) {
		out = append(out, b)
		if !b.Moves() || g.IsOutput(b.Results[0]) {
			continue
		}
		v := b.Results[0]
		all := readers[v]
		if len(all) < 2 || len(all) > mostSpread || slices.ContainsFunc(all, func(r *block.Block) bool { return !r.Moves() }) {
			continue
		}
		for i, r := range all[1:] {
			c := *b
			x := &ir.Value{Name: names.Name(fmt.Sprintf("%s.read%d", v.Name, i+1)), Type: v.Type, Shape: v.Shape, HasShape: true}
			c.Results = []*ir.Value{x}
			r.Operands = slices.Clone(r.Operands)
			r.Operands[slices.Index(r.Operands, v)] = x
			for _, o := range c.Operands {
				readers[o] = append(readers[o], &c)
			}
			out = append(out, &c)
			n++
		}
	}
	slices.Reverse(out)
	g.Blocks = out
	return n
}

// namesOf are those of a graph's values, and of the graphs' that its blocks run.
func namesOf(g *block.Graph) *ir.Names {
	names := &ir.Names{}
	g.All(func(r *block.Graph) {
		names.Take(r.Inputs...)
		names.Take(r.Outputs...)
		for _, b := range r.Blocks {
			names.Take(b.Operands...)
			names.Take(b.Results...)
		}
	})
	return names
}
