package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

var dtypes = map[onnxpb.TensorProto_DataType]ir.DType{
	onnxpb.TensorProto_FLOAT: ir.F32, onnxpb.TensorProto_UINT8: ir.U8, onnxpb.TensorProto_INT8: ir.I8,
	onnxpb.TensorProto_UINT16: ir.U16, onnxpb.TensorProto_INT16: ir.I16, onnxpb.TensorProto_INT32: ir.I32,
	onnxpb.TensorProto_INT64: ir.I64, onnxpb.TensorProto_BOOL: ir.Bool, onnxpb.TensorProto_FLOAT16: ir.F16,
	onnxpb.TensorProto_DOUBLE: ir.F64, onnxpb.TensorProto_UINT32: ir.U32, onnxpb.TensorProto_UINT64: ir.U64,
	onnxpb.TensorProto_BFLOAT16: ir.BF16,
}

// elementType is the compiler's type for ONNX's.
func elementType(t int32) (ir.DType, error) {
	if d, ok := dtypes[onnxpb.TensorProto_DataType(t)]; ok {
		return d, nil
	}
	return ir.Invalid, refusef("element type %s is not supported; supported are bool, (u)int8 to (u)int64, float16, bfloat16, float and double",
		onnxpb.TensorProto_DataType(t))
}

// typedField is the field that holds elements of a type where raw_data does not.
func typedField(t ir.DType) protowire.Number {
	switch t {
	case ir.F32:
		return fieldFloat
	case ir.F64:
		return fieldDouble
	case ir.I64:
		return fieldInt64
	case ir.U32, ir.U64:
		return fieldUint64
	}
	return fieldInt32
}

// tensor converts a tensor. One whose file is missing has no elements; missingFiles reports it.
func (im *importer) tensor(p *onnxpb.TensorProto) (*ir.Tensor, error) {
	t, err := im.tensorOf(p)
	if errors.Is(err, errMissing) {
		return t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %s: %w", show(p.GetName()), err)
	}
	return t, nil
}

func (im *importer) tensorOf(p *onnxpb.TensorProto) (*ir.Tensor, error) {
	typ, err := elementType(p.GetDataType())
	if err != nil {
		return nil, err
	}
	if p.Segment != nil {
		return nil, refusef("tensors in segments are not supported; store the tensor as a whole")
	}
	if err := ir.Dims(p.GetDims()...).Fits(typ); err != nil {
		return nil, fmt.Errorf("the tensor has %w", err)
	}
	n, err := ir.Len(p.GetDims())
	if err != nil {
		return nil, err
	}
	t := &ir.Tensor{Type: typ, Shape: append([]int64{}, p.GetDims()...)}
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		t.Src, err = im.external(p, typ, n)
	} else {
		err = im.stored(t, p, n)
	}
	if err != nil {
		return t, err
	}
	return t, settle(t, n)
}

// settle holds small tensors in memory and makes bools 0 or 1.
func settle(t *ir.Tensor, n int64) error {
	if t.Src != nil && (n <= inlineLimit || t.Type == ir.Bool) {
		b, err := t.Bytes()
		if err != nil {
			return err
		}
		if n <= inlineLimit || !normalBools(b) {
			t.Data, t.Src = b, nil
		}
	}
	if t.Type == ir.Bool && t.Src == nil {
		for i, x := range t.Data {
			if x != 0 {
				t.Data[i] = 1
			}
		}
	}
	return nil
}

func normalBools(b []byte) bool {
	for _, x := range b {
		if x > 1 {
			return false
		}
	}
	return true
}

// stored finds the elements of a tensor in the model's own file.
func (im *importer) stored(t *ir.Tensor, p *onnxpb.TensorProto, n int64) error {
	chunks, err := im.chunks(p)
	if err != nil {
		return err
	}
	size := n * int64(t.Type.Size())
	typed := typedField(t.Type)
	for _, c := range chunks {
		if c.field != chunks[0].field {
			return fmt.Errorf("elements are both in %s and in %s", payloadFields[chunks[0].field], payloadFields[c.field])
		}
	}
	switch {
	case len(chunks) == 0 && n == 0:
		return nil
	case len(chunks) == 0:
		return fmt.Errorf("no elements are stored; the shape %v needs %d", t.Shape, n)
	case chunks[0].field == fieldRaw && len(chunks) > 1:
		return fmt.Errorf("raw_data is stored %d times", len(chunks))
	case chunks[0].field == fieldRaw || (t.Type.Kind() == ir.KindFloat && t.Type.Size() >= 4 && chunks[0].field == typed):
		return im.verbatim(t, chunks, size)
	case chunks[0].field != typed:
		return fmt.Errorf("elements of type %s are in %s; they belong into %s or raw_data", t.Type, payloadFields[chunks[0].field], payloadFields[typed])
	}
	t.Data, err = im.numbers(t.Type, chunks, n)
	return err
}

// chunks are the parts of the file that hold a tensor's elements.
func (im *importer) chunks(p *onnxpb.TensorProto) ([]chunk, error) {
	if p.RawData == nil {
		return nil, nil
	}
	i := uint64(len(im.payloads))
	if len(p.RawData) == 8 {
		i = binary.LittleEndian.Uint64(p.RawData)
	}
	if i >= uint64(len(im.payloads)) {
		return nil, fmt.Errorf("no elements are known for the tensor")
	}
	return im.payloads[i], nil
}

// verbatim refers to elements that the file stores as memory does.
func (im *importer) verbatim(t *ir.Tensor, chunks []chunk, size int64) error {
	total := int64(0)
	for _, c := range chunks {
		total += c.length
	}
	if total != size {
		return fmt.Errorf("%d bytes are stored; shape %v of %s needs %d", total, t.Shape, t.Type, size)
	}
	if len(chunks) == 1 {
		t.Src = &ir.Source{File: im.file, Offset: chunks[0].offset, Length: size}
		return nil
	}
	t.Data = make([]byte, size)
	at := int64(0)
	for _, c := range chunks {
		if err := readAt(im.file, t.Data[at:at+c.length], c.offset); err != nil {
			return err
		}
		at += c.length
	}
	return nil
}

// numbers decodes elements that are stored as varints.
func (im *importer) numbers(typ ir.DType, chunks []chunk, n int64) ([]byte, error) {
	total := int64(0)
	for _, c := range chunks {
		total += c.length
	}
	if n > total { // a varint has at least one byte
		return nil, fmt.Errorf("%d elements are needed, at most %d are stored", n, total)
	}
	out := make([]byte, 0, n*int64(typ.Size()))
	cur := cursor{file: im.file}
	found := int64(0)
	for _, c := range chunks {
		cur.pos = c.offset
		for end := c.offset + c.length; cur.pos < end; found++ {
			v, err := cur.varint(end)
			if err != nil {
				return nil, err
			}
			if found >= n {
				return nil, fmt.Errorf("more elements are stored than the %d of the shape", n)
			}
			if out, err = appendNumber(out, typ, v); err != nil {
				return nil, err
			}
		}
	}
	if found != n {
		return nil, fmt.Errorf("%d elements are stored; the shape needs %d", found, n)
	}
	return out, nil
}

// appendNumber appends an element that protobuf stored as the varint v.
func appendNumber(out []byte, typ ir.DType, v uint64) ([]byte, error) {
	bits := 8 * typ.Size()
	fits := bits == 64
	if typ.Kind() == ir.KindInt {
		fits = fits || int64(v)<<(64-bits)>>(64-bits) == int64(v)
	} else {
		fits = fits || v>>bits == 0
	}
	if typ == ir.Bool {
		fits = v <= 1
	}
	if !fits {
		return nil, fmt.Errorf("element %d does not fit %s", int64(v), typ)
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return append(out, b[:typ.Size()]...), nil
}
