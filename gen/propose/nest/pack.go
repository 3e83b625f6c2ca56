package nest

import (
	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/match"
)

// packings are layouts of constants that a kernel for an image reads in vectors: neighbours along
// the lanes of the result, or, where those are computed one by one, along the lanes of a
// texel that it sums over, lie side by side.
func packings(b *block.Block, env *lower.Env) map[*ir.Value]layout.Layout {
	out := map[*ir.Value]layout.Layout{}
	to := env.Layouts(b.Results[0])
	if to.Memory != layout.Image {
		return out
	}
	vars := []string{b.Stage.Axes[to.Lane(len(b.Stage.Axes))].Var}
	if to.Padded(b.Stage.Shape()) {
		vars = nil
		for _, r := range b.Stage.Reduce {
			if walksTexels(b, env.Layouts, r.Var) {
				vars = append(vars, r.Var)
			}
		}
	}
	for i, v := range b.Operands {
		for _, lane := range vars {
			if d := walkedBy(b, i, lane); v.Const != nil && d >= 0 && out[v] == layout.RowMajor && !contiguous(v, d) {
				out[v] = layout.Blocked(d, layout.TexelLanes)
			}
		}
	}
	return out
}

// contiguous reports whether the dimension lies in whole texels already.
func contiguous(v *ir.Value, d int) bool {
	n, _ := v.Shape[d].Const()
	return d == len(v.Shape)-1 && n%layout.TexelLanes == 0
}

// walkedBy is the dimension of an operand that the variable alone walks in every load of it; -1
// where there is none.
func walkedBy(b *block.Block, operand int, v string) int {
	dim, same := -1, true
	for _, e := range append(append([]te.Expr{}, b.Stage.Values...), b.Stage.Results...) {
		te.Walk(e, func(x te.Expr) {
			l, ok := x.(te.Load)
			if !ok || l.Source.Stage || l.Source.N != operand {
				return
			}
			d := match.DimOf(l, v)
			for i, e := range l.Index {
				same = same && (i == d || !e.Uses(v))
			}
			same = same && d >= 0 && (dim < 0 || d == dim)
			dim = d
		})
	}
	if !same {
		return -1
	}
	return dim
}

// args are the block's own values, constants packed.
func (n *Nest) args(b *block.Block) func() ([]*ir.Value, error) {
	return func() ([]*ir.Value, error) {
		values := append(append([]*ir.Value{}, b.Operands...), b.Results...)
		for i, v := range b.Operands {
			if l, ok := n.packs[v]; ok {
				values[i] = packConstant(v, l)
			}
		}
		return values, nil
	}
}

// packConstant is a constant whose row-major elements are those of v in a layout; the padding is zero.
func packConstant(v *ir.Value, l layout.Layout) *ir.Value {
	parts := layout.PartsOf(l, len(v.Shape))
	dims := parts.Extents(v.Const.Shape)
	n, _ := ir.Len(dims)
	size := int64(v.Type.Size())
	// Its elements come from everywhere: all are computed at once.
	return ir.ConstValue(v.Name+".packed", ir.Computed(v.Type, dims, n, func(b []byte, _ int64) error {
		raw, err := v.Const.Bytes()
		if err != nil {
			return err
		}
		clear(b)
		for e := range n {
			from, inside := int64(0), true
			for d, x := range parts.At(dims, e) {
				n := v.Const.Shape[d]
				from, inside = from*n+x, inside && x < n
			}
			if inside {
				copy(b[e*size:(e+1)*size], raw[from*size:])
			}
		}
		return nil
	}))
}
