package bind

import (
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ops"
)

// longs is a constant vector.
func longs(xs ...int64) *ir.Value {
	return ir.ConstValue("", edit.IntTensor(ir.I64, xs, int64(len(xs))))
}

// long is v as 64-bit integers.
func (b *binder) long(v *ir.Value) *ir.Value {
	if v.Type == ir.I64 {
		return v
	}
	return b.add("Cast", 13, ir.Attrs{"to": int64(7)}, v)
}

// forward reports whether a Slice's axes and steps are known, and the steps forward.
func forward(n *ir.Node) bool {
	for i := 3; i <= 4; i++ {
		if o := n.Input(i); o != nil && o.Const == nil {
			return false
		}
	}
	if n.Input(4) == nil {
		return true
	}
	steps, err := n.Input(4).Const.Ints()
	return err == nil && !slices.ContainsFunc(steps, func(s int64) bool { return s < 1 })
}

// sliced is a Slice's starts or ends as numbers from 0 to the dimensions, where steps are known, and
// forward, and axes known too.
func sliced(b *binder, n *ir.Node, v *ir.Value) (numbers, like *ir.Value) {
	x := n.Input(0)
	if x == nil || !x.HasShape || len(v.Shape) != 1 || n.Version != 0 && n.Version < 10 {
		return nil, nil
	}
	count, _ := v.Shape[0].Const()
	if !forward(n) {
		return nil, nil
	}
	dims := b.add("Shape", 15, nil, x)
	if a := n.Input(3); a != nil {
		axes, err := a.Const.Ints()
		if err != nil {
			return nil, nil
		}
		dims = b.add("Gather", 13, nil, dims, longs(axes...))
	} else if count < int64(len(x.Shape)) {
		dims = b.add("Shape", 15, ir.Attrs{"end": count}, x)
	}
	v, zero := b.long(v), longs(0)
	v = b.add("Where", 16, nil, b.add("Less", 13, nil, v, zero), b.add("Add", 14, nil, v, dims), v)
	return b.add("Min", 13, nil, b.add("Max", 13, nil, v, zero), dims), nil
}

// cuts are what a Slice takes of some axes: vectors of as many elements, and which axes they are.
type cuts struct {
	axes                      []int64
	starts, ends, steps, dims *ir.Value
}

// gathered makes a Slice whose axes or steps only the run knows, or that goes backward from there, one
// Gather of each axis: by the indices of a Range, whose number is a symbol. A step of 0 is
// refused, and what an axis given twice means is not defined.
func (b *binder) gathered(n *ir.Node) bool {
	if n.Op != "Slice" || n.Version != 0 && n.Version < 10 || forward(n) {
		return false
	}
	c := b.cut(n)
	if c == nil {
		return false
	}
	zero, minus := longs(0), longs(-1)
	back := b.add("Less", 13, nil, c.steps, zero)
	last := b.add("Where", 16, nil, back, b.add("Add", 14, nil, c.dims, minus), c.dims)
	least := b.add("Where", 16, nil, back, minus, zero)
	within := func(v, lo *ir.Value) *ir.Value {
		v = b.add("Where", 16, nil, b.add("Less", 13, nil, v, zero), b.add("Add", 14, nil, v, c.dims), v)
		return b.add("Min", 13, nil, b.add("Max", 13, nil, v, lo), last)
	}
	starts, ends := within(c.starts, zero), within(c.ends, least)
	x := n.Inputs[0]
	for i, axis := range c.axes {
		at := ir.ConstValue("", edit.IntTensor(ir.I64, []int64{int64(i)}))
		element := func(v *ir.Value) *ir.Value { return b.add("Gather", 13, ir.Attrs{"axis": int64(0)}, v, at) }
		start, step := element(starts), element(c.steps)
		count := b.symbols(numbers{of: b.add(ops.Steps, 1, nil, start, element(ends), step), count: 1, like: n.Inputs[0], axis: int(axis)})
		index := b.add(ops.Ramp, 1, nil, start, step, count)
		if i == len(c.axes)-1 {
			n.For = n.Model()
			n.Op, n.Version, n.Attrs, n.Inputs = "Gather", 13, ir.Attrs{"axis": axis}, []*ir.Value{x, index}
		} else {
			x = b.add("Gather", 13, ir.Attrs{"axis": axis}, x, index)
		}
	}
	return true
}

// cut reads what a Slice takes: of the axes that it names, or, where these are not known, of all.
func (b *binder) cut(n *ir.Node) *cuts {
	x := n.Input(0)
	if x == nil || !x.HasShape || len(x.Shape) == 0 {
		return nil
	}
	var count int64
	for i := 1; i <= 4; i++ {
		v := n.Input(i)
		if v == nil && i > 2 {
			continue
		}
		dims, ok := v.Static()
		if !ok || len(dims) != 1 || i > 1 && dims[0] != count || dims[0] < 1 || dims[0] > int64(len(x.Shape)) {
			return nil // which inference refuses, or waits for
		}
		count = dims[0]
	}
	rank := int64(len(x.Shape))
	c := &cuts{starts: b.long(n.Inputs[1]), ends: b.long(n.Inputs[2]), steps: longs(slices.Repeat([]int64{1}, int(count))...), dims: b.add("Shape", 15, nil, x)}
	if n.Input(4) != nil {
		c.steps = b.long(n.Inputs[4])
	}
	given := n.Input(3)
	switch {
	case given == nil:
		for k := range count {
			c.axes = append(c.axes, k)
		}
	case given.Const != nil:
		axes, err := given.Const.Ints()
		if err != nil {
			return nil
		}
		for _, a := range axes {
			if a < -rank || a >= rank {
				return nil
			}
			c.axes = append(c.axes, (a+rank)%rank)
		}
	default:
		b.spread(c, given, rank)
		return c
	}
	c.dims = b.add("Gather", 13, ir.Attrs{"axis": int64(0)}, c.dims, longs(c.axes...))
	return c
}

// spread makes cuts of axes that only the run knows cuts of all axes.
func (b *binder) spread(c *cuts, axes *ir.Value, rank int64) {
	whole := func(x int64) *ir.Value { return longs(slices.Repeat([]int64{x}, int(rank))...) }
	scatter := func(to, v *ir.Value) *ir.Value {
		return b.add("ScatterElements", 18, ir.Attrs{"axis": int64(0)}, to, axes, v)
	}
	c.starts, c.ends, c.steps = scatter(whole(0), c.starts), scatter(c.dims, c.ends), scatter(whole(1), c.steps)
	for k := range rank {
		c.axes = append(c.axes, k)
	}
}
