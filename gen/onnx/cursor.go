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
	pos  int64
	buf  []byte // file[base:base+len(buf)]
	base int64
}

// peek gives up to n <= cursorWindow bytes at the position, fewer only at the end of the file.
func (c *cursor) peek(n int) ([]byte, error) {
	if at := c.pos - c.base; at >= 0 && at+int64(n) <= int64(len(c.buf)) {
		return c.buf[at : at+int64(n)], nil
	}
	size := min(int64(cursorWindow), c.file.Size-c.pos)
	if cap(c.buf) < cursorWindow {
		c.buf = make([]byte, cursorWindow)
	}
	c.buf, c.base = c.buf[:size], c.pos
	if err := readAt(c.file, c.buf, c.pos); err != nil {
		return nil, err
	}
	return c.buf[:min(n, len(c.buf))], nil
}

// varint reads a varint that lies before end.
func (c *cursor) varint(end int64) (uint64, error) {
	b, err := c.peek(int(min(10, end-c.pos)))
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
