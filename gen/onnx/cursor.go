package onnx

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"rules_dnn/gen/ir"
)

// cursorWindow is how much of the file a cursor reads at a time.
const cursorWindow = 64 << 10

var errTruncated = errors.New("the message ends within a field")

// cursor reads a file forward; what is skipped is not read.
type cursor struct {
	file *ir.File
	stop int64 // what is read ends here
	pos  int64
	buf  []byte // file[base:base+len(buf)]
	base int64
}

// peek gives up to n <= cursorWindow bytes at the position, fewer only before the stop.
func (c *cursor) peek(n int) ([]byte, error) {
	if at := c.pos - c.base; at >= 0 && at+int64(n) <= int64(len(c.buf)) {
		return c.buf[at : at+int64(n)], nil
	}
	size := min(int64(cursorWindow), c.stop-c.pos)
	if int64(cap(c.buf)) < size {
		c.buf = make([]byte, size)
	}
	c.buf, c.base = c.buf[:size], c.pos
	if err := readAt(c.file, c.buf, c.pos); err != nil {
		return nil, err
	}
	return c.buf[:min(n, len(c.buf))], nil
}

// varint reads a varint that lies before end.
func (c *cursor) varint(end int64) (uint64, error) {
	b, err := c.peek(int(min(maxVarint, end-c.pos)))
	if err != nil {
		return 0, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, fmt.Errorf("bad number: %w", protowire.ParseError(n))
	}
	c.pos += int64(n)
	return v, nil
}

// fixed reads a number of 4 or 8 bytes that lies before end.
func (c *cursor) fixed(size int, end int64) (uint64, error) {
	if int64(size) > end-c.pos {
		return 0, errTruncated
	}
	b, err := c.peek(size)
	if err != nil {
		return 0, err
	}
	c.pos += int64(size)
	v := uint64(0)
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v, nil
}

// bytes appends n bytes at the position to b.
func (c *cursor) bytes(b []byte, n int64) ([]byte, error) {
	if n > cursorWindow {
		at := len(b)
		b = append(b, make([]byte, n)...)
		err := readAt(c.file, b[at:], c.pos)
		c.pos += n
		return b, err
	}
	x, err := c.peek(int(n))
	if err != nil {
		return nil, err
	}
	c.pos += n
	return append(b, x...), nil
}

// skip moves past a field's value and returns where the value's content begins.
func (c *cursor) skip(typ protowire.Type, end int64) (int64, error) {
	start := c.pos
	n := int64(0)
	switch typ {
	case protowire.VarintType:
		_, err := c.varint(end)
		return start, err
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		l, err := c.length(end)
		if err != nil {
			return 0, err
		}
		n, start = l, c.pos
	default:
		return 0, fmt.Errorf("field of wire type %d", typ)
	}
	if n > end-c.pos {
		return 0, errTruncated
	}
	c.pos += n
	return start, nil
}

// length reads the length of a field that ends before end.
func (c *cursor) length(end int64) (int64, error) {
	n, err := c.varint(end)
	if err != nil {
		return 0, err
	}
	if n > uint64(end-c.pos) {
		return 0, errTruncated
	}
	return int64(n), nil
}

func readAt(f *ir.File, b []byte, at int64) error {
	n, err := f.R.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading %d bytes at %d: %w", len(b), at, err)
}
