package onnx

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx/onnxpb"
)

// list is where the elements of an attribute's list are, nil where it has none. The scanner
// left their payloads' numbers.
func (im *importer) list(p *onnxpb.AttributeProto, field protowire.Number) *payload {
	i := slices.Index(attributeLists[:], field)
	if i >= len(p.Ints) || p.Ints[i] < 1 || p.Ints[i] > int64(len(im.payloads)) {
		return nil
	}
	return &im.payloads[p.Ints[i]-1]
}

// listOf are the elements of an attribute's list. A node that is inlined again has the same ones.
func listOf[T any](im *importer, p *onnxpb.AttributeProto, field protowire.Number, wire protowire.Type, element func(*elements, uint64) (T, error)) ([]T, error) {
	if known, ok := im.lists[p].([]T); ok {
		return known, nil
	}
	out := []T{}
	if from := im.list(p, field); from != nil {
		for e := newElements(im.file, from, wire); ; {
			v, ok, err := e.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if len(out) == limit.List {
				return nil, refusef("a computed list of more than %d elements is not supported; make it a constant", limit.List)
			}
			x, err := element(e, v)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
	}
	im.lists[p] = out
	return out, nil
}

func (im *importer) ints(p *onnxpb.AttributeProto) ([]int64, error) {
	return listOf(im, p, listInts, protowire.VarintType, func(_ *elements, v uint64) (int64, error) { return int64(v), nil })
}

func (im *importer) floats(p *onnxpb.AttributeProto) ([]float32, error) {
	return listOf(im, p, listFloats, protowire.Fixed32Type, func(_ *elements, v uint64) (float32, error) { return math.Float32frombits(uint32(v)), nil })
}

// strings: each is a field of its own.
func (im *importer) strings(p *onnxpb.AttributeProto) ([]string, error) {
	return listOf(im, p, listStrings, protowire.BytesType, func(e *elements, n uint64) (string, error) {
		b, err := e.cursor.bytes(nil, int64(n))
		return string(b), err
	})
}

// vector is a constant of the elements of an attribute's list, which stay in the file.
func (im *importer) vector(p *onnxpb.AttributeProto, field protowire.Number, typ ir.DType) (*ir.Tensor, error) {
	t := &ir.Tensor{Type: typ, Shape: []int64{0}}
	from := im.list(p, field)
	if from == nil {
		return t, nil
	}
	if known, ok := im.vectors[from]; ok {
		copied := *known
		return &copied, nil
	}
	s, err := newStored(im.file, from, wireType(typ), typ, sym.MaxDim)
	if err != nil {
		return nil, err
	}
	t.Shape[0] = s.count
	if err := ir.Dims(s.count).Fits(typ); err != nil || s.count > sym.MaxDim {
		return nil, fmt.Errorf("a list of at least %d elements; the limit of a dimension is %d", s.count, int64(sym.MaxDim))
	}
	if size := s.count * int64(typ.Size()); typ == ir.F32 && from.parts == 1 && size == from.bytes && s.count > inlineLimit {
		t.Src = &ir.Source{File: im.file, Offset: from.at, Length: size}
	} else {
		s.into(t)
	}
	im.vectors[from] = t
	copied := *t
	return &copied, nil
}
