package ops

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// topLines is how many lines side by side are looked through together: kLines of runtime/dnn_select.h.
const topLines = 32

func topK(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.axisAttr("axis", -1, len(x))
	if err != nil {
		return nil, err
	}
	k := sym.Const(c.Node.Int("k", 0))
	if c.Version >= 10 {
		if k, err = c.scalarOperand(1); err != nil {
			return nil, err
		}
	}
	largest, err := c.flag("largest", 1)
	if err != nil {
		return nil, err
	}
	if _, err := c.flag("sorted", 1); err != nil { // an order that nothing may rely on can be this one
		return nil, err
	}
	if err := c.require(AtLeast, k, sym.Const(0), "K"); err != nil {
		return nil, err
	}
	if err := c.require(AtLeast, x[axis], k, "the axis must have at least K elements"); err != nil {
		return nil, err
	}
	outer, n, inner := lines(x, axis)
	t, to := c.Type(0), along(x, axis, k)
	return c.calls(&opaque.Call{
		Name: "TopK", Types: []ir.DType{t},
		Args: slices.Concat(opaque.Pointers(opaque.Operand, 1), opaque.Pointers(opaque.Result, 2), opaque.Pointers(opaque.Scratch, 1),
			opaque.Sizes(outer, n, inner, k), opaque.Flags(largest)),
		Results: []opaque.Tensor{{Type: t, Shape: to}, {Type: ir.I64, Shape: to}},
		Scratch: []opaque.Memory{{Type: ir.I64, Size: sym.Mul(k, sym.Min(inner, sym.Const(topLines), c.Facts))}},
		Work:    sym.Scale(product(x...), 8),
		Run: func(env map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
			most, err := k.Eval(env)
			if err != nil {
				return nil, nil, err
			}
			values, indices, err := opaque.TopK(in[0], axis, most, largest)
			return []*ir.Tensor{values, indices}, nil, err
		},
	}), nil
}
