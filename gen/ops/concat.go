package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// manyOperands is how many operands one stage reads. Operators of more are several stages, each of which goes on with what
// the one before gives: an expression would be as deep as they are many, in the compiler and in the code, and clang reads
// 256 levels of brackets.
const manyOperands = 64

// concat reads the operand in whose part of the axis a point lies: each load is
// guarded by its part and has the next as its default.
func concat(c *Ctx) (*Meaning, error) {
	first, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", 0, len(first))
	if err != nil {
		return nil, err
	}
	to := append(ir.Shape{}, first...)
	var pieces []piece
	for i := range c.Node.Inputs {
		s, err := c.Shape(i)
		if err != nil {
			return nil, err
		}
		if len(s) != len(to) {
			return nil, fmt.Errorf("operand %d has rank %d; the rank of operand 0 is %d", i, len(s), len(to))
		}
		for k, d := range s {
			if k == axis {
				continue
			}
			if err := c.require(SameDim, d, first[k], "dimension %d of operand %d must be that of operand 0", k, i); err != nil {
				return nil, err
			}
			if _, known := d.Const(); known {
				to[k] = d
			}
		}
		pieces = append(pieces, piece{te.Source{N: i}, s[axis]})
	}
	return joined(c.Type(0), axis, to, pieces), nil
}

// piece is what a part of a concatenation's axis is loaded from.
type piece struct {
	from   te.Source
	extent sym.Expr
}

// joined puts pieces one after the other, groups of them first where they are many.
func joined(t ir.DType, axis int, to ir.Shape, pieces []piece) *Meaning {
	var ss []*te.Stage
	join := func(group []piece) piece {
		shape := slices.Clone(to)
		shape[axis] = sym.Const(0)
		offsets := make([]sym.Expr, len(group))
		for i, p := range group {
			offsets[i] = shape[axis]
			shape[axis] = sym.Add(shape[axis], p.extent)
		}
		ss = append(ss, &te.Stage{Name: "Concat", Axes: axes(shape), Results: []te.Expr{parts(t, axis, len(to), group, offsets)}})
		return piece{te.Source{Stage: true, N: len(ss) - 1}, shape[axis]}
	}
	for len(pieces) > manyOperands {
		var groups []piece
		for group := range slices.Chunk(pieces, manyOperands) {
			groups = append(groups, join(group))
		}
		pieces = groups
	}
	join(pieces)
	return stages(ss...)
}

// parts loads each element from the piece that has it.
func parts(t ir.DType, axis, rank int, pieces []piece, offsets []sym.Expr) te.Expr {
	var e te.Expr
	for i := len(pieces) - 1; i >= 0; i-- {
		p := pieces[i]
		if p.extent.Is(0) && (e != nil || i > 0) {
			continue
		}
		index := te.AxisVars(axes(make(ir.Shape, rank)))
		index[axis] = sym.Sub(index[axis], offsets[i])
		l := te.Load{Source: p.from, Type: t, Index: index}
		if e != nil {
			l.Guard = []te.Within{{E: index[axis], Lo: sym.Const(0), Hi: p.extent}}
			l.Default = e
		}
		e = l
	}
	return e
}
