package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

// pointers and runs shorten what most calls have.
func pointers(operands, results, scratch int) []opaque.Arg {
	return slices.Concat(opaque.Pointers(opaque.Operand, operands), opaque.Pointers(opaque.Result, results), opaque.Pointers(opaque.Scratch, scratch))
}

type run = func(env map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error)

// countedBy runs a function whose result has the count that it computes as its dimension d.
func countedBy(f func(in []*ir.Tensor) ([]*ir.Tensor, error), d int) run {
	return func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
		out, err := f(in)
		if err != nil {
			return nil, nil, err
		}
		return out, []int64{out[0].Shape[d]}, nil
	}
}

// alone makes a list of one result.
func alone(t *ir.Tensor, err error) ([]*ir.Tensor, error) { return []*ir.Tensor{t}, err }

// nonZero has a row of the result for each axis; a scalar has none.
func nonZero(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	call := &opaque.Call{Name: "NonZero", Types: []ir.DType{c.Type(0)}, Work: product(x...)}
	count := c.counted(call, "count", product(x...))
	rank := int64(len(x))
	call.Args = slices.Concat(pointers(1, 1, 0), []opaque.Arg{{Kind: opaque.Dims, Dims: x}}, opaque.Sizes(sym.Const(rank)), opaque.Pointers(opaque.Computed, 1))
	call.Results = []opaque.Tensor{{Type: ir.I64, Shape: ir.Shape{sym.Const(rank), count}}}
	call.Run = countedBy(func(in []*ir.Tensor) ([]*ir.Tensor, error) { return alone(opaque.NonZero(in[0])) }, 1)
	return c.calls(call), nil
}

func compress(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	condition, err := c.Shape(1)
	if err != nil {
		return nil, err
	}
	if len(condition) != 1 {
		return nil, fmt.Errorf("operand 1 (condition) has rank %d; want 1", len(condition))
	}
	axis, err := c.optionalAxis(x)
	if err != nil {
		return nil, err
	}
	t := c.Type(0)
	outer, n, inner := lines(x, axis)
	call := &opaque.Call{Name: "Compress", Types: []ir.DType{t}, Work: product(x...)}
	count := c.counted(call, "count", sym.Min(n, condition[0], c.Facts))
	call.Args = slices.Concat(pointers(2, 1, 0), opaque.Sizes(outer, n, inner, condition[0]), opaque.Pointers(opaque.Computed, 1))
	call.Results = []opaque.Tensor{{Type: t, Shape: along(x, axis, count)}}
	call.Run = countedBy(func(in []*ir.Tensor) ([]*ir.Tensor, error) { return alone(opaque.Compress(in[0], in[1], axis)) }, max(axis, 0))
	return c.calls(call), nil
}

func unique(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	axis, err := c.optionalAxis(x)
	if err != nil {
		return nil, err
	}
	sorted, err := c.flag("sorted", 1)
	if err != nil {
		return nil, err
	}
	t := c.Type(0)
	outer, n, inner := lines(x, axis)
	call := &opaque.Call{Name: "Unique", Types: []ir.DType{t}, Work: sym.Scale(product(x...), 16)}
	count := c.counted(call, "count", n)
	call.Scratch = []opaque.Memory{{Type: ir.I64, Size: sym.Scale(n, 3)}}
	call.Args = slices.Concat(pointers(1, 4, 1), opaque.Sizes(outer, n, inner), opaque.Flags(sorted), opaque.Pointers(opaque.Computed, 1))
	call.Results = []opaque.Tensor{{Type: t, Shape: along(x, axis, count)}, {Type: ir.I64, Shape: ir.Shape{count}},
		{Type: ir.I64, Shape: ir.Shape{n}}, {Type: ir.I64, Shape: ir.Shape{count}}}
	call.Run = countedBy(func(in []*ir.Tensor) ([]*ir.Tensor, error) { return opaque.Unique(in[0], axis, sorted) }, max(axis, 0))
	return c.calls(call), nil
}

func nonMaxSuppression(c *Ctx) (*Meaning, error) {
	batches, classes, n, err := c.boxes()
	if err != nil {
		return nil, err
	}
	centers, err := c.flag("center_point_box", 0)
	if err != nil {
		return nil, err
	}
	call := &opaque.Call{Name: "NonMaxSuppression", Whole: true, Work: sym.Scale(product(batches, classes, n), 32)}
	count := c.counted(call, "count", product(batches, classes, c.mostBoxes(n)))
	call.Scratch = []opaque.Memory{{Type: ir.I64, Size: n}, {Type: ir.F32, Size: sym.Scale(n, 4)}}
	call.Args = slices.Concat(pointers(5, 1, 2), opaque.Sizes(batches, classes, n), opaque.Flags(centers), opaque.Pointers(opaque.Computed, 1))
	call.Results = []opaque.Tensor{{Type: ir.I64, Shape: ir.Shape{count, sym.Const(3)}}}
	call.Run = countedBy(func(in []*ir.Tensor) ([]*ir.Tensor, error) {
		in = append(slices.Clone(in), nil, nil, nil)
		o := opaque.NMS{MostBoxes: in[2], Overlap: in[3], Score: in[4], Centers: centers}
		return alone(opaque.NonMaxSuppression(in[0], in[1], o))
	}, 0)
	return c.calls(call), nil
}

// boxes are the extents of a NonMaxSuppression: boxes [batches, n, 4], scores [batches, classes, n].
func (c *Ctx) boxes() (batches, classes, n sym.Expr, err error) {
	boxes, err := c.Shape(0)
	if err != nil {
		return
	}
	scores, err := c.Shape(1)
	if err != nil {
		return
	}
	if len(boxes) != 3 || len(scores) != 3 {
		err = fmt.Errorf("operands 0 (boxes) and 1 (scores) have ranks %d and %d; want 3", len(boxes), len(scores))
		return
	}
	batches, classes, n = scores[0], scores[1], scores[2]
	if err = c.hasShape(0, ir.Shape{batches, n, sym.Const(4)}); err != nil {
		return
	}
	for i := 2; i < 5; i++ {
		if !c.Has(i) {
			continue
		}
		var s ir.Shape
		if s, err = c.Shape(i); err != nil {
			return
		}
		if err = c.require(SameDim, product(s...), sym.Const(1), "elements of operand %d", i); err != nil {
			return
		}
	}
	return
}

// mostBoxes is how many boxes of a class are selected at most.
func (c *Ctx) mostBoxes(n sym.Expr) sym.Expr {
	if !c.Has(2) {
		return sym.Const(0)
	}
	es, err := c.Elems(2)
	if err != nil || len(es) != 1 {
		return n
	}
	if most, ok := es[0].Const(); ok {
		return sym.Min(n, sym.Const(max(0, most)), c.Facts)
	}
	return n
}

func det(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) < 2 {
		return nil, fmt.Errorf("operand 0 has rank %d; want at least 2", len(x))
	}
	outer, n := x[:len(x)-2], x[len(x)-1]
	if err := c.require(SameDim, x[len(x)-2], n, "the last two dimensions of operand 0"); err != nil {
		return nil, err
	}
	t := c.Type(0)
	return c.calls(&opaque.Call{
		Name: "Det", Types: []ir.DType{t}, Args: slices.Concat(pointers(1, 1, 1), opaque.Sizes(product(outer...), n)),
		Results: []opaque.Tensor{{Type: t, Shape: outer}},
		Scratch: []opaque.Memory{{Type: wide(t), Size: sym.Mul(n, n)}},
		Work:    product(product(outer...), n, n, n),
		Run: func(_ map[string]int64, in []*ir.Tensor) ([]*ir.Tensor, []int64, error) {
			y, err := alone(opaque.Det(in[0]))
			return y, nil, err
		},
	}), nil
}
