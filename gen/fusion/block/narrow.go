package block

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// Narrow is a block as it is under facts that hold in some runs only, on values of its own, whose shapes are as simple as these facts make
// them, and the value that each of them stands for.
func (b *Block) Narrow(f sym.Facts) (*Block, map[*ir.Value]*ir.Value) {
	of, twins := map[*ir.Value]*ir.Value{}, map[*ir.Value]*ir.Value{}
	twin := func(vs []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(vs))
		for i, v := range vs {
			if v.Const != nil {
				out[i], of[v] = v, v
				continue
			}
			if twins[v] == nil {
				t := *v
				t.Shape = make(ir.Shape, len(v.Shape))
				for k, d := range v.Shape {
					t.Shape[k] = d.Under(f)
				}
				twins[v], of[&t] = &t, v
			}
			out[i] = twins[v]
		}
		return out
	}
	out := *b
	out.Operands, out.Results = twin(b.Operands), twin(b.Results)
	out.Stage = b.Stage.Narrow(f)
	out.Placed = nil
	for _, s := range b.Placed {
		out.Placed = append(out.Placed, s.Narrow(f))
	}
	return &out, of
}

// Shorter is the block's stage as it is under facts, where it sums over fewer points then; else nil. Of a window wider than what it moves over, the taps at its
// ends see nothing but padding.
func (b *Block) Shorter(f sym.Facts) *te.Stage {
	if !b.Guarded() {
		return nil
	}
	s := b.Stage.Narrow(f)
	if slices.EqualFunc(s.Reduce, b.Stage.Reduce, func(x, y te.Axis) bool { return x.Extent.Equal(y.Extent) }) {
		return nil
	}
	return s
}

// Guarded reports whether the block sums over what is padded, so that there may be less of it in small images.
func (b *Block) Guarded() bool {
	if b.Stage == nil || len(b.Stage.Reduce) == 0 {
		return false
	}
	found := false
	for _, e := range b.Stage.Values {
		te.Walk(e, func(e te.Expr) {
			l, ok := e.(te.Load)
			found = found || ok && len(l.Guard) > 0
		})
	}
	return found
}
