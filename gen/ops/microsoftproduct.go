package ops

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// Signatures of scales and zero points of a matrix of N columns, and of scales that may be matrices of one row.
const (
	perColumn = "scalar | 1 | N"
	inARow    = perColumn + " | 1 1 | 1 N"
)

// microsoftProductRows are ONNX Runtime's own products of quantized matrices.
func microsoftProductRows() []*Row {
	typed := func(name, like string) Param { return Param{Name: name, Types: quantized8, Like: like} }
	i32 := Param{Name: "C", Types: []ir.DType{ir.I32}}
	float := func(name string) Param { return Param{Name: name, Types: single, Like: "T"} }
	short := func(name string) Param { return Param{Name: name, Types: []ir.DType{ir.F16, ir.F32}, Like: "T1"} }
	return []*Row{
		{
			Name: Microsoft + "QGemm", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				typed("A", "TA").shaped("_ _"), scaleParam("a_scale"), typed("a_zero_point", "TA").shaped(oneNumber),
				typed("B", "TB").shaped("_ _"), scaleParam("b_scale").shaped(perColumn), typed("b_zero_point", "TB").shaped(perColumn),
				opt(i32.shaped("scalar | N? | M? N?")), opt(scaleParam("y_scale")), opt(Param{Name: "y_zero_point", Types: quantized8}.shaped(oneNumber)),
			},
			Attrs: []AttrSpec{floatAttr("alpha"), intAttr("transA"), intAttr("transB")}, Sizes: gemmSizes, Compose: quantizedGemm,
		},
		{
			Name: Microsoft + "MatMulIntegerToFloat", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				typed("A", "TA").shaped("... _ K"), typed("B", "TB").shaped("... K N"), short("a_scale").shaped(oneNumber + " | 1 1"), short("b_scale").shaped(inARow),
				opt(typed("a_zero_point", "TA").shaped(oneNumber)), opt(typed("b_zero_point", "TB").shaped(perColumn)), opt(short("bias").shaped("N | 1 N")),
			},
			Compose: func(b *composer) ([]*ir.Value, error) {
				o := b.operands
				t := b.Type(2)
				wide := func(v *ir.Value) *ir.Value { return b.cast(v, t, ir.F32) }
				y := b.floatProduct(o[0], o[1], o[4], o[5], b.mul(wide(o[2]), wide(o[3])), o[6], t)
				return []*ir.Value{b.cast(y, ir.F32, t)}, nil
			},
		},
		{
			Name: Microsoft + "DynamicQuantizeMatMul", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1,
			Inputs: []Param{
				float("A").shaped("... _ K"), typed("B", "TB").shaped("... K N"), float("b_scale").shaped(inARow), opt(typed("b_zero_point", "TB").shaped(perColumn)),
				opt(float("bias").shaped("N | 1 N")),
			},
			Compose: func(b *composer) ([]*ir.Value, error) {
				o, a := b.operands, b.ops("DynamicQuantizeLinear", 3, nil, b.operands[0])
				return []*ir.Value{b.floatProduct(a[0], o[1], a[2], o[3], b.mul(a[1], o[2]), o[4], ir.F32)}, nil
			},
		},
		nBitsRow(), gatherBlocksRow(),
	}
}

// gemmSizes binds rows M and columns N of the result.
func gemmSizes(b *binding) error {
	for _, m := range []struct {
		name, attr string
		operand    int
		axis       int // of that operand, if it is not transposed
	}{{"M", "transA", 0, 0}, {"N", "transB", 3, 1}} {
		turned, err := b.flag(m.attr, 0)
		if err != nil {
			return err
		}
		s, err := b.Shape(m.operand)
		if err != nil {
			return err
		}
		if len(s) != 2 {
			return fmt.Errorf("operand %d has shape %s; want a matrix", m.operand, s)
		}
		if b.names[m.name] = s[m.axis]; turned {
			b.names[m.name] = s[1-m.axis]
		}
	}
	return nil
}

// quantizedGemm is alpha * A * B of what the matrices stand for, with a bias in the scale of the sums. It is quantized where there is a scale.
func quantizedGemm(b *composer) ([]*ir.Value, error) {
	o, transposed := b.operands, ir.Attrs{"perm": []int64{1, 0}}
	x, w := o[0], o[3]
	for _, m := range []struct {
		attr string
		of   **ir.Value
	}{{"transA", &x}, {"transB", &w}} {
		turned, err := b.flag(m.attr, 0)
		if err != nil {
			return nil, err
		}
		if turned {
			*m.of = b.op("Transpose", transposed, *m.of)
		}
	}
	sum := b.op("MatMulInteger", nil, x, w, o[2], o[5])
	if o[6] != nil {
		sum = b.add(sum, o[6])
	}
	scale := b.mul(o[1], o[4])
	if alpha := b.Node.Float("alpha", 1); alpha != 1 {
		scale = b.mul(scale, b.float(ir.F32, float64(alpha)))
	}
	factor := scale
	switch {
	case o[7] == nil && o[8] == nil:
		return []*ir.Value{b.op("DequantizeLinear", ir.Attrs{"axis": int64(1)}, sum, scale)}, nil
	case o[8] == nil:
		return nil, fmt.Errorf("operand 7 (y_scale) is present, and operand 8 (y_zero_point) is absent; want both or neither")
	case o[7] != nil: // the scale is 1 otherwise
		factor = b.op("Div", nil, scale, o[7])
	}
	y := b.op("DequantizeLinear", ir.Attrs{"axis": int64(1)}, sum, factor)
	return []*ir.Value{b.op("QuantizeLinear", nil, y, b.float(ir.F32, 1), o[8])}, nil
}

// floatProduct is a product of integers times a scale, or one of each column, and a bias of type t. It is f32: products of matrices of bytes are
// beyond the largest f16, and products of scales below the least.
func (b *composer) floatProduct(x, w, xz, wz, scale, bias *ir.Value, t ir.DType) *ir.Value {
	sum := b.op("MatMulInteger", nil, present(x, w, xz, wz)...)
	y := b.mul(b.cast(sum, ir.I32, ir.F32), scale)
	if bias == nil {
		return y
	}
	return b.add(y, b.cast(bias, t, ir.F32))
}

// nBitsRow is a product with a matrix of N rows, transposed, whose elements have few bits and, in blocks along the rows, a scale.
func nBitsRow() *Row {
	t := func(name string) Param {
		return Param{Name: name, Types: []ir.DType{ir.BF16, ir.F16, ir.F32}, Like: "T1"}
	}
	bytes := []ir.DType{ir.U8}
	return &Row{
		Name: Microsoft + "MatMulNBits", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{
			t("A").shaped("... K"), Param{Name: "B", Types: bytes}.shaped("N blocks packed"), t("scales").shaped("N*blocks | N blocks"),
			opt(Param{Name: "zero_points", Types: slices.Concat(bytes, shortFloats)}.shaped("N*zeros | N zeros")),
			opt(Param{Name: "g_idx", Types: []ir.DType{ir.I32}}), opt(t("bias").shaped("N")),
		},
		Attrs: []AttrSpec{intAttr("K").required(), intAttr("N").required(), intAttr("bits"), intAttr("block_size").required(), intAttr("accuracy_level"), intAttr("weight_prepacked")},
		Sizes: nBitsSizes, Compose: nBits,
	}
}

// nBitsSizes binds the names in signatures of MatMulNBits: columns K and rows N of the matrix, how many blocks a row has, how many
// bytes a block, and how many zero points, or bytes of these, a row.
func nBitsSizes(b *binding) error {
	k, n, bits, size := b.Node.Int("K", 0), b.Node.Int("N", 0), b.Node.Int("bits", 4), b.Node.Int("block_size", 0)
	switch {
	case bits != 4 && bits != 8:
		return fmt.Errorf("attribute bits is %d; supported are 4 and 8", bits)
	case size < 16 || size > sym.MaxDim || size&(size-1) != 0:
		return fmt.Errorf("attribute block_size is %d; want a power of two from 16 to %d", size, int64(sym.MaxDim))
	case k < 1 || n < 1 || k > sym.MaxDim || n > sym.MaxDim:
		return fmt.Errorf("attributes K and N are %d and %d; want 1 to %d", k, n, int64(sym.MaxDim))
	case b.Node.Int("weight_prepacked", 0) != 0:
		return fmt.Errorf("attribute weight_prepacked is %d: weights packed for a processor are not supported; supported is 0, the order of quantization", b.Node.Int("weight_prepacked", 0))
	case b.Has(4):
		return fmt.Errorf("operand 4 (g_idx), an order of rows, is not supported; quantize the model without it")
	}
	blocks := (k + size - 1) / size
	zeros := blocks
	if b.Has(3) && b.Type(3) == ir.U8 {
		zeros = (blocks*bits + 7) / 8
	}
	b.is("K", k)
	b.is("N", n)
	b.is("blocks", blocks)
	b.is("packed", size*bits/8)
	b.is("zeros", zeros)
	return nil
}

func nBits(b *composer) ([]*ir.Value, error) {
	k, n, bits, size := b.Node.Int("K", 0), b.Node.Int("N", 0), b.Node.Int("bits", 4), b.Node.Int("block_size", 0)
	blocks := (k + size - 1) / size
	w := b.unpacked(b.operands[1], bits, n, blocks*size)
	if blocks*size > k {
		w = b.op("Slice", nil, w, b.ints(0), b.ints(k), b.ints(1))
	}
	scales := b.op("Reshape", nil, b.operands[2], b.ints(n, blocks))
	m := b.blockwise(w, scales, n, blocks, size)
	y := b.op("MatMul", nil, b.operands[0], b.op("Transpose", ir.Attrs{"perm": []int64{1, 0}}, m))
	if bias := b.operands[5]; bias != nil {
		y = b.add(y, bias)
	}
	return []*ir.Value{y}, nil
}

// blockwise is what integers stand for, of which each block along a row has a scale and a zero point, operand 3: that in the middle where it is
// absent, and one that is no integer where it is a float.
func (b *composer) blockwise(w, scales *ir.Value, n, blocks, size int64) *ir.Value {
	attrs, zero, bits := ir.Attrs{"axis": int64(1), "block_size": size}, b.operands[3], b.Node.Int("bits", 4)
	switch {
	case zero == nil:
		zero = b.op("Expand", nil, b.byte(1<<(bits-1)), b.ints(n, blocks))
	case b.Type(3) == ir.U8:
		perByte := 8 / bits
		row := (blocks + perByte - 1) / perByte * perByte
		zero = b.op("Slice", nil, b.unpacked(zero, bits, n, row), b.ints(0), b.ints(blocks), b.ints(1))
	default:
		less := b.mul(b.cast(b.op("Reshape", nil, zero, b.ints(n, blocks)), b.Type(3), b.Type(2)), scales)
		each := b.op("Expand", nil, b.op("Unsqueeze", nil, less, b.ints(2)), b.ints(n, blocks, size))
		row := b.op("Slice", nil, b.op("Reshape", nil, each, b.ints(n, blocks*size)), b.ints(0), b.ints(b.Node.Int("K", 0)), b.ints(1))
		return b.sub(b.op("DequantizeLinear", attrs, w, scales), row)
	}
	return b.op("DequantizeLinear", attrs, w, scales, zero)
}

// byte is a constant scalar.
func (b *composer) byte(x byte) *ir.Value {
	t := ir.NewTensor(ir.U8)
	t.Data[0] = x
	return b.constant(t)
}

// unpacked are rows of integers of which each byte holds one, or two.
func (b *composer) unpacked(v *ir.Value, bits, rows, columns int64) *ir.Value {
	return b.op("Reshape", nil, b.apart(v, bits), b.ints(rows, columns))
}

// apart are bytes that hold one integer, or, with one more axis, the two integers of each byte, that in its low bits first.
func (b *composer) apart(v *ir.Value, bits int64) *ir.Value {
	if bits == 8 {
		return v
	}
	low, high := b.op("BitwiseAnd", nil, v, b.byte(15)), b.op("BitShift", ir.Attrs{"direction": "RIGHT"}, v, b.byte(4))
	return b.join(-1, b.unsqueeze(low, -1), b.unsqueeze(high, -1))
}
