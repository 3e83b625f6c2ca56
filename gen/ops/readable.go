package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// readsElements requires that what a stage reads for certain, and what it updates, has elements: no
// index is within an axis of extent 0, whatever clamps, wraps or reflects it. Loads under a guard or
// a condition are left to it. What extents or the operator's own checks imply is not checked again.
func (c *Ctx) readsElements(m *Meaning) error {
	for _, s := range m.Stages {
		for _, r := range s.Results {
			if err := c.readable(m, r, s.Axes); err != nil {
				return err
			}
		}
		for _, v := range s.Values {
			if err := c.readable(m, v, s.Axes, s.Reduce); err != nil {
				return err
			}
		}
		u := s.Update
		if u == nil {
			continue
		}
		for _, e := range u.Exprs() {
			if err := c.readable(m, e, u.Axes); err != nil {
				return err
			}
		}
		if err := c.nonempty(s.Shape(), "the result", u.Axes); err != nil {
			return err
		}
	}
	return nil
}

// readable requires elements of what an expression reads at each point of loops.
func (c *Ctx) readable(m *Meaning, e te.Expr, loops ...[]te.Axis) error {
	var err error
	te.WalkSure(e, func(e te.Expr) {
		l, ok := e.(te.Load)
		if !ok || len(l.Guard) > 0 || err != nil {
			return
		}
		var shape ir.Shape
		what := fmt.Sprintf("operand %d", l.Source.N)
		switch {
		case l.Source.Stage && l.Source.N < len(m.Stages):
			shape, what = m.Stages[l.Source.N].Shape(), "what "+m.Stages[l.Source.N].Name+" computes"
		case !l.Source.Stage && c.Has(l.Source.N):
			shape = c.Node.Inputs[l.Source.N].Shape
		}
		err = c.nonempty(shape, what, loops...)
	})
	return err
}

// nonempty requires that no axis of a shape is empty where the loops have points.
func (c *Ctx) nonempty(shape ir.Shape, what string, loops ...[]te.Axis) error {
	for k, d := range shape {
		if sym.AtLeast(d, 1, c.Facts) {
			continue
		}
		points := sym.Const(1) // at most 0 if a loop has none
		for _, a := range slices.Concat(loops...) {
			points = sym.Min(points, a.Extent, c.Facts)
		}
		if c.emptyWith(d, append(extents(loops...), points)) {
			continue
		}
		if c.fails(Check{Kind: AtLeast, A: d, B: points}) {
			return fmt.Errorf("axis %d of %s is empty, but the result reads elements of it; want a dimension of at least 1", k, what)
		}
		if err := c.require(AtLeast, d, points, "axis %d of %s must not be empty, because the result reads it", k, what); err != nil {
			return err
		}
	}
	return nil
}

func extents(loops ...[]te.Axis) []sym.Expr {
	var out []sym.Expr
	for _, a := range slices.Concat(loops...) {
		out = append(out, a.Extent)
	}
	return out
}

// emptyWith reports whether one of some extents is 0, or a check of the node fails, wherever dimension d is 0.
func (c *Ctx) emptyWith(d sym.Expr, extents []sym.Expr) bool {
	if c.oneIsEmpty(extents, d) {
		return true
	}
	terms, constant := d.Terms()
	if constant != 0 || len(terms) != 1 {
		return false
	}
	for _, a := range terms[0].Atoms { // a product is 0 where a factor is
		if a.Kind != sym.AtomVar || !c.emptyAt(a.Name, extents) {
			return false
		}
	}
	return true
}

// oneIsEmpty reports whether one of the extents is certainly at most one of the bounds, which are 0 or less.
func (c *Ctx) oneIsEmpty(extents []sym.Expr, bounds ...sym.Expr) bool {
	return slices.ContainsFunc(extents, func(e sym.Expr) bool {
		return slices.ContainsFunc(bounds, func(b sym.Expr) bool { return sym.AtMost(sym.Sub(e, b), 0, c.Facts) })
	})
}

// emptyAt is emptyWith of a symbol.
func (c *Ctx) emptyAt(symbol string, extents []sym.Expr) bool {
	zero, bounds := map[string]sym.Expr{symbol: sym.Const(0)}, []sym.Expr{sym.Const(0)}
	for range c.checks { // what a check makes 0 may make another one do so
		for _, k := range c.checks {
			k.A, k.B = k.A.Subst(zero, c.Facts), k.B.Subst(zero, c.Facts)
			if c.fails(k) {
				return true
			}
			if k.Kind == SameDim && k.B.Is(0) {
				k.A, k.B = k.B, k.A
			}
			if !k.A.Is(0) || k.Kind == Broadcastable || k.B.Is(0) {
				continue
			}
			if name, is := k.B.AsVar(); is {
				zero[name] = k.A
			} else {
				bounds = append(bounds, k.B)
			}
		}
	}
	for _, e := range extents {
		if c.oneIsEmpty([]sym.Expr{e.Subst(zero, c.Facts)}, bounds...) {
			return true
		}
	}
	return false
}
