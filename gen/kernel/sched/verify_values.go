package sched

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/layout"
)

// maxRegister is the most elements of a value in registers.
const maxRegister = 4096

// maxFetch is the most elements between what is fetched and what is read then.
const maxFetch = 1 << 30

// values checks where values lie.
func (v *verifier) values() error {
	seen := map[te.Source]bool{}
	for _, x := range v.s.Values {
		if err := v.value(x); err != nil {
			return fmt.Errorf("value %s: %w", source(x.Of), err)
		}
		if seen[x.Of] {
			return fmt.Errorf("value %s has two places", source(x.Of))
		}
		seen[x.Of] = true
	}
	return v.shared()
}

// shared checks that a group has the memory for all values that its items share.
func (v *verifier) shared() error {
	bytes, err := v.s.SharedBytes(v.w)
	if err != nil || bytes == 0 {
		return err
	}
	g, err := v.t.WorkGroups()
	if err != nil {
		return err
	}
	return g.Takes(1, bytes)
}

// SharedBytes is the memory of the values that the items of a work-group share.
func (s *Schedule) SharedBytes(w *Work) (int64, error) {
	bytes := int64(0)
	for _, x := range s.Values {
		if x.Space != Local {
			continue
		}
		st := w.Stages[x.Of.N]
		elements := x.Parts.Elements(s.Stages[x.Of.N].Shape(st, x.Fold))
		n, known := elements.Const()
		if !known {
			return 0, fmt.Errorf("value %s: work-items share %s elements; want a constant number", source(x.Of), elements)
		}
		bytes += n * int64(st.Results[x.Of.Part].DType().Size())
	}
	return bytes, nil
}

func (v *verifier) value(x Value) error {
	if x.Fetch < 0 || x.Fetch > maxFetch || x.Fetch > 0 && (x.Space != Arena || x.Encoding != "") {
		return fmt.Errorf("lines in space %s with encoding %q are fetched %d elements ahead; want at most %d, in the arena without an encoding", x.Space, x.Encoding, x.Fetch, maxFetch)
	}
	if x.Of.Stage {
		return v.computed(x)
	}
	return v.operand(x)
}

// operand checks a value that others store.
func (v *verifier) operand(x Value) error {
	if x.Of.N < 0 || x.Of.N >= len(v.w.Operands) {
		return fmt.Errorf("the block has %d operands", len(v.w.Operands))
	}
	o := v.w.Operands[x.Of.N]
	switch {
	case x.Space != Arena && x.Space != Image:
		return fmt.Errorf("an operand in space %s", x.Space)
	case x.Fold.Points > 0:
		return fmt.Errorf("%d points of an operand are kept; want all of them", x.Fold.Points)
	case x.Claim != 0:
		return fmt.Errorf("lines of an operand are claimed %d elements ahead, but operands are not stored", x.Claim)
	case x.Margin != (Margin{}):
		return fmt.Errorf("an operand has a margin of %d and %d elements; want none, because another block stores it", x.Margin.Before, x.Margin.After)
	case x.Encoding != "" && o.Const == nil:
		return fmt.Errorf("encoding %s of a non-constant operand", x.Encoding)
	case x.sparse() && x.Parts.String() != layout.PartsOf(layout.RowMajor, len(o.Shape)).String():
		return fmt.Errorf("encoding %s of parts %s; the encoding determines the order itself", x.Encoding, x.Parts)
	}
	return x.Parts.Check(len(o.Shape))
}

// computed checks a value that a stage gives.
func (v *verifier) computed(x Value) error {
	if x.Of.N < 0 || x.Of.N >= len(v.w.Stages) || x.Of.Part < 0 || x.Of.Part >= len(v.w.Stages[x.Of.N].Results) {
		return fmt.Errorf("there is no such stage or result")
	}
	sc, st := &v.s.Stages[x.Of.N], v.w.Stages[x.Of.N]
	if err := x.Parts.Check(len(st.Axes)); err != nil {
		return err
	}
	if x.Fold.Points > 0 {
		if err := v.fold(x, sc, st); err != nil {
			return err
		}
	}
	placed := sc.At != Root
	n, known := x.Parts.Elements(sc.Shape(st, x.Fold)).Const()
	switch {
	case x.Claim < 0 || x.Claim > maxRegister || x.Claim > 0 && x.Space != Worker && x.Space != Arena:
		return fmt.Errorf("lines in space %s are claimed %d elements ahead; want at most %d, in cached memory", x.Space, x.Claim, maxRegister)
	case x.Encoding != "":
		return fmt.Errorf("encoding %s of a stage's result", x.Encoding)
	case x.Margin != (Margin{}) && !x.margined(len(st.Axes)):
		return fmt.Errorf("a margin of %d and %d elements in space %s with parts %s; want up to %d, in row-major worker's memory", x.Margin.Before, x.Margin.After, x.Space, x.Parts, maxRegister)
	case placed && (x.Space == Arena || x.Space == Image):
		return fmt.Errorf("it is computed at a loop by parallel tasks, in space %s, which they share", x.Space)
	case !placed && x.Space != Arena && x.Space != Image:
		return fmt.Errorf("a result of the block in space %s", x.Space)
	case x.Space == Register && (!known || n > maxRegister):
		return fmt.Errorf("%s elements in registers; want a constant of at most %d", x.Parts.Elements(sc.Shape(st, x.Fold)), maxRegister)
	case x.Space == Local && !v.grouped(sc.At):
		return fmt.Errorf("memory of a work-group, but no loop of groups is around stage %d", x.Of.N)
	}
	return v.zeros(x, sc, st)
}

// margined reports whether a value of so many axes may have its margin.
func (x Value) margined(axes int) bool {
	m := x.Margin
	rows := x.Parts.String() == layout.PartsOf(layout.RowMajor, axes).String()
	return axes > 0 && min(m.Before, m.After) >= 0 && max(m.Before, m.After) <= maxRegister && x.Space == Worker && x.Fold.Points == 0 && rows
}

// grouped reports whether a loop of work-groups is around a place.
func (v *verifier) grouped(at Ref) bool {
	for ; at != Root; at = v.s.Stages[at.Stage].At {
		if slices.ContainsFunc(v.s.Stages[at.Stage].Loops, func(l Loop) bool { return l.Kind == Group }) {
			return true
		}
	}
	return false
}

// fold checks that iterations of a loop, the one around or the stage's own outermost one, compute the axis one point after the
// other.
func (v *verifier) fold(x Value, sc *Stage, st *te.Stage) error {
	if x.Fold.Axis < 0 || x.Fold.Axis >= len(st.Axes) {
		return fmt.Errorf("it keeps points of axis %d of %d axes", x.Fold.Axis, len(st.Axes))
	}
	axis := st.Axes[x.Fold.Axis].Var
	r := sc.region(axis)
	if r == nil && len(sc.Loops) > 0 && sc.Loops[0].Axis == axis && sc.Within(0) == 1 && sc.Loops[0].Kind == Serial && !sc.Loops[0].Stored {
		return nil
	}
	if sc.At == Root || r == nil || r.Extent != 1 || !r.First.Equal(sym.Var(sc.At.Loop)) {
		return fmt.Errorf("it keeps %d points of axis %s; want a loop whose iterations compute one point each", x.Fold.Points, axis)
	}
	if l := v.s.Stages[sc.At.Stage].loop(sc.At.Loop); l.Kind != Serial {
		return fmt.Errorf("it keeps points of earlier iterations; want loop %s serial, not of kind %s", l.Var, l.Kind)
	}
	return nil
}
