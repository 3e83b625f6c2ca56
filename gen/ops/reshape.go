package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// reshapeRows are the operators that keep the elements' order and change the shape.
func reshapeRows() []*Row {
	axesOperand := since(13, structural("axes", int64s))
	return []*Row{
		{
			Name: "Reshape", Versions: []int{5, 13, 14, 19, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), structural("shape", int64s)},
			Attrs:  []AttrSpec{intAttr("allowzero").from(14)}, Build: reshape,
		},
		{
			Name: "Flatten", Versions: []int{1, 9, 11, 13, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType)}, Attrs: []AttrSpec{intAttr("axis")}, Build: flatten,
		},
		{
			Name: "Squeeze", Versions: []int{1, 11, 13, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), opt(axesOperand)},
			Attrs:  []AttrSpec{intsAttr("axes").until(12)}, Build: squeeze,
		},
		{
			Name: "Unsqueeze", Versions: []int{1, 11, 13, 21, 23, 24, 25}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("data", anyType), axesOperand},
			Attrs:  []AttrSpec{intsAttr("axes").until(12).required()}, Build: unsqueeze,
		},
	}
}

// reshaped is operand 0 in row-major order with another shape of as many elements.
func (c *Ctx) reshaped(from, to ir.Shape) *Meaning {
	as := axes(to)
	return one(c.Row.Name, as, te.Operand(0, c.Type(0), c.reshapeIndex(from, to)...))
}

func reshape(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	elems, err := c.Elems(1)
	if err != nil {
		return nil, err
	}
	allowZero, err := c.flag("allowzero", 0)
	if err != nil {
		return nil, err
	}
	to, infer := make(ir.Shape, len(elems)), -1
	for k, e := range elems {
		switch {
		case e.Is(-1) && infer >= 0:
			return nil, fmt.Errorf("operand 1 (shape) has -1 at %d and %d; want at most one -1", infer, k)
		case e.Is(-1):
			infer = k
		case e.Is(0) && !allowZero && k >= len(x):
			return nil, fmt.Errorf("operand 1 (shape) copies dimension %d; the operand has rank %d", k, len(x))
		case e.Is(0) && !allowZero:
			to[k] = x[k]
		default:
			to[k] = e
			if err := c.require(AtLeast, e, sym.Const(0), "element %d of operand 1 (shape)", k); err != nil {
				return nil, err
			}
		}
	}
	if infer >= 0 {
		known := append(append(ir.Shape{}, to[:infer]...), to[infer+1:]...)
		if to[infer], err = c.quotient(x, known); err != nil {
			return nil, err
		}
	} else if err := c.require(SameDim, product(x...), product(to...), "a reshape keeps the number of elements"); err != nil {
		return nil, err
	}
	return c.reshaped(x, to), nil
}

// quotient is the product of the dimensions divided by that of the known ones.
func (c *Ctx) quotient(x, known ir.Shape) (sym.Expr, error) {
	left := append(ir.Shape{}, x...)
	den := sym.Const(1)
	for _, k := range known {
		at := -1
		for i, d := range left {
			if d.Equal(k) && !k.Is(0) {
				at = i
				break
			}
		}
		if at >= 0 {
			left = append(left[:at], left[at+1:]...)
		} else {
			den = sym.Mul(den, k)
		}
	}
	if den.Is(0) {
		return den, fmt.Errorf("operand 1 (shape) has -1 and a dimension 0, so the -1 cannot be inferred")
	}
	total := product(left...)
	q := sym.FloorDiv(total, den, c.Facts)
	return q, c.require(SameDim, sym.Mul(q, den), total, "a reshape keeps the number of elements")
}

// flattenAxis reads an attribute that cuts the axes in two: 0 to rank, or from the end.
func (c *Ctx) flattenAxis(rank int) (int, error) {
	axis := c.Node.Int("axis", 1)
	if axis < int64(-rank) || axis > int64(rank) {
		return 0, fmt.Errorf("attribute axis is %d; the rank is %d", axis, rank)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), nil
}

func flatten(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.flattenAxis(len(x))
	if err != nil {
		return nil, err
	}
	return c.reshaped(x, ir.Shape{product(x[:axis]...), product(x[axis:]...)}), nil
}

// axesList reads axes from attribute or operand 1, and whether they are given at all.
func (c *Ctx) axesList(operandSince int) ([]int64, bool, error) {
	if c.Version < operandSince {
		return c.Node.Ints("axes"), c.Node.Has("axes"), nil
	}
	if !c.Has(1) {
		return nil, false, nil
	}
	xs, err := c.Ints(1)
	return xs, true, err
}

func squeeze(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	list, given, err := c.axesList(13)
	if err != nil {
		return nil, err
	}
	drop := map[int]bool{}
	if given {
		ks, err := normAxes("an element of axes", list, len(x))
		if err != nil {
			return nil, err
		}
		for _, k := range ks {
			if err := c.require(SameDim, x[k], sym.Const(1), "an axis that is squeezed, %d", k); err != nil {
				return nil, err
			}
			drop[k] = true
		}
	}
	var to ir.Shape
	for k, d := range x {
		if !given && !d.Is(1) && !c.isNot(d, 1) {
			return nil, &UnknownError{fmt.Sprintf("whether dimension %d (%s) is 1, so that a squeeze without axes drops it,", k, d)}
		}
		if !drop[k] && (given || !d.Is(1)) {
			to = append(to, d)
		}
	}
	return c.dropOnes(x, to, func(k int) bool { return drop[k] || (!given && x[k].Is(1)) }), nil
}

// dropOnes is operand 0 without the axes that are 1.
func (c *Ctx) dropOnes(x, to ir.Shape, dropped func(int) bool) *Meaning {
	index, j := make([]sym.Expr, len(x)), 0
	for k := range x {
		if dropped(k) {
			index[k] = sym.Const(0)
		} else {
			index[k] = iv(j)
			j++
		}
	}
	return one(c.Row.Name, axes(to), te.Operand(0, c.Type(0), index...))
}

func unsqueeze(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	list, _, err := c.axesList(13)
	if err != nil {
		return nil, err
	}
	rank := len(x) + len(list)
	ks, err := normAxes("an element of axes", list, rank)
	if err != nil {
		return nil, err
	}
	added := map[int]bool{}
	for _, k := range ks {
		added[k] = true
	}
	to, index := make(ir.Shape, rank), []sym.Expr{}
	for k := range to {
		if added[k] {
			to[k] = sym.Const(1)
		} else {
			to[k] = x[len(index)]
			index = append(index, iv(k))
		}
	}
	return one("Unsqueeze", axes(to), te.Operand(0, c.Type(0), index...)), nil
}
