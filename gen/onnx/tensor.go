package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"rules_dnn/gen/base/limit"
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
	if d, ok := nibbles[onnxpb.TensorProto_DataType(t)]; ok {
		return d, nil
	}
	return ir.Invalid, refusef("element type %s is not supported; supported are bool, (u)int4 to (u)int64, float16, bfloat16, float and double",
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
	t, ok := im.tensors[p]
	if !ok {
		var err error
		if t, err = im.tensorOf(p); err != nil && !errors.Is(err, errMissing) {
			return nil, fmt.Errorf("tensor %s: %w", show(p.GetName()), err)
		}
		im.tensors[p] = t
	}
	copied := *t
	return &copied, nil
}

func (im *importer) tensorOf(p *onnxpb.TensorProto) (*ir.Tensor, error) {
	typ, err := elementType(p.GetDataType())
	if err != nil {
		return nil, err
	}
	if p.Segment != nil {
		return nil, refusef("tensors in segments are not supported; store the tensor as a whole")
	}
	if len(p.GetDims()) > limit.Rank { // how many the scanner may have left out
		return nil, refusef("the tensor has more than %d dimensions, which is the limit", limit.Rank)
	}
	if err := ir.Dims(p.GetDims()...).Fits(typ); err != nil {
		return nil, fmt.Errorf("the tensor has %w", err)
	}
	n, err := ir.Len(p.GetDims())
	if err != nil {
		return nil, err
	}
	t := &ir.Tensor{Type: typ, Shape: append([]int64{}, p.GetDims()...)}
	if isNibble(p.GetDataType()) { // read the bytes first
		typ, n = ir.U8, (n+1)/2
		t = &ir.Tensor{Type: typ, Shape: []int64{n}}
	}
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		t.Src, err = im.external(p, typ, n)
	} else {
		err = im.stored(t, p, n)
	}
	if err != nil {
		return t, err
	}
	if isNibble(p.GetDataType()) {
		t = unpackNibbles(t, nibbles[onnxpb.TensorProto_DataType(p.GetDataType())], append([]int64{}, p.GetDims()...))
		n = t.Len()
	}
	return t, settle(t, n)
}

// settle holds small tensors in memory and makes bools 0 or 1.
func settle(t *ir.Tensor, n int64) error {
	if t.Src == nil {
		return nil
	}
	if n > inlineLimit {
		if t.Type == ir.Bool {
			return settleBools(t)
		}
		return nil
	}
	b, err := t.Bytes()
	if err != nil {
		return err
	}
	t.Data, t.Src = b, nil
	if t.Type == ir.Bool {
		normalize(b)
	}
	return nil
}

// settleBools leaves bools in the file; what is neither 0 nor 1 becomes 1 when it is read.
func settleBools(t *ir.Tensor) error {
	var check boolCheck
	if _, err := t.WriteTo(&check); err != nil {
		return err
	}
	if check.other {
		file := *t
		*t = *ir.Computed(t.Type, t.Shape, 1, func(b []byte, first int64) error {
			err := file.ReadBytes(b, first)
			normalize(b)
			return err
		})
	}
	return nil
}

// boolCheck looks for bytes other than 0 and 1.
type boolCheck struct{ other bool }

func (c *boolCheck) Write(b []byte) (int, error) {
	for _, x := range b {
		if x > 1 {
			c.other = true
		}
	}
	return len(b), nil
}

func normalize(b []byte) {
	for i, x := range b {
		if x != 0 {
			b[i] = 1
		}
	}
}

// stored finds the elements of a tensor in the model's own file.
func (im *importer) stored(t *ir.Tensor, p *onnxpb.TensorProto, n int64) error {
	from, err := im.tensorPayload(p)
	if err != nil {
		return err
	}
	typed := typedField(t.Type)
	isFloat := t.Type.Kind() == ir.KindFloat && t.Type.Size() >= 4
	switch {
	case from == nil && n == 0:
		return nil
	case from == nil:
		return fmt.Errorf("no elements are stored; the shape %v needs %d", t.Shape, n)
	case from.other != 0:
		return fmt.Errorf("elements are both in %s and in %s", tensorFields[from.field], tensorFields[from.other])
	case from.field == fieldRaw && from.parts > 1:
		return fmt.Errorf("raw_data is stored %d times", from.parts)
	case from.field == fieldRaw || isFloat && from.field == typed && from.parts == 1:
		return im.verbatim(t, from, n*int64(t.Type.Size()))
	case from.field != typed:
		return fmt.Errorf("elements of type %s are in %s; want them in %s or raw_data", t.Type, tensorFields[from.field], tensorFields[typed])
	case n > from.bytes: // an element has at least one byte
		return fmt.Errorf("%d elements are needed, at most %d are stored", n, from.bytes)
	}
	s, err := newStored(im.file, from, wireType(t.Type), t.Type, n)
	switch {
	case err != nil:
		return err
	case s.count > n:
		return fmt.Errorf("more elements are stored than the %d of the shape", n)
	case s.count < n:
		return fmt.Errorf("%d elements are stored; the shape needs %d", s.count, n)
	}
	s.into(t)
	return nil
}

// wireType is how protobuf stores elements of a type in the field for it.
func wireType(t ir.DType) protowire.Type {
	switch t {
	case ir.F32:
		return protowire.Fixed32Type
	case ir.F64:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

// tensorPayload is where a tensor's elements are, or nil.
func (im *importer) tensorPayload(p *onnxpb.TensorProto) (*payload, error) {
	if p.RawData == nil {
		return nil, nil
	}
	i := uint64(len(im.payloads))
	if len(p.RawData) == 8 {
		i = binary.LittleEndian.Uint64(p.RawData)
	}
	if i >= uint64(len(im.payloads)) {
		return nil, fmt.Errorf("the tensor has no elements")
	}
	return &im.payloads[i], nil
}

// verbatim refers to elements that the file stores as memory does.
func (im *importer) verbatim(t *ir.Tensor, p *payload, size int64) error {
	if p.bytes != size {
		return fmt.Errorf("%d bytes are stored; shape %v of %s needs %d", p.bytes, t.Shape, t.Type, size)
	}
	t.Src = &ir.Source{File: im.file, Offset: p.at, Length: size}
	return nil
}
