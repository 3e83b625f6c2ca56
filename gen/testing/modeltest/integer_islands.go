package modeltest

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// island quantizes what a function makes of floats of x, which are of bytes; all its nodes go again where one is none that shape inference takes.
func (b *integers) island(x *ir.Value, f func(v *ir.Value, scale *ir.Value) *ir.Value) {
	if !isByte(x, 2, 3, 4) {
		return
	}
	before, scale := len(b.Graph.Nodes), b.scale(-8, 0)
	v := b.emit("DequantizeLinear", nil, x, scale, b.zero(x.Type))
	if v != nil {
		v = f(v, scale)
	}
	if v != nil {
		v = b.emit("QuantizeLinear", nil, v, b.scale(-3, 3), b.zero([]ir.DType{ir.U8, ir.I8}[b.IntN(2)]))
	}
	if v == nil {
		b.Graph.Nodes = b.Graph.Nodes[:before]
		return
	}
	b.keep(v)
}

// convolveIsland is a convolution of floats, with a bias, and bounds or none.
func convolveIsland(b *integers, x *ir.Value) {
	b.island(x, func(v, scale *ir.Value) *ir.Value {
		w, _, attrs := b.filters(x)
		if w == nil {
			return nil
		}
		n := w.Const.Shape[0]
		ws, bs := ir.NewTensor(ir.F32, n), ir.NewTensor(ir.F32, n)
		for i := range int(n) {
			s := b.scale(-8, 0).Const.Data
			copy(ws.Data[4*i:], s)
			copy(bs.Data[4*i:], floatConst("", floatOf(s)*floatOf(scale.Const.Data)).Const.Data)
		}
		axis := ir.Attrs{"axis": int64(0)}
		wf := b.emit("DequantizeLinear", axis, w, ir.ConstValue(b.name("ws"), ws))
		bf := b.emit("DequantizeLinear", axis, b.constant(ir.I32, n), ir.ConstValue(b.name("bs"), bs))
		if wf == nil || bf == nil {
			return nil
		}
		c := b.emit("Conv", attrs, v, wf, bf)
		if c != nil && b.IntN(2) == 0 {
			return b.emit("Relu", nil, c)
		}
		return c
	})
}

// moveIsland moves floats.
func moveIsland(b *integers, x *ir.Value) {
	b.island(x, func(v, _ *ir.Value) *ir.Value {
		if len(v.Shape) == 4 && b.IntN(2) == 0 {
			return b.emit("MaxPool", ir.Attrs{"kernel_shape": []int64{2, 2}}, v)
		}
		return b.emit("Concat", ir.Attrs{"axis": int64(len(v.Shape) - 1)}, v, v)
	})
}

// functionIsland is a function of floats, of which a table is made.
func functionIsland(b *integers, x *ir.Value) {
	b.island(x, func(v, _ *ir.Value) *ir.Value {
		return b.emit([]string{"Sigmoid", "Tanh", "HardSwish", "Exp"}[b.IntN(4)], nil, v)
	})
}

// floatOf is a number of four bytes.
func floatOf(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
