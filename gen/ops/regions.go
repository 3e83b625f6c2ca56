package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// regionRows cut tensors to sizes, put columns back into images and make grids.
func regionRows() []*Row {
	return []*Row{
		{
			Name: "CenterCropPad", Versions: []int{18}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input_data", anyType), structural("shape", indexing)},
			Attrs:  []AttrSpec{intsAttr("axes")}, Build: centerCropPad,
		},
		{
			Name: "Col2Im", Versions: []int{18}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("input", anyType), structural("image_shape", int64s), structural("block_shape", int64s)},
			Attrs:  []AttrSpec{intsAttr("dilations"), intsAttr("pads"), intsAttr("strides")}, Build: col2im,
		},
		{
			Name: "AffineGrid", Versions: []int{20}, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{in("theta", floats), structural("size", int64s)},
			Attrs:  []AttrSpec{intAttr("align_corners")}, Build: affineGrid,
		},
	}
}

// centerCropPad keeps the middle of an axis, or puts it into the middle of zeros. The
// smaller part is cut off, or put, before it.
func centerCropPad(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	list := between(0, len(x))
	if c.Node.Has("axes") {
		if list, err = normAxes("attribute axes", c.Node.Ints("axes"), len(x)); err != nil {
			return nil, err
		}
	}
	sizes, err := c.dimsOperand(1)
	if err != nil {
		return nil, err
	}
	if len(sizes) != len(list) {
		return nil, fmt.Errorf("operand 1 (shape) has %d elements for %d axes", len(sizes), len(list))
	}
	to := append(ir.Shape{}, x...)
	for i, k := range list {
		to[k] = sizes[i]
	}
	as := axes(to)
	index := te.AxisVars(as)
	var guard []te.Within
	zero, two := sym.Const(0), sym.Const(2)
	for _, k := range list {
		more := sym.Sub(x[k], to[k])
		cut := sym.FloorDiv(sym.Max(more, zero, c.Facts), two, c.Facts)
		padded := sym.FloorDiv(sym.Max(sym.Scale(more, -1), zero, c.Facts), two, c.Facts)
		index[k] = sym.Sub(sym.Add(index[k], cut), padded)
		if !sym.AtLeast(more, 0, c.Facts) {
			guard = append(guard, te.Within{E: index[k], Lo: zero, Hi: x[k]})
		}
	}
	return one("CenterCropPad", as, guarded(0, c.Type(0), index, guard, te.Number(c.Type(0), 0))), nil
}

// col2im adds up, for each pixel, the elements of all blocks that cover it.
func col2im(c *Ctx) (*Meaning, error) {
	x, err := c.Shape(0)
	if err != nil {
		return nil, err
	}
	if len(x) != 3 {
		return nil, fmt.Errorf("operand 0 has rank %d; want rank 3 (batch, columns, blocks)", len(x))
	}
	image, err := c.dimsOperand(1)
	if err != nil {
		return nil, err
	}
	block, err := c.dimsOperand(2)
	if err != nil {
		return nil, err
	}
	if len(block) != len(image) || len(block) == 0 {
		return nil, fmt.Errorf("operands 1 (image_shape) and 2 (block_shape) have %d and %d elements; want equal numbers of at least 1", len(image), len(block))
	}
	for k, d := range block {
		if err := c.require(AtLeast, d, sym.Const(1), "element %d of operand 2 (block_shape)", k); err != nil {
			return nil, err
		}
	}
	w, err := c.newWindow(image, block)
	if err != nil {
		return nil, err
	}
	channels := sym.FloorDiv(x[1], product(block...), c.Facts)
	if err := c.require(SameDim, sym.Mul(channels, product(block...)), x[1], "dimension 1 must be a multiple of the block's elements"); err != nil {
		return nil, err
	}
	if err := c.require(SameDim, x[2], product(w.out...), "dimension 2 must be the number of blocks"); err != nil {
		return nil, err
	}
	return stages(c.overlap(x, channels, w)), nil
}

// overlap is the stage that adds up the blocks of a window. The blocks that cover a pixel along an axis are counted from the first one on, so that along all of them, and
// along pixels, the elements that are read go upwards as those of a pool's window do.
func (c *Ctx) overlap(x ir.Shape, channels sym.Expr, w *window) *te.Stage {
	var taps []sym.Expr
	for k := range w.in {
		taps = append(taps, sym.CeilDiv(w.kernel[k], sym.Const(w.apart(k)), c.Facts))
	}
	as, red := axes(append(ir.Shape{x[0], channels}, w.in...)), reduceAxes(taps)
	f := c.with(as, red)
	zero := sym.Const(0)
	column, number := iv(1), zero
	var guard []te.Within
	for k := range w.in {
		element, block, cond := w.covering(k, sym.Sub(sym.Sub(taps[k], sym.Const(1)), rv(k)), f)
		guard = append(guard, cond...)
		column = sym.Add(sym.Mul(column, w.kernel[k]), element)
		number = sym.Add(sym.Mul(number, w.out[k]), block)
	}
	typ := c.Type(0)
	t := wide(typ)
	if typ == ir.Bool { // whether any is true
		t = ir.I32
	}
	load := guarded(0, typ, []sym.Expr{iv(0), column, number}, guard, te.Number(typ, 0))
	return &te.Stage{
		Name: "Col2Im", Axes: as, Reduce: red, Combine: te.Sum(t),
		Values: []te.Expr{cast(t, load)}, Results: []te.Expr{cast(typ, te.Acc{Type: t})},
	}
}

// apart is how far apart the elements of blocks are that cover one pixel along axis k, where all of these follow from the first one; else 1.
func (w *window) apart(k int) int64 {
	if w.dilation[k] > 1 {
		return 1
	}
	return w.stride[k]
}

// covering is, of the blocks that cover a pixel along axis k, the one that begins so many steps before the last one, and its element there, under conditions.
func (w *window) covering(k int, back sym.Expr, f sym.Facts) (element, block sym.Expr, cond []te.Within) {
	at, stride, apart := sym.Add(iv(2+k), w.begin[k]), sym.Const(w.stride[k]), sym.Const(w.apart(k))
	element = sym.Add(sym.Mod(at, apart, f), sym.Mul(apart, back))
	if !sym.Mod(w.kernel[k], apart, f).Is(0) {
		cond = append(cond, te.Within{E: element, Lo: sym.Const(0), Hi: w.kernel[k]})
	}
	if w.dilation[k] == 1 {
		block = sym.Sub(sym.FloorDiv(at, stride, f), back)
	} else { // block b covers the pixel with its element r where b*stride is this
		at = sym.Sub(at, sym.Scale(element, w.dilation[k]))
		block = sym.FloorDiv(at, stride, f)
		if w.stride[k] > 1 {
			cond = append(cond, within(sym.Mod(at, stride, f), 0))
		}
	}
	return element, block, append(cond, te.Within{E: block, Lo: sym.Const(0), Hi: w.out[k]})
}

// affineGrid multiplies the points of a grid from -1 to 1 by a matrix.
func affineGrid(c *Ctx) (*Meaning, error) {
	size, err := c.dimsOperand(1)
	if err != nil {
		return nil, err
	}
	if len(size) != 4 && len(size) != 5 {
		return nil, fmt.Errorf("operand 1 (size) has %d elements; want 4 (batch, channels, height, width) or 5", len(size))
	}
	corners, err := c.flag("align_corners", 0)
	if err != nil {
		return nil, err
	}
	rank := len(size) - 2
	if err := c.hasShape(0, ir.Shape{size[0], sym.Const(int64(rank)), sym.Const(int64(rank + 1))}); err != nil {
		return nil, err
	}
	as := axes(append(append(ir.Shape{size[0]}, size[2:]...), sym.Const(int64(rank))))
	t := wide(c.Type(0))
	row := iv(rank + 1)
	factor := func(k int) te.Expr { return cast(t, c.load0(iv(0), row, sym.Const(int64(k)))) }
	e := factor(rank)
	for k := range rank { // columns are x, y, z; axes the other way round
		d, i := size[2+rank-1-k], iv(rank-k)
		from, to := sym.Add(sym.Scale(i, 2), sym.Const(1), sym.Scale(d, -1)), d
		if corners {
			from = sym.Sub(sym.Scale(i, 2), sym.Sub(d, sym.Const(1)))
			to = sym.Max(sym.Sub(d, sym.Const(1)), sym.Const(1), c.Facts)
		}
		e = add(e, mul(factor(k), quotient(t, from, to)))
	}
	return one("AffineGrid", as, cast(c.Type(0), e)), nil
}
