package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// gatherBlocksRow is Gather from a table of integers, of which each block along an axis has a scale and a zero point.
func gatherBlocksRow() *Row {
	bytes := []ir.DType{ir.U8}
	return &Row{
		Name: Microsoft + "GatherBlockQuantized", Versions: []int{1}, Form: Composition, MinOutputs: 1, MaxOutputs: 1,
		Inputs: []Param{
			{Name: "data", Types: bytes, Like: "T1"}, {Name: "indices", Types: indexing}, in("scales", shortFloats), opt(Param{Name: "zero_points", Types: bytes, Like: "T1"}),
		},
		Attrs:   []AttrSpec{intAttr("bits"), intAttr("block_size"), intAttr("gather_axis"), intAttr("quantize_axis")},
		Compose: gatherBlocks,
	}
}

// blockTable is what the attributes of GatherBlockQuantized say of its table.
type blockTable struct {
	data, indices ir.Shape
	bits, size    int64 // of a number in bits, of a block in numbers
	last          int   // the axis whose numbers are quantized in blocks
}

// blockTable returns the table that operand 0 and the attributes describe, if they are supported.
func (b *composer) blockTable() (t blockTable, err error) {
	t.bits, t.size = b.Node.Int("bits", 4), b.Node.Int("block_size", 128)
	if t.data, err = b.Shape(0); err != nil {
		return t, err
	}
	if t.indices, err = b.Shape(1); err != nil {
		return t, err
	}
	quantized, err := b.axisAttr("quantize_axis", 1, len(t.data))
	if err != nil {
		return t, err
	}
	t.last = len(t.data) - 1
	switch axis := b.Node.Int("gather_axis", 0); {
	case t.bits != 4 && t.bits != 8:
		return t, fmt.Errorf("attribute bits is %d; supported are 4 and 8", t.bits)
	case t.size < 16 || t.size > sym.MaxDim || t.size&(t.size-1) != 0:
		return t, fmt.Errorf("attribute block_size is %d; want a power of two from 16 to %d", t.size, int64(sym.MaxDim))
	case axis != 0 && axis != -int64(len(t.data)):
		return t, fmt.Errorf("attribute gather_axis is %d; supported is 0 for a table of type u8", axis)
	case t.last < 1 || quantized != t.last:
		return t, fmt.Errorf("attribute quantize_axis is %d with operand 0 of rank %d; supported is the last axis of a table of rank 2 or more", quantized, len(t.data))
	}
	return t, nil
}

// gatherBlocks unpacks what it gathered, so that the table stays packed. Places outside the table are zeros.
func gatherBlocks(b *composer) ([]*ir.Value, error) {
	t, err := b.blockTable()
	if err != nil {
		return nil, err
	}
	data, indices, bits, size, last := t.data, t.indices, t.bits, t.size, t.last
	width := data[last]
	if bits == 4 {
		width = sym.Scale(width, 2)
	}
	columns, known := width.Const()
	if !known || columns < 1 {
		return nil, fmt.Errorf("operand 0 (data) has shape %s; want a constant last dimension of at least 1", data)
	}
	blocks := (columns + size - 1) / size
	each := append(ir.Shape{}, data...)
	each[last] = sym.Const(blocks)
	if err := b.hasShape(2, each); err != nil {
		return nil, err
	}
	places, inside := b.within(data[0])
	row := make([]int64, len(indices)+last) // 0 keeps a dimension
	gathered := func(table *ir.Value, columns int64) *ir.Value {
		row[len(row)-1] = columns
		return b.op("Reshape", nil, b.apart(b.op("Gather", nil, table, places), bits), b.ints(row...))
	}
	scale := b.op("Gather", nil, b.operands[2], places)
	zero := b.op("Expand", nil, b.byte(1<<(bits-1)), b.op("Shape", nil, scale))
	if b.Has(3) {
		inByte := 8 / bits
		bytes := (blocks + inByte - 1) / inByte
		each[last] = sym.Const(bytes)
		if err := b.hasShape(3, each); err != nil {
			return nil, err
		}
		zero = b.op("Slice", nil, gathered(b.operands[3], bytes*inByte), b.ints(0), b.ints(blocks), b.ints(-1))
	}
	y := b.op("DequantizeLinear", ir.Attrs{"axis": int64(-1), "block_size": size}, gathered(b.operands[0], columns), scale, zero)
	var behind []int64 // axes behind those of the indices
	for k := range last {
		behind = append(behind, int64(len(indices)+k))
	}
	none := b.cast(b.float(ir.F32, 0), ir.F32, b.Type(2))
	return []*ir.Value{b.op("Where", nil, b.unsqueeze(inside, behind...), y, none)}, nil
}

// within are operand 1's places in so many rows, counted from their end where they are negative, and which of them are in these.
func (b *composer) within(rows sym.Expr) (places, inside *ir.Value) {
	places = b.cast(b.operands[1], b.Type(1), ir.I64)
	n := b.squeeze(b.dim(b.operands[0], 0), 0)
	inside = b.op("And", nil, b.op("Less", nil, places, n), b.op("GreaterOrEqual", nil, places, b.op("Neg", nil, n)))
	return b.op("Where", nil, inside, places, b.integer(0)), inside
}
