// Package match recognises contractions of all kinds, and says what their axes are to their factors.
package match

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Match is a stage recognised as a contraction, a multiply-accumulate of two factors, by its iterators and access maps and not by its operator:
// convolutions, Gemm, MatMul and Einsum of floats or integers are all one. Proposers of schedules read it.
type Match struct {
	Stage    *te.Stage
	Operands []*ir.Value
	Facts    sym.Facts
	Factors  [2]*Term // in the order of the product
	Reduce   []te.Axis
}

// Term is one factor: what is loaded, converted to the type of the sum, minus a zero point.
type Term struct {
	Load te.Load
	Zero te.Expr // of the sum's type, the same along the sum; nil: 0
	// Computed is what is made where it is packed, of constants that take less memory: weights of 4 bits. The load is that of the largest of these.
	Computed te.Expr
	// Constant: the compiler knows all its elements. exact: minus the zero point an instruction holds them all.
	Constant, Exact bool
}

// Find recognises a contraction, or says why the stage is none. Its sum's axes of one point, which it leaves out, may stand in indices.
func Find(s *te.Stage, operands []*ir.Value, facts sym.Facts) (_ *Match, refusal string) {
	l, r, ok := Multiplied(s)
	switch {
	case s.Update != nil || !ok:
		return nil, "it is not a contraction"
	case !Static(s.Reduce):
		return nil, "the length of its sums is known only at run time"
	}
	return Factored(s, operands, facts, l, r)
}

// Factored is a contraction of two factors, or says why they are none.
func Factored(s *te.Stage, operands []*ir.Value, facts sym.Facts, l, r te.Expr) (_ *Match, refusal string) {
	m := &Match{Stage: s, Operands: operands, Facts: facts}
	for _, a := range s.Reduce {
		if !a.Extent.Is(1) {
			m.Reduce = append(m.Reduce, a)
		}
	}
	for i, e := range []te.Expr{l, r} {
		if m.Factors[i] = m.Term(e); m.Factors[i] == nil {
			return nil, "an operand is computed where it is read, by a node fused to it"
		}
	}
	return m, ""
}

// Multiplied are the factors whose products a stage sums; false where it sums something else.
func Multiplied(s *te.Stage) (l, r te.Expr, ok bool) {
	if s.Combine == nil || s.Combine.Name != "sum" || len(s.Values) != 1 {
		return nil, nil, false
	}
	mul, ok := s.Values[0].(te.Call)
	if !ok || mul.Fn != "mul" {
		return nil, nil, false
	}
	return mul.Args[0], mul.Args[1], true
}

// Sum is the type of the sum.
func (m *Match) Sum() ir.DType { return m.Stage.Values[0].DType() }

// Term reads a load, converted or not, or one of them minus a zero point; nil where it is something else.
func (m *Match) Term(e te.Expr) *Term {
	if t := m.unpacked(e); t != nil {
		return t
	}
	t := &Term{}
	if sub, ok := e.(te.Call); ok && sub.Fn == "sub" {
		e, t.Zero = sub.Args[0], sub.Args[1]
		for _, a := range m.Reduce {
			if ExprUses(t.Zero, a.Var) {
				return nil
			}
		}
	}
	if cast, ok := e.(te.Call); ok && cast.Fn == "cast" && narrower(cast.Args[0].DType(), cast.Type) {
		e = cast.Args[0]
	}
	var ok bool
	if t.Load, ok = e.(te.Load); !ok || t.Load.Source.Stage {
		return nil
	}
	if n, known := m.number(t.Zero); known {
		t.Zero = nil
		if n != 0 {
			t.Zero = te.Int(ir.I32, n)
		}
	}
	t.Constant = m.IsConstant(t.Load) && (t.Zero == nil || m.IsConstant(t.Zero))
	return t
}

// unpacked is a term that is computed of constants alone, the largest of which has elements narrower than the term's; nil where it is something else.
func (m *Match) unpacked(e te.Expr) *Term {
	if c, ok := e.(te.Call); !ok || c.Fn == "cast" || c.Type != ir.F32 || !m.IsConstant(e) {
		return nil
	}
	t, most := &Term{Computed: e}, int64(0)
	plain := true
	te.Walk(e, func(e te.Expr) {
		switch x := e.(type) {
		case te.Load:
			plain = plain && len(x.Guard) == 0
			if n := m.Operands[x.Source.N].Const.Len(); n > most {
				t.Load, most = x, n
			}
		case te.Select, te.Let:
			plain = false
		}
	})
	if !plain || most == 0 || t.Load.Type.Size() >= e.DType().Size() {
		return nil
	}
	return t
}

// narrower reports whether a conversion keeps all values that tiles take in: of 16-bit floats, and of bytes.
func narrower(from, to ir.DType) bool {
	return to == ir.F32 && slices.Contains(loop.Halves, from) || to == ir.I32 && from.IsInteger() && from.Size() == 1
}

// number is a zero point that the compiler knows and that is one for all.
func (m *Match) number(e te.Expr) (int64, bool) {
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
	if !ok || l.Source.Stage || len(l.Guard) > 0 || m.Operands[l.Source.N].Const == nil {
		return 0, false
	}
	all, err := m.Operands[l.Source.N].Const.Ints()
	if err != nil || len(all) == 0 || slices.ContainsFunc(all, func(n int64) bool { return n != all[0] }) {
		return 0, false
	}
	return all[0], true
}

// IsConstant reports whether an expression reads constants alone.
func (m *Match) IsConstant(e te.Expr) bool {
	known := true
	te.Walk(e, func(e te.Expr) {
		if l, ok := e.(te.Load); ok {
			known = known && !l.Source.Stage && m.Operands[l.Source.N].Const != nil
		}
	})
	return known
}

// FixedDefault reports whether what stands in for elements that a guard leaves out is one for all points.
func (m *Match) FixedDefault(t *Term) bool {
	return t.Load.Default == nil || !slices.ContainsFunc(slices.Concat(m.Stage.Axes, m.Reduce), func(a te.Axis) bool { return ExprUses(t.Load.Default, a.Var) })
}

// Empty reports whether there is nothing to sum, or no result.
func (m *Match) Empty() bool {
	return slices.ContainsFunc(slices.Concat(m.Stage.Axes, m.Stage.Reduce), func(a te.Axis) bool { return a.Extent.Is(0) })
}

// Uses reports whether a term has an axis.
func (t *Term) Uses(v string) bool { return Uses(t.Load, v) || t.Zero != nil && ExprUses(t.Zero, v) }

// Role is what an axis of the result is to the factors.
type Role int

const (
	OfNone   Role = iota // a task's
	OfRows               // of X alone
	OfLanes              // of W alone
	OfBoth               // contractions of their own, or channels of a window
	OfGroups             // of both, of which X has only axis // size: channels of a convolution of several groups
)

// Roles are what axes are where X has the rows of tiles, and W their lanes.
type Roles struct {
	*Match
	X, W *Term
	Of   []Role // the result's axes
	// Row and lane are the innermost axes of several points that only X, or only W, has; -1: none.
	Row, Lane int
	// Group is the size of groups, where there are some.
	Group int64
	// Summed: both factors have all axes of the sum.
	Summed bool
}

// Roles are those where one of the factors is X.
func (m *Match) Roles(x int) *Roles {
	r := &Roles{Match: m, X: m.Factors[x], W: m.Factors[1-x], Row: -1, Lane: -1, Summed: true}
	for i, a := range m.Stage.Axes {
		of := OfNone
		switch inX, inW := r.X.Uses(a.Var), r.W.Uses(a.Var); {
		case inX && inW && GroupSize(r.X.Load, a) > 1:
			of, r.Group = OfGroups, GroupSize(r.X.Load, a)
		case inX && inW:
			of = OfBoth
		case inW:
			of = OfLanes
		case inX:
			of = OfRows
		}
		r.Of = append(r.Of, of)
		if !a.Extent.Is(1) && of == OfRows {
			r.Row = i
		}
		if !a.Extent.Is(1) && of == OfLanes {
			r.Lane = i
		}
	}
	for _, a := range m.Reduce {
		r.Summed = r.Summed && Uses(r.X.Load, a.Var) && Uses(r.W.Load, a.Var)
	}
	return r
}

// SideBySide reports whether lanes are neighbours in the result: no axis of several points lies within theirs.
func (r *Roles) SideBySide() bool {
	return r.Lane >= 0 && !slices.ContainsFunc(r.Stage.Axes[r.Lane+1:], func(a te.Axis) bool { return !a.Extent.Is(1) })
}

// literalOf is the value of a literal, or of a literal that is converted to a wider type.
func literalOf(e te.Expr) (int64, bool) {
	if c, ok := e.(te.Call); ok && c.Fn == "cast" && c.Type == ir.I32 {
		e = c.Args[0]
	}
	c, ok := e.(te.Const)
	return int64(c.Bits), ok && c.Type.IsInteger() && c.Type.Size() <= 4
}

// ExprUses reports whether a zero point is made of a variable, or of what has no place in one.
func ExprUses(e te.Expr, v string) bool {
	used := false
	te.Walk(e, func(x te.Expr) {
		switch y := x.(type) {
		case te.Load:
			used = used || Uses(y, v)
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
	x, w, ok := Multiplied(s)
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
