package ops

import (
	"fmt"
	"maps"
	"strconv"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// axes are the loops of a result of the shape: i0, i1, ...
func axes(s ir.Shape) []te.Axis { return axesNamed("i", s) }

// reduceAxes are reduction loops over the extents: r0, r1, ...
func reduceAxes(s ir.Shape) []te.Axis { return axesNamed("r", s) }

func axesNamed(prefix string, s ir.Shape) []te.Axis {
	out := make([]te.Axis, len(s))
	for i, d := range s {
		out[i] = te.Axis{Var: prefix + strconv.Itoa(i), Extent: d}
	}
	return out
}

// iv and rv are the variables of result axis k and reduction axis k.
func iv(k int) sym.Expr { return sym.Var("i" + strconv.Itoa(k)) }
func rv(k int) sym.Expr { return sym.Var("r" + strconv.Itoa(k)) }

// with adds the ranges of loops to the facts.
func (c *Ctx) with(loops ...[]te.Axis) sym.Facts { return withAxes(c.Facts, loops...) }

func withAxes(facts sym.Facts, loops ...[]te.Axis) sym.Facts {
	f := maps.Clone(facts)
	if f == nil {
		f = sym.Facts{}
	}
	for _, as := range loops {
		for _, a := range as {
			_, hi := a.Extent.Bounds(facts)
			f[a.Var] = sym.Range{Lo: 0, Hi: max(0, hi-1)}
		}
	}
	return f
}

// normAxis makes an axis that may count from the end non-negative.
func normAxis(what string, axis int64, rank int) (int, error) {
	if axis < int64(-rank) || axis >= int64(rank) {
		return 0, fmt.Errorf("%s is %d; the rank is %d", what, axis, rank)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), nil
}

// axisAttr reads an attribute that names one axis of an operand of the rank.
func (c *Ctx) axisAttr(name string, def int64, rank int) (int, error) {
	return normAxis("attribute "+name, c.Node.Int(name, def), rank)
}

// normAxes makes a list of axes non-negative; none may occur twice.
func normAxes(what string, axes []int64, rank int) ([]int, error) {
	out := make([]int, len(axes))
	seen := map[int]bool{}
	for i, a := range axes {
		k, err := normAxis(what, a, rank)
		if err != nil {
			return nil, err
		}
		if seen[k] {
			return nil, fmt.Errorf("%s names axis %d twice", what, k)
		}
		seen[k] = true
		out[i] = k
	}
	return out, nil
}

// flag reads an attribute that is 0 or 1.
func (c *Ctx) flag(name string, def int64) (bool, error) {
	switch x := c.Node.Int(name, def); x {
	case 0, 1:
		return x == 1, nil
	default:
		return false, fmt.Errorf("attribute %s is %d; supported are 0 and 1", name, x)
	}
}

// choice reads a string attribute that is one of the values; the first is the default.
func (c *Ctx) choice(name string, values ...string) (string, error) {
	s := c.Node.Str(name, values[0])
	for _, v := range values {
		if s == v {
			return s, nil
		}
	}
	return "", fmt.Errorf("attribute %s is %q; supported are %q", name, s, values)
}

// one is the meaning of a single stage with a single result.
func one(name string, as []te.Axis, result te.Expr) *Meaning {
	return stages(&te.Stage{Name: name, Axes: as, Results: []te.Expr{result}})
}

// stages is the meaning of stages whose last one gives the result.
func stages(ss ...*te.Stage) *Meaning {
	return &Meaning{Stages: ss, Outputs: []te.Source{{Stage: true, N: len(ss) - 1}}}
}

// product multiplies dimensions.
func product(ds ...sym.Expr) sym.Expr {
	p := sym.Const(1)
	for _, d := range ds {
		p = sym.Mul(p, d)
	}
	return p
}
