package onnx

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/onnx/onnxpb"
)

// Numbers of fields that hold elements: TensorProto's, and AttributeProto's lists.
const (
	fieldFloat  = 4
	fieldInt32  = 5
	fieldString = 6
	fieldInt64  = 7
	fieldRaw    = 9
	fieldDouble = 10
	fieldUint64 = 11

	listFloats  = 7
	listInts    = 8
	listStrings = 9
)

var tensorFields = map[protowire.Number]string{
	fieldFloat: "float_data", fieldInt32: "int32_data", fieldString: "string_data", fieldInt64: "int64_data",
	fieldRaw: "raw_data", fieldDouble: "double_data", fieldUint64: "uint64_data",
}

// unread are the fields that do not change what a model computes.
var unread = map[protoreflect.Name]bool{
	"doc_string": true, "metadata_props": true, "value_info": true, "quantization_annotation": true,
	"training_info": true, "device_configurations": true, "configuration": true,
}

// payload is where the elements of a tensor or of an attribute's list are in the file: in fields of
// one number, among others, from the first one's tag to the last one's end. However many they are, it takes the same memory.
type payload struct {
	field      protowire.Number
	other      protowire.Number // of a tensor's elements that are in another field too, or 0
	start, end int64
	parts      int64 // fields
	bytes      int64 // of their values
	at         int64 // where the value of the first begins
}

// add notes a field from its tag to its end, whose value begins at a position.
func (p *payload) add(num protowire.Number, tag, value, end int64) {
	switch {
	case p.parts == 0:
		p.field, p.start, p.at = num, tag, value
	case num != p.field:
		p.other = num
		return
	}
	p.end = end
	p.parts++
	p.bytes += end - value
}

// scanner copies a message but for what is not read and for elements. Instead of a tensor's elements, the
// copy has the index of their payload in raw_data (8 bytes). Instead of an attribute's lists it has in
// ints, for each of attributeLists, the index of its payload and 1, or 0. So protobuf parses a model of gigabytes without its weights.
type scanner struct {
	cursor
	out      []byte
	payloads []payload
	messages int
}

// attributeLists are an attribute's lists in the order in which the copy has them.
var attributeLists = [...]protowire.Number{listFloats, listInts, listStrings}

var (
	tensorName    = (&onnxpb.TensorProto{}).ProtoReflect().Descriptor().FullName()
	attributeName = (&onnxpb.AttributeProto{}).ProtoReflect().Descriptor().FullName()
)

// message copies the message of type md from the position to end.
func (s *scanner) message(md protoreflect.MessageDescriptor, end int64, depth int) error {
	if depth > limit.Messages {
		return fmt.Errorf("messages are nested deeper than %d", limit.Messages)
	}
	if s.messages++; s.messages > limit.Protos {
		return fmt.Errorf("the file holds more than %d messages (nodes, attributes, dimensions, ...)", limit.Protos)
	}
	found := elementFields{isTensor: md.FullName() == tensorName, isAttribute: md.FullName() == attributeName}
	for s.pos < end {
		start := s.pos
		tag, err := s.varint(end)
		if err != nil {
			return err
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return fmt.Errorf("bad field number %d in %s", num, md.Name())
		}
		if to := found.payload(num); to != nil {
			var value int64
			value, err = s.skip(typ, end)
			to.add(num, start, value, s.pos)
		} else if found.isTensor && num == fieldDims {
			err = s.dims(&found, md.Fields().ByNumber(num), typ, end, depth)
		} else {
			err = s.field(md.Fields().ByNumber(num), num, typ, end, depth)
		}
		if err != nil {
			return err
		}
	}
	s.refer(&found)
	return nil
}

const (
	fieldDims = 1  // TensorProto.dims
	maxVarint = 10 // bytes
	maxDims   = limit.Rank * (1 + maxVarint)
)

// dims copies a field of a tensor's dimensions, unless there are more than a tensor can have: they take no memory.
func (s *scanner) dims(found *elementFields, fd protoreflect.FieldDescriptor, typ protowire.Type, end int64, depth int) error {
	start := s.pos
	if _, err := s.skip(typ, end); err != nil {
		return err
	}
	if found.dims += 1 + s.pos - start; found.dims > maxDims {
		return nil
	}
	s.pos = start
	return s.field(fd, fieldDims, typ, end, depth)
}

// elementFields are the elements found in a message.
type elementFields struct {
	isTensor, isAttribute bool
	tensor                payload
	lists                 [len(attributeLists)]payload
	dims                  int64 // bytes; of more than maxDims the copy has too many dimensions
}

// payload is where a field's elements are noted, or nil.
func (f *elementFields) payload(num protowire.Number) *payload {
	if _, ok := tensorFields[num]; ok && f.isTensor {
		return &f.tensor
	}
	for i, n := range attributeLists {
		if n == num && f.isAttribute {
			return &f.lists[i]
		}
	}
	return nil
}

// refer puts the indices of payloads into the copy, and more dimensions than a tensor can have for those left out.
func (s *scanner) refer(f *elementFields) {
	if f.dims > maxDims { // the importer refuses them, by the tensor's name and by the node's
		s.out = protowire.AppendTag(s.out, fieldDims, protowire.BytesType)
		s.out = protowire.AppendBytes(s.out, make([]byte, limit.Rank+1))
	}
	if f.tensor.parts > 0 {
		s.out = protowire.AppendTag(s.out, fieldRaw, protowire.BytesType)
		s.out = protowire.AppendBytes(s.out, binary.LittleEndian.AppendUint64(nil, uint64(len(s.payloads))))
		s.payloads = append(s.payloads, f.tensor)
	}
	var refs []byte
	for i, p := range f.lists {
		if p.parts == 0 {
			continue
		}
		s.payloads = append(s.payloads, p)
		for len(refs) < i {
			refs = append(refs, 0)
		}
		refs = protowire.AppendVarint(refs, uint64(len(s.payloads)))
	}
	if refs != nil {
		s.out = protowire.AppendTag(s.out, listInts, protowire.BytesType)
		s.out = protowire.AppendBytes(s.out, refs)
	}
}

// field copies one field, known to the schema as fd, nil where it is not; such a field is skipped.
func (s *scanner) field(fd protoreflect.FieldDescriptor, num protowire.Number, typ protowire.Type, end int64, depth int) error {
	if fd == nil || unread[fd.Name()] {
		_, err := s.skip(typ, end)
		return err
	}
	s.out = protowire.AppendTag(s.out, num, typ)
	if typ != protowire.BytesType {
		start := s.pos
		if _, err := s.skip(typ, end); err != nil {
			return err
		}
		n := s.pos - start
		s.pos = start
		return s.copy(n)
	}
	n, err := s.length(end)
	if err != nil {
		return err
	}
	if fd.Kind() != protoreflect.MessageKind {
		s.out = protowire.AppendVarint(s.out, uint64(n))
		return s.copy(n)
	}
	at := len(s.out)
	s.out = append(s.out, make([]byte, paddedLength)...)
	if err := s.message(fd.Message(), s.pos+n, depth+1); err != nil {
		return err
	}
	padLength(s.out[at:], uint64(len(s.out)-at-paddedLength))
	return nil
}

// copy appends the next n bytes to the copy.
func (s *scanner) copy(n int64) (err error) {
	s.out, err = s.bytes(s.out, n)
	return err
}

// paddedLength is the size of a length that is known only once what follows is written: as a
// varint of so many bytes whatever it is.
const paddedLength = 6

func padLength(b []byte, n uint64) {
	for i := range paddedLength {
		b[i] = byte(n>>(7*i)) | 0x80
	}
	b[paddedLength-1] &= 0x7f
}
