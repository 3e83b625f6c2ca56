package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/ops/opaque"
)

// Verify checks a meaning against its node under the facts: extents are not negative,
// they and all that indices compute fit in 64 bits, and each load names an operand or an
// earlier stage, with its type and as many indices as it has dimensions.
func Verify(n *ir.Node, m *Meaning, facts sym.Facts) error {
	if m.Call != nil {
		return verifyCall(n, m.Call)
	}
	if len(m.Outputs) < len(n.Outputs) {
		return fmt.Errorf("the node has %d results; the operator computes %d here", len(n.Outputs), len(m.Outputs))
	}
	for i := range n.Outputs {
		if err := verifySize(m, i); err != nil {
			return err
		}
	}
	for i, s := range m.Stages {
		if err := verifyExtents(s); err != nil {
			return err
		}
		if err := verifyLoads(n, m, i); err != nil {
			return fmt.Errorf("stage %d (%s): %w", i, s.Name, err)
		}
		if err := verifyIndices(s, facts); err != nil {
			return err
		}
	}
	return nil
}

// verifyCall checks the results of an opaque operator.
func verifyCall(n *ir.Node, c *opaque.Call) error {
	if len(c.Results) < len(n.Outputs) {
		return fmt.Errorf("the node has %d results; the operator computes %d here", len(n.Outputs), len(c.Results))
	}
	for i, r := range c.Results {
		for k, d := range r.Shape {
			if x, ok := d.Const(); d.Overflow() || ok && x < 0 {
				return fmt.Errorf("dimension %d of result %d would be %s", k, i, d)
			}
		}
		if err := verifyShape(i, r.Shape, r.Type); err != nil {
			return err
		}
	}
	return nil
}

// verifySize checks that result i is one that memory may hold.
func verifySize(m *Meaning, i int) error {
	if !m.Outputs[i].Stage {
		return nil
	}
	s := m.Stages[m.Outputs[i].N]
	return verifyShape(i, s.Shape(), s.Results[m.Outputs[i].Part].DType())
}

func verifyShape(i int, shape ir.Shape, t ir.DType) error {
	if err := shape.Fits(t); err != nil {
		return fmt.Errorf("result %d would have %w", i, err)
	}
	return nil
}

func verifyExtents(s *te.Stage) error {
	for i, a := range s.Axes {
		if a.Extent.Overflow() {
			return fmt.Errorf("dimension %d of the result overflows 64 bits, or is an expression of more than %d characters", i, limit.Expression)
		}
		if x, ok := a.Extent.Const(); ok && x < 0 {
			return fmt.Errorf("dimension %d of the result would be %d", i, x)
		}
	}
	for _, a := range s.Reduce {
		if a.Extent.Overflow() {
			return fmt.Errorf("a reduced extent overflows 64 bits, or is an expression of more than %d characters", limit.Expression)
		}
	}
	return nil
}

func verifyLoads(n *ir.Node, m *Meaning, stage int) error {
	var err error
	EachExpr(m.Stages[stage], func(e te.Expr) {
		l, ok := e.(te.Load)
		if !ok || err != nil {
			return
		}
		var rank int
		var typ ir.DType
		if rank, typ, err = source(n, m, stage, l.Source); err != nil {
			return
		}
		switch {
		case rank != len(l.Index):
			err = fmt.Errorf("a load of rank %d from a tensor of rank %d", len(l.Index), rank)
		case typ != l.Type:
			err = fmt.Errorf("a load of type %s from a tensor of type %s", l.Type, typ)
		case len(l.Guard) > 0 && (l.Default == nil || l.Default.DType() != l.Type):
			err = fmt.Errorf("a guarded load without a default of its type")
		}
	})
	return err
}

// verifyIndices checks that the stage's index expressions are computed within 64 bits.
func verifyIndices(s *te.Stage, facts sym.Facts) error {
	facts = withAxes(facts, s.Axes, s.Reduce)
	var err error
	check := func(i sym.Expr, facts sym.Facts) {
		if err == nil && !i.Fits(facts) {
			err = fmt.Errorf("an index (%s) overflows 64 bits, divides by 0, or is an expression of more than %d characters; "+
				"use smaller attributes and constant operands", i, limit.Expression)
		}
	}
	for _, root := range s.Exprs() {
		facts := te.LetFacts(root, facts)
		te.Walk(root, func(e te.Expr) {
			te.EachIndex(e, func(i sym.Expr) { check(i, facts) })
		})
	}
	if u := s.Update; u != nil {
		facts = withAxes(facts, u.Axes)
		for _, b := range u.Binds {
			check(b.Lo, facts)
			check(b.Hi, facts)
		}
		for _, i := range slices.Concat(u.At, u.From) {
			check(i, facts)
		}
	}
	return err
}

// source is the rank and type of what stage number `stage` loads.
func source(n *ir.Node, m *Meaning, stage int, s te.Source) (int, ir.DType, error) {
	if s.Stage {
		if s.N < 0 || s.N >= stage || s.Part >= len(m.Stages[s.N].Results) {
			return 0, 0, fmt.Errorf("a load from stage %d, part %d", s.N, s.Part)
		}
		from := m.Stages[s.N]
		return len(from.Axes), from.Results[s.Part].DType(), nil
	}
	v := n.Input(s.N)
	if v == nil {
		return 0, 0, fmt.Errorf("a load from operand %d, which is absent", s.N)
	}
	return v.Rank(), v.Type, nil
}

// EachExpr calls f for every scalar expression of a stage, parents first.
func EachExpr(s *te.Stage, f func(te.Expr)) {
	walk := func(es []te.Expr) {
		for _, e := range es {
			te.Walk(e, f)
		}
	}
	walk(s.Values)
	if s.Combine != nil {
		walk(s.Combine.Init)
		walk(s.Combine.Join)
	}
	walk(s.Results)
}

// require records a condition on the dimensions of a run. It is an error when the
// facts rule it out, and nothing when they imply it.
func (c *Ctx) require(kind CheckKind, a, b sym.Expr, format string, args ...any) error {
	d := sym.Sub(a, b)
	var holds bool
	switch kind {
	case SameDim:
		holds = d.Is(0)
	case AtLeast:
		lo, _ := d.Bounds(c.Facts)
		holds = lo >= 0
	case Broadcastable:
		holds = d.Is(0) || (a.Is(1) && sym.AtLeast(b, 0, c.Facts)) || (b.Is(1) && sym.AtLeast(a, 0, c.Facts))
	}
	what := fmt.Sprintf(format, args...)
	if d.Overflow() {
		return fmt.Errorf("%s: the numbers overflow 64 bits, or their expressions are too long; use smaller dimensions", what)
	}
	check := Check{kind, a, b, what}
	if c.fails(check) {
		return fmt.Errorf("%s: found %s and %s", what, a, b)
	}
	if !holds {
		c.checks = append(c.checks, check)
	}
	return nil
}

// fails reports whether the facts rule a check out.
func (c *Ctx) fails(k Check) bool {
	lo, hi := sym.Sub(k.A, k.B).Bounds(c.Facts)
	apart := lo > 0 || hi < 0
	switch k.Kind {
	case SameDim:
		return apart
	case AtLeast:
		return hi < 0
	}
	return apart && c.isNot(k.A, 1) && c.isNot(k.B, 1)
}

// isNot reports whether e != x is certain.
func (c *Ctx) isNot(e sym.Expr, x int64) bool {
	lo, hi := e.Bounds(c.Facts)
	return lo > x || hi < x
}
