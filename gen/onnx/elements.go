package onnx

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"rules_dnn/gen/ir"
)

// elements reads the elements of a payload one by one, as packed and unpacked lists have them.
type elements struct {
	cursor
	*payload
	wire   protowire.Type // of an element that stands alone
	packed int64          // the end of the packed list at the position; before it, where a tag is
}

// newElements reads from the first element on. Bits are those of a number of the wire type; of strings the length.
func newElements(f *ir.File, p *payload, wire protowire.Type) *elements {
	return &elements{cursor: cursor{file: f, stop: p.end, pos: p.start}, payload: p, wire: wire}
}

// next is the next element; false after the last.
func (e *elements) next() (uint64, bool, error) {
	for e.pos >= e.packed {
		if e.pos >= e.end {
			return 0, false, nil
		}
		alone, err := e.part()
		if err != nil {
			return 0, false, err
		}
		if alone {
			v, err := e.number(e.end)
			return v, err == nil, err
		}
	}
	v, err := e.number(e.packed)
	return v, err == nil, err
}

// part reads a field's tag: of another field it skips the value, of a list the length. It reports whether
// an element follows alone.
func (e *elements) part() (bool, error) {
	tag, err := e.varint(e.end)
	if err != nil {
		return false, err
	}
	switch num, typ := protowire.DecodeTag(tag); {
	case num != e.field:
		_, err = e.skip(typ, e.end)
	case typ == e.wire:
		return true, nil
	case typ == protowire.BytesType:
		var n int64
		n, err = e.length(e.end)
		e.packed = e.pos + n
	default:
		err = fmt.Errorf("an element has the wire type %d", typ)
	}
	return false, err
}

// number reads one element.
func (e *elements) number(end int64) (uint64, error) {
	switch e.wire {
	case protowire.Fixed32Type:
		return e.fixed(4, end)
	case protowire.Fixed64Type:
		return e.fixed(8, end)
	}
	return e.varint(end)
}

// placeEvery is the number of elements after which the position of one is noted.
const placeEvery = 4096

// place is a position among elements.
type place struct{ pos, packed int64 }

// stored are elements in the file in another form than in memory. They are decoded when they are read, from the
// nearest of the noted places on, so that they take no memory.
type stored struct {
	file   *ir.File
	from   *payload
	wire   protowire.Type
	typ    ir.DType
	count  int64
	places []place
	first  []byte // the first elements, in memory's form, up to inlineLimit of them
}

// newStored reads all elements once, up to one more than most of them, and checks that they fit the type.
func newStored(f *ir.File, p *payload, wire protowire.Type, typ ir.DType, most int64) (*stored, error) {
	s := &stored{file: f, from: p, wire: wire, typ: typ}
	for e := newElements(f, p, wire); s.count <= most; s.count++ {
		at := place{e.pos, e.packed}
		v, ok, err := e.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := fits(typ, v); err != nil {
			return nil, err
		}
		if s.count%placeEvery == 0 {
			s.places = append(s.places, at)
		}
		if s.count < inlineLimit {
			s.first = appendNumber(s.first, typ, v)
		}
	}
	return s, nil
}

// into gives the elements to a tensor.
func (s *stored) into(t *ir.Tensor) {
	if s.count <= inlineLimit {
		t.Data = s.first
		return
	}
	*t = *ir.Computed(t.Type, t.Shape, placeEvery, s.fill)
}

// fill decodes elements from the first on, which is a multiple of placeEvery.
func (s *stored) fill(b []byte, first int64) error {
	e := newElements(s.file, s.from, s.wire)
	at := s.places[first/placeEvery]
	e.pos, e.packed = at.pos, at.packed
	for out := b[:0]; len(out) < len(b); {
		v, ok, err := e.next()
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the file changed, and elements are missing")
		}
		out = appendNumber(out, s.typ, v)
	}
	return nil
}

// fits checks an element that protobuf stored as the number v.
func fits(typ ir.DType, v uint64) error {
	bits := 8 * typ.Size()
	ok := bits == 64
	if typ.Kind() == ir.KindInt {
		ok = ok || int64(v)<<(64-bits)>>(64-bits) == int64(v)
	} else {
		ok = ok || v>>bits == 0
	}
	if typ == ir.Bool {
		ok = v <= 1
	}
	if !ok {
		return fmt.Errorf("element %d does not fit %s", int64(v), typ)
	}
	return nil
}

// appendNumber appends an element as memory has it.
func appendNumber(out []byte, typ ir.DType, v uint64) []byte {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return append(out, b[:typ.Size()]...)
}
