package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"rules_dnn/gen/ir"
)

// Read reads a file's header. Its tensors refer to the file, whose elements lie side by side and fill it.
func Read(file *ir.File) (*File, error) {
	header, err := readHeader(file)
	if err != nil {
		return nil, fmt.Errorf("reading safetensors: %w", err)
	}
	f := &File{}
	entries, err := f.parse(header)
	if err != nil {
		return nil, fmt.Errorf("reading safetensors: %w", err)
	}
	if err := f.place(file, entries, int64(len(header))+8); err != nil {
		return nil, fmt.Errorf("reading safetensors: %w", err)
	}
	return f, nil
}

func readHeader(file *ir.File) ([]byte, error) {
	var length [8]byte
	if file.Size < int64(len(length)) {
		return nil, fmt.Errorf("the file has %d bytes, fewer than the length of a header (is it cut off?)", file.Size)
	}
	if err := readAt(file.R, length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return nil, fmt.Errorf("a header of %d bytes; at most %d are supported (is it a safetensors file?)", n, int64(maxHeader))
	}
	if int64(n) > file.Size-8 {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d (is it cut off?)", n, file.Size)
	}
	header := make([]byte, n)
	return header, readAt(file.R, header, 8)
}

// readAt fills b: a reader may say that the file ends where b does.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("the file ends before byte %d (is it cut off?)", at+int64(len(b)))
	}
	return err
}

// placed is an entry with its name.
type placed struct {
	name string
	entry
}

// parse reads the header, each name of which may occur once.
func (f *File) parse(header []byte) ([]placed, error) {
	d := json.NewDecoder(bytes.NewReader(header))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("the header is not a JSON object (is it a safetensors file?)")
	}
	seen := map[string]bool{}
	var out []placed
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("the header: %w", err)
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, fmt.Errorf("the header has %s twice", ir.Show(name))
		}
		if seen[name] = true; len(seen) > maxTensors {
			return nil, fmt.Errorf("more than %d tensors, which is the limit", maxTensors)
		}
		if name == metadataKey {
			err = d.Decode(&f.Metadata)
		} else {
			out = append(out, placed{name: name})
			err = d.Decode(&out[len(out)-1].entry)
		}
		if err != nil {
			return nil, fmt.Errorf("the header's entry %s: %w", ir.Show(name), err)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing data after the header's JSON object")
	}
	return out, nil
}

// place finds the tensors in the file, where elements begin at a byte.
func (f *File) place(file *ir.File, entries []placed, begin int64) error {
	for _, e := range entries {
		if len(e.Offsets) != 2 {
			return fmt.Errorf("tensor %s: want two data_offsets, found %d", ir.Show(e.name), len(e.Offsets))
		}
	}
	slices.SortStableFunc(entries, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	at := int64(0)
	for _, e := range entries {
		t, err := e.tensor(file, begin, at)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", ir.Show(e.name), err)
		}
		f.Tensors = append(f.Tensors, Tensor{e.name, t})
		at = e.Offsets[1]
	}
	if at != file.Size-begin {
		return fmt.Errorf("the tensors need %d bytes; the file has %d for them (is it cut off?)", at, file.Size-begin)
	}
	return nil
}

func (e *placed) tensor(file *ir.File, begin, at int64) (*ir.Tensor, error) {
	t, err := typeOf(e.Type)
	if err != nil {
		return nil, err
	}
	for _, d := range e.Shape {
		if d < 0 {
			return nil, fmt.Errorf("negative dimension in the shape %v", e.Shape)
		}
	}
	if err := ir.Dims(e.Shape...).Fits(t); err != nil {
		return nil, fmt.Errorf("the tensor has %w", err)
	}
	n, err := ir.Len(e.Shape)
	if err != nil {
		return nil, err
	}
	first, end := e.Offsets[0], e.Offsets[1]
	switch size := n * int64(t.Size()); {
	case first != at:
		return nil, fmt.Errorf("its elements begin at byte %d; want %d, the end of the tensor before", first, at)
	case end < first || end-first != size:
		return nil, fmt.Errorf("data_offsets %d to %d; the shape %v of %s needs %d bytes", first, end, e.Shape, e.Type, size)
	case end > file.Size-begin:
		return nil, fmt.Errorf("its elements end at byte %d, beyond the file's %d (is it cut off?)", end, file.Size-begin)
	}
	return &ir.Tensor{Type: t, Shape: e.Shape, Src: &ir.Source{File: file, Offset: begin + first, Length: end - first}}, nil
}
