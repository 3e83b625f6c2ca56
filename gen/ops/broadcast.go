package ops

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// broadcast is the shape to which the shapes extend together (multidirectional
// broadcasting). Where dimensions of unequal symbols meet, the run's must be equal
// or one of them 1.
func (c *Ctx) broadcast(shapes ...ir.Shape) (ir.Shape, error) {
	var out ir.Shape
	for _, s := range shapes {
		for len(out) < len(s) {
			out = append(ir.Shape{sym.Const(1)}, out...)
		}
		for i, d := range s {
			k := len(out) - len(s) + i
			joined, err := c.joinDims(out[k], d)
			if err != nil {
				return nil, err
			}
			out[k] = joined
		}
	}
	return out, nil
}

func (c *Ctx) joinDims(a, b sym.Expr) (sym.Expr, error) {
	switch {
	case a.Equal(b) || b.Is(1):
		return a, nil
	case a.Is(1):
		return b, nil
	}
	wideA, wideB := c.isNot(a, 1), c.isNot(b, 1)
	kind, left, right := Broadcastable, a, b
	switch {
	case wideA && wideB:
		kind = SameDim
	case a.Is(0):
		kind, left = AtLeast, sym.Const(1) // b is 0 or 1, both of which give 0
	case b.Is(0):
		kind, left, right = AtLeast, sym.Const(1), a
	}
	if err := c.require(kind, left, right, "dimensions must be equal or 1 to broadcast"); err != nil {
		return a, err
	}
	_, constA := a.Const()
	switch {
	case wideA && (constA || !wideB):
		return a, nil
	case wideB:
		return b, nil
	}
	return c.joined(a, b), nil
}

// joined is what dimensions extend to, which are equal or one of them is 1: the greater, or 0 where one is 0.
func (c *Ctx) joined(a, b sym.Expr) sym.Expr {
	return sym.Mul(c.extremum(sym.AtomMax, c.split(a).most, c.split(b).most), c.some(c.some(sym.Const(1), a), b))
}

// some is also 0 where a dimension is.
func (c *Ctx) some(some, d sym.Expr) sym.Expr {
	s := c.split(d)
	if s.joined {
		some = c.extremum(sym.AtomMin, some, s.some)
	}
	if s.positive {
		return some
	}
	return c.extremum(sym.AtomMin, some, s.most)
}

// broadcastIndex reads a tensor of shape s at a point of a result to which it
// extends; point are the result's indices.
func (c *Ctx) broadcastIndex(s, result ir.Shape, point []sym.Expr) []sym.Expr {
	out := make([]sym.Expr, len(s))
	for i, d := range s {
		k := len(result) - len(s) + i
		switch {
		case d.Equal(result[k]) || c.isNot(d, 1):
			out[i] = point[k]
		case d.Is(1):
			out[i] = sym.Const(0)
		default: // 1, or as long as the result: known in the run
			out[i] = sym.Min(point[k], sym.Sub(d, sym.Const(1)), c.with(axes(result)))
		}
	}
	return out
}

// loadBroadcast loads operand n at a point of a result to which it extends.
func (c *Ctx) loadBroadcast(n int, result ir.Shape, point []sym.Expr) (te.Expr, error) {
	s, err := c.Shape(n)
	if err != nil {
		return nil, err
	}
	return te.Operand(n, c.Type(n), c.broadcastIndex(s, result, point)...), nil
}

// body computes an element of the result from elements of the operands; x has an
// entry for each operand of the definition, nil where it is absent.
type body func(c *Ctx, x []te.Expr) (te.Expr, error)

// elementwise is the Build of operators that broadcast their operands and compute
// each element from the elements at its place.
func elementwise(f body) func(*Ctx) (*Meaning, error) {
	return func(c *Ctx) (*Meaning, error) { return c.elementwise(f, false) }
}

// elementwiseLike is elementwise where only the later operands broadcast: the
// result has the shape of operand 0.
func elementwiseLike(f body) func(*Ctx) (*Meaning, error) {
	return func(c *Ctx) (*Meaning, error) { return c.elementwise(f, true) }
}

func (c *Ctx) elementwise(f body, like0 bool) (*Meaning, error) {
	as, x, err := c.broadcastOperands(like0)
	if err != nil {
		return nil, err
	}
	e, err := f(c, x)
	if err != nil {
		return nil, err
	}
	return one(c.Row.Name, as, e), nil
}

// broadcastOperands are the axes of what the operands broadcast to, and a load of each of them there; nil where one is
// absent.
func (c *Ctx) broadcastOperands(like0 bool) ([]te.Axis, []te.Expr, error) {
	var shapes []ir.Shape
	for i := range c.Node.Inputs {
		if c.Has(i) {
			s, err := c.Shape(i)
			if err != nil {
				return nil, nil, err
			}
			shapes = append(shapes, s)
		}
	}
	result, err := c.broadcast(shapes...)
	if err != nil {
		return nil, nil, err
	}
	if like0 {
		if err := c.sameShape(shapes[0], result); err != nil {
			return nil, nil, err
		}
		result = shapes[0]
	}
	as := axes(result)
	x := make([]te.Expr, max(len(c.Node.Inputs), len(c.params())))
	for i := range c.Node.Inputs {
		if c.Has(i) {
			if x[i], err = c.loadBroadcast(i, result, te.AxisVars(as)); err != nil {
				return nil, nil, err
			}
		}
	}
	return as, x, nil
}

// sameShape requires that broadcasting left the shape of operand 0 as it was.
func (c *Ctx) sameShape(s, result ir.Shape) error {
	if len(s) != len(result) {
		return c.require(SameDim, sym.Const(int64(len(s))), sym.Const(int64(len(result))), "operands must not have a greater rank than operand 0")
	}
	for i := range s {
		if err := c.require(SameDim, s[i], result[i], "operands must broadcast to the shape of operand 0, dimension %d", i); err != nil {
			return err
		}
	}
	return nil
}
