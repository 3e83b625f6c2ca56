package modeltest

import (
	"slices"

	"rules_dnn/gen/ir"
)

// scales are n of them, as a constant.
func (b *integers) scales(n int64) *ir.Value {
	t := ir.NewTensor(ir.F32, n)
	for i := range int(n) {
		copy(t.Data[4*i:], b.scale(-8, 0).Const.Data)
	}
	return ir.ConstValue(b.name("ss"), t)
}

// zeros are n zero points.
func (b *integers) zeros(t ir.DType, n int64) *ir.Value {
	zeros := ir.NewTensor(t, n)
	for i := range zeros.Data {
		zeros.Data[i] = b.zero(t).Const.Data[0]
	}
	return ir.ConstValue(b.name("zs"), zeros)
}

// wideIsland has integers of 16 bits in between.
func wideIsland(b *integers, x *ir.Value) {
	b.island(x, func(v, _ *ir.Value) *ir.Value {
		t := []ir.DType{ir.U16, ir.I16}[b.IntN(2)]
		zero := ir.NewTensor(t)
		zero.Data[0], zero.Data[1] = byte(b.IntN(256)), byte(b.IntN(128))
		scale, z := b.scale(-16, -8), ir.ConstValue(b.name("z"), zero)
		q := b.emit("QuantizeLinear", nil, v, scale, z)
		if q == nil {
			return nil
		}
		f := b.emit("DequantizeLinear", nil, q, scale, z)
		if f == nil {
			return nil
		}
		return b.emit([]string{"Relu", "Neg", "Sigmoid", "HardSwish"}[b.IntN(4)], nil, f)
	})
}

// channelIsland has a scale and a zero point for each index of an axis, or for each block along it.
func channelIsland(b *integers, x *ir.Value) {
	if len(x.Shape) == 0 || !isByte(x, 1, 2, 3, 4) {
		return
	}
	axis := b.IntN(len(x.Shape))
	n, known := x.Shape[axis].Const()
	if !known {
		return
	}
	attrs := func() ir.Attrs { return ir.Attrs{"axis": int64(axis)} }
	scale, zero := b.scales(n), b.zeros(x.Type, n)
	if dims, static := x.Static(); static && len(dims) > 1 && n > 1 && b.IntN(3) == 0 {
		blocks := slices.Clone(dims)
		blocks[axis] = (n + 1) / 2
		attrs = func() ir.Attrs { return ir.Attrs{"axis": int64(axis), "block_size": int64(2)} }
		count := int64(1)
		for _, d := range blocks {
			count *= d
		}
		scale, zero = b.scales(count), b.zeros(x.Type, count)
		scale.Const.Shape, scale.Shape = blocks, ir.Dims(blocks...)
		zero.Const.Shape, zero.Shape = blocks, ir.Dims(blocks...)
	}
	before := len(b.Graph.Nodes)
	v := b.emit("DequantizeLinear", attrs(), x, scale, zero)
	if v != nil && b.IntN(2) == 0 {
		v = b.emit([]string{"Relu", "Neg", "Abs"}[b.IntN(3)], nil, v)
	}
	if v != nil {
		v = b.emit("QuantizeLinear", attrs(), v, scale, zero)
	}
	if v == nil {
		b.Graph.Nodes = b.Graph.Nodes[:before]
		return
	}
	b.keep(v)
}

// productIsland multiplies floats by a constant matrix of bytes, with a scale for each column or one for all.
func productIsland(b *integers, x *ir.Value) {
	if len(x.Shape) == 0 {
		return
	}
	w, zero := b.matrix(x)
	if w == nil {
		return
	}
	b.island(x, func(v, _ *ir.Value) *ir.Value {
		columns := w.Const.Shape[1]
		attrs, scale := ir.Attrs(nil), b.scale(-8, 0)
		if b.IntN(2) == 0 {
			attrs, scale, zero = ir.Attrs{"axis": int64(1)}, b.scales(columns), b.zeros(w.Type, columns)
		}
		m := b.emit("DequantizeLinear", attrs, w, scale, zero)
		if m == nil {
			return nil
		}
		return b.emit("MatMul", nil, v, m)
	})
}

// pairIsland adds or multiplies floats of two tensors of bytes.
func pairIsland(b *integers, x *ir.Value) {
	if !isByte(x, 2, 3, 4) {
		return
	}
	o := b.otherInteger(x)
	b.island(x, func(v, _ *ir.Value) *ir.Value {
		f := b.emit("DequantizeLinear", nil, o, b.scale(-8, 0), b.zero(o.Type))
		if f == nil {
			return nil
		}
		y := b.emit([]string{"Add", "Mul", "Sub"}[b.IntN(3)], nil, v, f)
		if y != nil && b.IntN(2) == 0 {
			return b.emit("Relu", nil, y)
		}
		return y
	})
}
