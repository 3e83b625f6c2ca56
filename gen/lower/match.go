package lower

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/loop"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/te"
)

// match is a stage recognised as a contraction, a multiply-accumulate of two factors, by its iterators and access maps and not by its operator:
// convolutions, Gemm, MatMul and Einsum of floats or integers are all one. Proposers of schedules read it.
type match struct {
	stage    *te.Stage
	operands []*ir.Value
	facts    sym.Facts
	factors  [2]*term // in the order of the product
	reduce   []te.Axis
}

// term is one factor: what is loaded, converted to the type of the sum, minus a zero point.
type term struct {
	load te.Load
	zero te.Expr // of the sum's type, the same along the sum; nil: 0
	// computed is what is made where it is packed, of constants that take less memory: weights of 4 bits. The load is that of the largest of these.
	computed te.Expr
	// constant: the compiler knows all its elements. exact: minus the zero point an instruction holds them all.
	constant, exact bool
}

// matched recognises a contraction, or says why the stage is none. Its sum's axes of one point, which it leaves out, may stand in indices.
func matched(s *te.Stage, operands []*ir.Value, facts sym.Facts) (_ *match, refusal string) {
	l, r, ok := multiplied(s)
	switch {
	case s.Update != nil || !ok:
		return nil, "it is no contraction"
	case !static(s.Reduce):
		return nil, "how long its sums are is known at run time only"
	}
	return factored(s, operands, facts, l, r)
}

// factored is a contraction of two factors, or says why they are none.
func factored(s *te.Stage, operands []*ir.Value, facts sym.Facts, l, r te.Expr) (_ *match, refusal string) {
	m := &match{stage: s, operands: operands, facts: facts}
	for _, a := range s.Reduce {
		if !a.Extent.Is(1) {
			m.reduce = append(m.reduce, a)
		}
	}
	for i, e := range []te.Expr{l, r} {
		if m.factors[i] = m.term(e); m.factors[i] == nil {
			return nil, "an operand is computed where it is read, by a node fused to it"
		}
	}
	return m, ""
}

// multiplied are the factors whose products a stage sums; false where it sums something else.
func multiplied(s *te.Stage) (l, r te.Expr, ok bool) {
	if s.Combine == nil || s.Combine.Name != "sum" || len(s.Values) != 1 {
		return nil, nil, false
	}
	mul, ok := s.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return nil, nil, false
	}
	return mul.Args[0], mul.Args[1], true
}

// sum is the type of the sum.
func (m *match) sum() ir.DType { return m.stage.Values[0].DType() }

// term reads a load, converted or not, or one of them minus a zero point; nil where it is something else.
func (m *match) term(e te.Expr) *term {
	if t := m.unpacked(e); t != nil {
		return t
	}
	t := &term{}
	if sub, ok := e.(te.Call); ok && sub.Fn == "sub" {
		e, t.zero = sub.Args[0], sub.Args[1]
		for _, a := range m.reduce {
			if exprUses(t.zero, a.Var) {
				return nil
			}
		}
	}
	if cast, ok := e.(te.Call); ok && cast.Fn == "cast" && narrower(cast.Args[0].DType(), cast.Type) {
		e = cast.Args[0]
	}
	var ok bool
	if t.load, ok = e.(te.Load); !ok || t.load.Source.Stage {
		return nil
	}
	if n, known := m.number(t.zero); known {
		t.zero = nil
		if n != 0 {
			t.zero = te.Int(ir.I32, n)
		}
	}
	t.constant = m.isConstant(t.load) && (t.zero == nil || m.isConstant(t.zero))
	return t
}

// unpacked is a term that is computed of constants alone, the largest of which has elements narrower than the term's; nil where it is something else.
func (m *match) unpacked(e te.Expr) *term {
	if c, ok := e.(te.Call); !ok || c.Fn == "cast" || c.Type != ir.F32 || !m.isConstant(e) {
		return nil
	}
	t, most := &term{computed: e}, int64(0)
	plain := true
	te.Walk(e, func(e te.Expr) {
		switch x := e.(type) {
		case te.Load:
			plain = plain && len(x.Guard) == 0
			if n := m.operands[x.Source.N].Const.Len(); n > most {
				t.load, most = x, n
			}
		case te.Select, te.Let:
			plain = false
		}
	})
	if !plain || most == 0 || t.load.Type.Size() >= e.DType().Size() {
		return nil
	}
	return t
}

// narrower reports whether a conversion keeps all values that tiles take in: of 16-bit floats, and of bytes.
func narrower(from, to ir.DType) bool {
	return to == ir.F32 && slices.Contains(loop.Halves, from) || to == ir.I32 && from.IsInteger() && from.Size() == 1
}

// number is a zero point that the compiler knows and that is one for all.
func (m *match) number(e te.Expr) (int64, bool) {
	if e == nil {
		return 0, true
	}
	if n, ok := literalOf(e); ok {
		return n, true
	}
	cast, ok := e.(te.Call)
	if !ok || cast.Fn != "cast" || cast.Type != ir.I32 {
		return 0, false
	}
	l, ok := cast.Args[0].(te.Load)
	if !ok || l.Source.Stage || len(l.Guard) > 0 || m.operands[l.Source.N].Const == nil {
		return 0, false
	}
	all, err := m.operands[l.Source.N].Const.Ints()
	if err != nil || len(all) == 0 || slices.ContainsFunc(all, func(n int64) bool { return n != all[0] }) {
		return 0, false
	}
	return all[0], true
}

// isConstant reports whether an expression reads constants alone.
func (m *match) isConstant(e te.Expr) bool {
	known := true
	te.Walk(e, func(e te.Expr) {
		if l, ok := e.(te.Load); ok {
			known = known && !l.Source.Stage && m.operands[l.Source.N].Const != nil
		}
	})
	return known
}

// fixedDefault reports whether what stands in for elements that a guard leaves out is one for all points.
func (m *match) fixedDefault(t *term) bool {
	return t.load.Default == nil || !slices.ContainsFunc(slices.Concat(m.stage.Axes, m.reduce), func(a te.Axis) bool { return exprUses(t.load.Default, a.Var) })
}

// empty reports whether there is nothing to sum, or no result.
func (m *match) empty() bool {
	return slices.ContainsFunc(slices.Concat(m.stage.Axes, m.stage.Reduce), func(a te.Axis) bool { return a.Extent.Is(0) })
}

// uses reports whether a term has an axis.
func (t *term) uses(v string) bool { return uses(t.load, v) || t.zero != nil && exprUses(t.zero, v) }

// role is what an axis of the result is to the factors.
type role int

const (
	ofNone   role = iota // a task's
	ofRows               // of X alone
	ofLanes              // of W alone
	ofBoth               // contractions of their own, or channels of a window
	ofGroups             // of both, of which X has only axis // size: channels of a convolution of several groups
)

// roles are what axes are where X has the rows of tiles, and W their lanes.
type roles struct {
	*match
	x, w *term
	of   []role // the result's axes
	// row and lane are the innermost axes of several points that only X, or only W, has; -1: none.
	row, lane int
	// group is the size of groups, where there are some.
	group int64
	// summed: both factors have all axes of the sum.
	summed bool
}

// roles are those where one of the factors is X.
func (m *match) roles(x int) *roles {
	r := &roles{match: m, x: m.factors[x], w: m.factors[1-x], row: -1, lane: -1, summed: true}
	for i, a := range m.stage.Axes {
		of := ofNone
		switch inX, inW := r.x.uses(a.Var), r.w.uses(a.Var); {
		case inX && inW && groupSize(r.x.load, a) > 1:
			of, r.group = ofGroups, groupSize(r.x.load, a)
		case inX && inW:
			of = ofBoth
		case inW:
			of = ofLanes
		case inX:
			of = ofRows
		}
		r.of = append(r.of, of)
		if !a.Extent.Is(1) && of == ofRows {
			r.row = i
		}
		if !a.Extent.Is(1) && of == ofLanes {
			r.lane = i
		}
	}
	for _, a := range m.reduce {
		r.summed = r.summed && uses(r.x.load, a.Var) && uses(r.w.load, a.Var)
	}
	return r
}

// sideBySide reports whether lanes are neighbours in the result: no axis of several points lies within theirs.
func (r *roles) sideBySide() bool {
	return r.lane >= 0 && !slices.ContainsFunc(r.stage.Axes[r.lane+1:], func(a te.Axis) bool { return !a.Extent.Is(1) })
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

// Contracts reports whether a stage is a contraction of two operands, each of which others of its
// results read again: what register tiles are for.
func Contracts(s *te.Stage) bool {
	x, w, ok := multiplied(s)
	if !ok {
		return false
	}
	l, r := sources(x), sources(w)
	if len(l) == 0 || len(r) == 0 {
		return false
	}
	for x := range l {
		if r[x] {
			return false // a square, or what is like it
		}
	}
	return true
}

// sources are what an expression loads from.
func sources(e te.Expr) map[te.Source]bool {
	out := map[te.Source]bool{}
	te.Walk(e, func(x te.Expr) {
		if l, ok := x.(te.Load); ok {
			out[l.Source] = true
		}
	})
	return out
}
