package lower

import (
	"rules_dnn/gen/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// factor is one operand of a contraction of integers.
type factor struct {
	load  te.Load
	value *ir.Value
	// zero is what is subtracted from each element; nil: nothing.
	zero te.Expr
	// axis is the innermost axis of the stage that this factor has and the other one does not; -1: none.
	axis int
	// dim and k are the dimensions that the axis and the reduction walk, each alone; -1: none.
	dim, k int
}

func (f *factor) constant() bool { return f.value.Const != nil }

// findProduct recognises a sum over one axis of products of two integers of 8 bits, each minus a zero
// point: MatMulInteger, QLinearMatMul and what they are fused into.
func findProduct(b *block.Block) (l, r *factor, ok bool) {
	s := b.Stage
	if len(b.Placed) > 0 || s.Update != nil || s.Combine == nil || s.Combine.Name != "sum" || len(s.Values) != 1 || len(s.Reduce) != 1 {
		return nil, nil, false
	}
	if n, ok := s.Reduce[0].Extent.Const(); !ok || n < 1 {
		return nil, nil, false
	}
	mul, ok := s.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" || mul.Type != ir.I32 {
		return nil, nil, false
	}
	l, okL := findFactor(b, mul.Args[0])
	r, okR := findFactor(b, mul.Args[1])
	if !okL || !okR {
		return nil, nil, false
	}
	return l, r, l.findAxis(s, r) && r.findAxis(s, l)
}

// findFactor reads cast(load), or cast(load) - zero, where the zero point is the same along the sum.
func findFactor(b *block.Block, e te.Expr) (*factor, bool) {
	f := &factor{axis: -1, dim: -1, k: -1}
	k := b.Stage.Reduce[0].Var
	if sub, ok := e.(te.Call); ok && sub.Fn == "sub" {
		e, f.zero = sub.Args[0], sub.Args[1]
		if exprUses(f.zero, k) {
			return nil, false
		}
		if z, ok := literalOf(f.zero); ok && z == 0 {
			f.zero = nil
		}
	}
	cast, ok := e.(te.Call)
	if !ok || cast.Fn != "cast" {
		return nil, false
	}
	if f.load, ok = cast.Args[0].(te.Load); !ok || f.load.Source.Stage || len(f.load.Guard) > 0 || f.load.Type.Size() != 1 || !f.load.Type.IsInteger() {
		return nil, false
	}
	f.value = b.Operands[f.load.Source.N]
	f.k = dimOf(f.load, k)
	for d, x := range f.load.Index {
		if d != f.k && x.Uses(k) {
			return nil, false
		}
	}
	return f, f.k >= 0 && (!f.constant() || readOnce(b, f.load.Source.N))
}

// literalOf is the value of a literal, or of a literal that is converted to a wider type.
func literalOf(e te.Expr) (int64, bool) {
	if c, ok := e.(te.Call); ok && c.Fn == "cast" && c.Type == ir.I32 {
		e = c.Args[0]
	}
	c, ok := e.(te.Const)
	return int64(c.Bits), ok && c.Type.IsInteger() && c.Type.Size() <= 4
}

func exprUses(e te.Expr, v string) bool {
	used := false
	te.Walk(e, func(x te.Expr) {
		switch y := x.(type) {
		case te.Load:
			used = used || uses(y, v)
		case te.Index:
			used = used || y.E.Uses(v)
		case te.Select, te.Let:
			used = true // has no place in a zero point
		}
	})
	return used
}

// readOnce reports whether one load reads the operand, which may then be packed for it.
func readOnce(b *block.Block, n int) bool {
	loads := 0
	b.Loads(func(l te.Load) {
		if l.Source.N == n && !l.Source.Stage {
			loads++
		}
	})
	return loads == 1
}

// findAxis finds the factor's own axis; false where a constant has more of them, or is read at
// what is no index alone.
func (f *factor) findAxis(s *te.Stage, other *factor) bool {
	for i, a := range s.Axes {
		if uses(f.load, a.Var) && !uses(other.load, a.Var) && dimOf(f.load, a.Var) >= 0 {
			f.axis, f.dim = i, dimOf(f.load, a.Var)
		}
	}
	if f.axis >= 0 && f.constant() {
		if _, ok := s.Axes[f.axis].Extent.Const(); !ok {
			return false
		}
	}
	for d, x := range f.load.Index {
		if _, isConst := x.Const(); f.constant() && !isConst && d != f.dim && d != f.k {
			return false
		}
	}
	return true
}
