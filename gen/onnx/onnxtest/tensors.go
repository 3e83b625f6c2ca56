package onnxtest

import (
	"bytes"
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Types are the element types of ONNX by the compiler's.
var Types = map[ir.DType]onnxpb.TensorProto_DataType{
	ir.Bool: onnxpb.TensorProto_BOOL, ir.I8: onnxpb.TensorProto_INT8, ir.I16: onnxpb.TensorProto_INT16, ir.I32: onnxpb.TensorProto_INT32,
	ir.I64: onnxpb.TensorProto_INT64, ir.U8: onnxpb.TensorProto_UINT8, ir.U16: onnxpb.TensorProto_UINT16, ir.U32: onnxpb.TensorProto_UINT32,
	ir.U64: onnxpb.TensorProto_UINT64, ir.F16: onnxpb.TensorProto_FLOAT16, ir.BF16: onnxpb.TensorProto_BFLOAT16, ir.F32: onnxpb.TensorProto_FLOAT,
	ir.F64: onnxpb.TensorProto_DOUBLE,
}

// Ones is a tensor of floats.
func Ones(name string, dims ...int64) *onnxpb.TensorProto {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))
	return Raw(name, onnxpb.TensorProto_FLOAT, dims, bytes.Repeat(one, int(n)))
}

// Raw is a tensor of a type, whatever its bytes are.
func Raw(name string, t onnxpb.TensorProto_DataType, dims []int64, data []byte) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: &name, Dims: dims, DataType: proto.Int32(int32(t)), RawData: data}
}

// Tensor is a tensor with the elements of ours.
func Tensor(name string, t *ir.Tensor) *onnxpb.TensorProto {
	p := Raw(name, Types[t.Type], t.Shape, t.Data)
	if p.RawData == nil {
		p.RawData = []byte{}
	}
	return p
}
