package islands

import (
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// limit is a bound of integers.
type limit struct {
	op string // Max: from below, Min: from above
	at int64
}

type limits []limit

// bounded follows a value to the node that computes it, over bounds that hold of integers as they do of the floats that these are made of, for
// no two numbers change their order there; nil where something else reads one on the way.
func (p *pass) bounded(v *ir.Value, to *affine) (*ir.Node, limits) {
	var out limits
	for v.Def != nil && p.uses[v] == 1 {
		n := v.Def
		at, ok := boundsOf(n, to)
		if !ok {
			return n, out
		}
		out, v = append(at, out...), n.Inputs[0]
	}
	return nil, nil
}

// boundsOf are those of a Relu or a Clip.
func boundsOf(n *ir.Node, to *affine) (limits, bool) {
	lo, hi := to.bounds()
	var out limits
	switch {
	case n.Op == "Relu":
		if at := to.of(0); at > lo {
			out = append(out, limit{"Max", at})
		}
		return out, true
	case n.Op != "Clip" || n.Version < 11:
		return nil, false
	}
	for i, op := range []string{"Max", "Min"} {
		v := n.Input(1 + i)
		if v == nil {
			continue
		}
		if v.Const == nil || v.Const.Len() != 1 || v.Type != ir.F32 {
			return nil, false
		}
		xs, err := edit.Floats(v.Const)
		if err != nil || xs[0] != xs[0] {
			return nil, false
		}
		if at := to.of(float32(xs[0])); op == "Max" && at > lo || op == "Min" && at < hi {
			out = append(out, limit{op, at})
		}
	}
	return out, true
}

// add appends the bounds, of which the last node's result is the builder's.
func (l limits) add(b *builder, v *ir.Value) {
	for _, x := range l {
		v = b.add(x.op, 13, v.Type, v.Shape, nil, v, b.integer("bound", v.Type, x.at))
	}
}
