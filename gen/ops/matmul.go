package ops

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

func matmulRows() []*Row {
	return []*Row{
		{
			Name: "Gemm", Versions: []int{7, 9, 11, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs:  []Param{in("A", wideNumbers), in("B", wideNumbers), until(10, in("C", wideNumbers)), opt(since(11, in("C", wideNumbers)))},
			Attrs:   []AttrSpec{floatAttr("alpha"), floatAttr("beta"), intAttr("transA"), intAttr("transB")},
			Weights: &Weights{Operand: 1, Bias: 2, Linear: true, channelsFirst: unlessTransposed},
			Build:   gemm,
		},
		{
			Name: "MatMul", Versions: []int{1, 9, 13}, MinOutputs: 1, MaxOutputs: 1,
			Inputs:  []Param{in("A", wideNumbers), in("B", wideNumbers)},
			Weights: &Weights{Operand: 1, Linear: true, channelsFirst: always},
			Build:   matmul,
		},
	}
}

// contraction is the stage that sums a*b over r0.
func contraction(name string, as []te.Axis, k sym.Expr, t ir.DType, a, b []sym.Expr, result func(sum te.Expr) te.Expr) *Meaning {
	acc := wide(t)
	product := mul(cast(acc, te.Operand(0, t, a...)), cast(acc, te.Operand(1, t, b...)))
	return stages(&te.Stage{
		Name: name, Axes: as, Reduce: reduceAxes(ir.Shape{k}), Combine: te.Sum(acc),
		Values: []te.Expr{product}, Results: []te.Expr{cast(t, result(te.Acc{Type: acc}))},
	})
}

// matrix is the shape of an operand of rank 2, transposed if asked, and its indices
// at (row, column) of the matrix so meant.
func (c *Ctx) matrix(i int, trans string, row, col sym.Expr) (ir.Shape, []sym.Expr, error) {
	s, err := c.Shape(i)
	if err != nil {
		return nil, nil, err
	}
	if len(s) != 2 {
		return nil, nil, fmt.Errorf("operand %d has rank %d; want rank 2", i, len(s))
	}
	t, err := c.flag(trans, 0)
	if err != nil || !t {
		return s, []sym.Expr{row, col}, err
	}
	return ir.Shape{s[1], s[0]}, []sym.Expr{col, row}, nil
}

func gemm(c *Ctx) (*Meaning, error) {
	a, ia, err := c.matrix(0, "transA", iv(0), rv(0))
	if err != nil {
		return nil, err
	}
	b, ib, err := c.matrix(1, "transB", rv(0), iv(1))
	if err != nil {
		return nil, err
	}
	if err := c.require(SameDim, a[1], b[0], "A must have as many columns as B has rows"); err != nil {
		return nil, err
	}
	shape := ir.Shape{a[0], b[1]}
	as, t := axes(shape), c.Type(0)
	var bias te.Expr
	if c.Has(2) {
		if bias, err = c.gemmBias(shape, as); err != nil {
			return nil, err
		}
	}
	alpha, err := c.gemmFactor("alpha", t)
	if err != nil {
		return nil, err
	}
	return contraction("Gemm", as, a[1], t, ia, ib, func(sum te.Expr) te.Expr {
		if alpha != 1 {
			sum = mul(num(sum, alpha), sum)
		}
		if bias != nil {
			sum = add(sum, bias)
		}
		return sum
	}), nil
}

// gemmBias is beta * C, which extends to the shape of the result.
func (c *Ctx) gemmBias(shape ir.Shape, as []te.Axis) (te.Expr, error) {
	s, err := c.Shape(2)
	if err != nil {
		return nil, err
	}
	joined, err := c.broadcast(shape, s)
	if err != nil {
		return nil, err
	}
	if err := c.sameShape(shape, joined); err != nil {
		return nil, err
	}
	load, err := c.loadBroadcast(2, shape, te.AxisVars(as))
	if err != nil {
		return nil, err
	}
	beta, err := c.gemmFactor("beta", c.Type(2))
	if err != nil {
		return nil, err
	}
	load = cast(wide(c.Type(2)), load)
	if beta != 1 {
		load = mul(num(load, beta), load)
	}
	return load, nil
}

// gemmFactor reads alpha or beta, which integer types can only apply when whole.
func (c *Ctx) gemmFactor(name string, t ir.DType) (float64, error) {
	x := float64(c.Node.Float(name, 1))
	if !t.IsFloat() && x != math.Trunc(x) {
		return 0, fmt.Errorf("attribute %s is %v; operands of type %s need a whole number", name, x, t)
	}
	return x, nil
}

// factors is what the kinds of MatMul share: the loops, and where a product reads.
type factors struct {
	as   []te.Axis
	k    sym.Expr   // extent of the sum
	a, b []sym.Expr // indices of the factors
}

// newProduct is numpy's product of factors of shapes a and b: the last two axes multiply,
// those before broadcast, and a vector is a row on the left, a column on the right.
func (c *Ctx) newProduct(a, b ir.Shape) (*factors, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, fmt.Errorf("operands have ranks %d and %d; want at least 1", len(a), len(b))
	}
	batchA, rows := split(a, 2)
	batchB, cols := split(b, 1)
	k, kb := a[len(a)-1], b[max(0, len(b)-2)]
	if err := c.require(SameDim, k, kb, "last axis of A must be as long as the last but one of B"); err != nil {
		return nil, err
	}
	batch, err := c.broadcast(batchA, batchB)
	if err != nil {
		return nil, err
	}
	p := &factors{as: axes(append(append(append(ir.Shape{}, batch...), rows...), cols...)), k: k}
	point := te.AxisVars(p.as)
	p.a = c.broadcastIndex(batchA, batch, point)
	p.b = c.broadcastIndex(batchB, batch, point)
	if len(rows) > 0 {
		p.a = append(p.a, point[len(batch)])
	}
	p.a, p.b = append(p.a, rv(0)), append(p.b, rv(0))
	if len(cols) > 0 {
		p.b = append(p.b, point[len(point)-1])
	}
	return p, nil
}

func matmul(c *Ctx) (*Meaning, error) {
	a, b, err := c.shapes2()
	if err != nil {
		return nil, err
	}
	p, err := c.newProduct(a, b)
	if err != nil {
		return nil, err
	}
	return contraction("MatMul", p.as, p.k, c.Type(0), p.a, p.b, func(sum te.Expr) te.Expr { return sum }), nil
}

// split is the batch axes of an operand of MatMul and the axis of it that the result
// keeps, at `kept` from the end; a vector has neither.
func split(s ir.Shape, kept int) (batch, axis ir.Shape) {
	n := len(s)
	if n == 1 {
		return nil, nil
	}
	return s[:n-2], ir.Shape{s[n-kept]}
}
