package onnx

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rules_dnn/gen/limit"
	"rules_dnn/gen/onnx/onnxpb"
)

// Numbers of TensorProto's fields that hold elements.
const (
	fieldFloat  = 4
	fieldInt32  = 5
	fieldInt64  = 7
	fieldRaw    = 9
	fieldDouble = 10
	fieldUint64 = 11
)

var payloadFields = map[protowire.Number]string{
	fieldFloat: "float_data", fieldInt32: "int32_data", fieldInt64: "int64_data",
	fieldRaw: "raw_data", fieldDouble: "double_data", fieldUint64: "uint64_data",
}

// chunk is a part of a tensor's elements in the file.
type chunk struct {
	field          protowire.Number
	offset, length int64
}

// payload is where the elements of one tensor are.
type payload []chunk

// scanner copies a message but for the tensors' elements. Instead of them, each
// TensorProto of the copy has in raw_data the index of its payload (8 bytes), so
// that protobuf parses a model of gigabytes without its weights.
type scanner struct {
	cursor
	payloads []payload
	messages int
}

var tensorName = (&onnxpb.TensorProto{}).ProtoReflect().Descriptor().FullName()

// message copies the message of type md from the position to end.
func (s *scanner) message(md protoreflect.MessageDescriptor, end int64, depth int) ([]byte, error) {
	if depth > limit.Messages {
		return nil, fmt.Errorf("messages are nested deeper than %d", limit.Messages)
	}
	if s.messages++; s.messages > limit.Protos {
		return nil, fmt.Errorf("the file holds more than %d messages (nodes, attributes, dimensions, ...)", limit.Protos)
	}
	var out []byte
	var elems payload
	isTensor := md.FullName() == tensorName
	for s.pos < end {
		tag, err := s.varint(end)
		if err != nil {
			return nil, err
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return nil, fmt.Errorf("bad field number %d in %s", num, md.Name())
		}
		if _, ok := payloadFields[num]; ok && isTensor {
			var start int64
			start, err = s.skip(typ, end)
			elems = append(elems, chunk{num, start, s.pos - start})
		} else {
			out, err = s.field(out, md.Fields().ByNumber(num), num, typ, end, depth)
		}
		if err != nil {
			return nil, err
		}
	}
	if isTensor && elems != nil {
		out = protowire.AppendTag(out, fieldRaw, protowire.BytesType)
		out = protowire.AppendBytes(out, binary.LittleEndian.AppendUint64(nil, uint64(len(s.payloads))))
		s.payloads = append(s.payloads, elems)
	}
	return out, nil
}

// field copies one field, known to the schema as fd, nil where it is not; such a field is skipped.
func (s *scanner) field(out []byte, fd protoreflect.FieldDescriptor, num protowire.Number, typ protowire.Type, end int64, depth int) ([]byte, error) {
	if fd == nil {
		_, err := s.skip(typ, end)
		return out, err
	}
	if typ != protowire.BytesType {
		start := s.pos
		if _, err := s.skip(typ, end); err != nil {
			return nil, err
		}
		n := s.pos - start
		s.pos = start
		return s.bytes(protowire.AppendTag(out, num, typ), n)
	}
	n, err := s.length(end)
	if err != nil {
		return nil, err
	}
	out = protowire.AppendTag(out, num, typ)
	if fd.Kind() != protoreflect.MessageKind {
		return s.bytes(protowire.AppendVarint(out, uint64(n)), n)
	}
	b, err := s.message(fd.Message(), s.pos+n, depth+1)
	if err != nil {
		return nil, err
	}
	return protowire.AppendBytes(out, b), nil
}

// skip moves past a field's value and returns where the value's content begins.
func (s *scanner) skip(typ protowire.Type, end int64) (int64, error) {
	start := s.pos
	n := int64(0)
	switch typ {
	case protowire.VarintType:
		_, err := s.varint(end)
		return start, err
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		l, err := s.length(end)
		if err != nil {
			return 0, err
		}
		n, start = l, s.pos
	default:
		return 0, fmt.Errorf("field of wire type %d", typ)
	}
	if n > end-s.pos {
		return 0, errTruncated
	}
	s.pos += n
	return start, nil
}

// length reads the length of a field that ends before end.
func (s *scanner) length(end int64) (int64, error) {
	n, err := s.varint(end)
	if err != nil {
		return 0, err
	}
	if n > uint64(end-s.pos) {
		return 0, errTruncated
	}
	return int64(n), nil
}
