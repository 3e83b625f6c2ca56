package fuse

import (
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// attend makes one block of each softmax and the two products around it, whose scores are in no memory then, where work-groups are estimated to take
// less for it: the table allows one contraction in a block, and this is its exception for attention.
func attend(f *fuser) int {
	n := 0
	gone := map[*block.Block]bool{} // results of one are no scores of another
	for i, b := range f.g.Blocks {
		scores, rows, m := f.attention(b)
		if m == nil || gone[scores] || gone[rows] || !f.attends(scores, rows, b, m) {
			continue
		}
		gone[scores], gone[rows], gone[b] = true, true, true
		f.g.Blocks[i] = m
		n++
	}
	f.g.Blocks = slices.DeleteFunc(f.g.Blocks, func(b *block.Block) bool { return gone[b] })
	return n
}

// attends compares estimates. Those of three kernels take it that what goes to memory goes there while they compute, which it does not where scores and what
// a softmax makes of them stay in no cache: both are stored and read again.
func (f *fuser) attends(scores, rows, product, all *block.Block) bool {
	together := f.o.Estimator.Shared(all)
	if math.IsInf(together, 1) {
		return false
	}
	apart := f.o.Estimator.Alone(rows)
	for _, b := range []*block.Block{scores, product} {
		took := f.o.Estimator.Shared(b)
		if math.IsInf(took, 1) {
			took = f.o.Estimator.Alone(b)
		}
		apart += took
	}
	apart += f.o.Estimator.Memory(f.bytes(scores.Results[0]) + f.bytes(rows.Results[0]))
	return together < apart-float64(2*f.o.Estimator.Queued())
}

// bytes is how many a value has, as far as that is known.
func (f *fuser) bytes(v *ir.Value) float64 {
	n := sym.Const(int64(v.Type.Size()))
	for _, d := range v.Shape {
		n = sym.Mul(n, d)
	}
	least, _ := n.Bounds(f.g.Facts)
	return float64(least)
}

// attention is a product, the softmax that it reads by rows, and the product that this one reads, with all three as one block; nil where a block is no
// such product.
func (f *fuser) attention(b *block.Block) (scores, rows, all *block.Block) {
	if b.Stage == nil || b.Stage.Combine == nil || b.Stage.Update != nil || len(b.Placed) > 0 || !contracts(b) {
		return nil, nil, nil
	}
	for n, v := range b.Operands {
		if rows = f.def[v]; !f.single(v) || rows.Stage == nil || rows.Stage.Combine != nil || len(rows.Placed) == 0 || contracts(rows) {
			continue
		}
		for k, s := range rows.Operands {
			if scores = f.def[s]; !f.single(s) || scores.Stage == nil || scores.Stage.Combine == nil || len(scores.Placed) > 0 || !contracts(scores) {
				continue
			}
			depth := commonDepth(pair{scores, rows, k})
			inner := pair{rows, b, n}
			if depth = min(depth, rowsDepth(inner)); depth == 0 {
				continue
			}
			salt := f.fresh()
			two := placeAt(inner, depth, func(s *te.Stage) *te.Stage { return freshLets(s, salt) })
			at := slices.Index(two.Operands, s)
			return scores, rows, placeAt(pair{scores, two, at}, depth, func(s *te.Stage) *te.Stage { return freshLets(s, salt) })
		}
	}
	return nil, nil, nil
}

// rowsDepth is how many leading axes a product and what it reads by rows walk together: the product's sum walks the axis after these.
func rowsDepth(p pair) int {
	d := commonDepth(p)
	block.Loads(p.second.Stage, func(l te.Load) {
		if l.Source.Stage || l.Source.N != p.n || d >= len(l.Index) {
			return
		}
		if v, is := l.Index[d].AsVar(); !is || !slices.ContainsFunc(p.second.Stage.Reduce, func(a te.Axis) bool { return sym.Var(a.Var).Equal(sym.Var(v)) }) {
			d = 0
		}
	})
	return d
}
