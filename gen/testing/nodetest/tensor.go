package nodetest

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

var dtypes = map[onnxpb.TensorProto_DataType]ir.DType{
	onnxpb.TensorProto_BOOL: ir.Bool, onnxpb.TensorProto_INT8: ir.I8, onnxpb.TensorProto_INT16: ir.I16,
	onnxpb.TensorProto_INT32: ir.I32, onnxpb.TensorProto_INT64: ir.I64, onnxpb.TensorProto_UINT8: ir.U8,
	onnxpb.TensorProto_UINT16: ir.U16, onnxpb.TensorProto_UINT32: ir.U32, onnxpb.TensorProto_UINT64: ir.U64,
	onnxpb.TensorProto_FLOAT16: ir.F16, onnxpb.TensorProto_BFLOAT16: ir.BF16, onnxpb.TensorProto_FLOAT: ir.F32,
	onnxpb.TensorProto_DOUBLE: ir.F64,
}

// decode reads a serialized TensorProto. It shares nothing with the importer, which the tests check.
func decode(b []byte) (*ir.Tensor, error) {
	p := &onnxpb.TensorProto{}
	if err := proto.Unmarshal(b, p); err != nil {
		return nil, err
	}
	typ, ok := dtypes[onnxpb.TensorProto_DataType(p.GetDataType())]
	if four, is := fourBits[onnxpb.TensorProto_DataType(p.GetDataType())]; is {
		return decodeFourBits(four, p), nil
	}
	if !ok {
		return nil, fmt.Errorf("element type %d", p.GetDataType())
	}
	n, err := ir.Len(p.Dims)
	if err != nil {
		return nil, err
	}
	t := &ir.Tensor{Type: typ, Shape: append([]int64{}, p.Dims...), Data: p.RawData}
	if len(p.RawData) == 0 {
		t.Data = typed(typ, p)
	}
	if int64(len(t.Data)) != n*int64(typ.Size()) {
		return nil, fmt.Errorf("%d bytes for shape %v of %s", len(t.Data), p.Dims, typ)
	}
	return t, nil
}

// fourBits are the types of two integers to a byte, which the compiler takes and gives a byte each.
var fourBits = map[onnxpb.TensorProto_DataType]ir.DType{onnxpb.TensorProto_INT4: ir.I8, onnxpb.TensorProto_UINT4: ir.U8}

func decodeFourBits(t ir.DType, p *onnxpb.TensorProto) *ir.Tensor {
	bytes := p.RawData
	for _, v := range p.Int32Data {
		bytes = append(bytes, byte(v))
	}
	out := ir.NewTensor(t, p.Dims...)
	for i := range out.Data {
		x := bytes[i/2] >> (i % 2 * 4) << 4
		if out.Data[i] = x >> 4; t == ir.I8 {
			out.Data[i] = byte(int8(x) >> 4)
		}
	}
	return out
}

// typed are the elements out of the fields that protobuf types.
func typed(t ir.DType, p *onnxpb.TensorProto) []byte {
	out := []byte{}
	put := func(v uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		out = append(out, b[:t.Size()]...)
	}
	for _, v := range p.FloatData {
		put(uint64(math.Float32bits(v)))
	}
	for _, v := range p.DoubleData {
		put(math.Float64bits(v))
	}
	for _, v := range p.Int32Data {
		put(uint64(v))
	}
	for _, v := range p.Int64Data {
		put(uint64(v))
	}
	for _, v := range p.Uint64Data {
		put(v)
	}
	return out
}
