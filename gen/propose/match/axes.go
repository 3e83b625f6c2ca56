package match

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// Static reports whether the extents of axes are known.
func Static(axes []te.Axis) bool {
	for _, a := range axes {
		if _, ok := a.Extent.Const(); !ok {
			return false
		}
	}
	return true
}

// PointsOf is how many points static axes have together.
func PointsOf(axes []te.Axis) int64 {
	out := int64(1)
	for _, a := range axes {
		n, _ := a.Extent.Const()
		out *= n
	}
	return out
}

// Uses reports whether an index of a load is made of a variable.
func Uses(l te.Load, v string) bool {
	for _, e := range l.Index {
		if e.Uses(v) {
			return true
		}
	}
	return false
}

// UsesOneOf reports whether an index is made of an axis of several points.
func UsesOneOf(e sym.Expr, axes []te.Axis) bool {
	return slices.ContainsFunc(axes, func(a te.Axis) bool { return !a.Extent.Is(1) && e.Uses(a.Var) })
}

// DimOf is the dimension whose index is the variable alone, or -1.
func DimOf(l te.Load, v string) int {
	for d, e := range l.Index {
		if e.Equal(sym.Var(v)) {
			return d
		}
	}
	return -1
}

// GroupSize is how many neighbours of an axis share the operand's elements: the load reads the axis
// only as axis // size, as a convolution of several groups reads its input channels. 0: it does not.
func GroupSize(l te.Load, a te.Axis) int64 {
	size := int64(0)
	for _, e := range l.Index {
		terms, _ := e.Terms()
		for _, t := range terms {
			for _, at := range t.Atoms {
				if !sym.FromAtom(at).Uses(a.Var) {
					continue
				}
				n, isConst := at.B.Const()
				if at.Kind != sym.AtomDiv || !isConst || !at.A.Equal(sym.Var(a.Var)) || size != 0 && size != n {
					return 0
				}
				size = n
			}
		}
	}
	if extent, ok := a.Extent.Const(); size == 0 || !ok || extent%size != 0 {
		return 0
	}
	return size
}

// ZeroDefault reports whether a load is 0 beyond its guard, if it has one.
func ZeroDefault(l te.Load) bool {
	d, ok := l.Default.(te.Const)
	return len(l.Guard) == 0 || ok && d.Bits == 0
}

// Reorders are the combiners whose partial results join as values do.
var Reorders = map[string]bool{"sum": true, "max": true, "min": true, "prod": true}

// Floats reports whether tiles of f32 take a type in: as it is, or widened where it is copied.
func Floats(t ir.DType) bool { return t == ir.F32 || slices.Contains(loop.Halves, t) }

// AsF32 widens what is loaded of 16 bits.
func AsF32(e te.Expr) te.Expr {
	if slices.Contains(loop.Halves, e.DType()) {
		return te.Fn(ir.F32, "cast", e)
	}
	return e
}
