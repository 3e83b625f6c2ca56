package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"rules_dnn/gen/ir"
)

// Write writes a file: the same bytes for the same file. The header is padded by spaces so that elements begin at a multiple of eight.
func Write(w io.Writer, f *File) error {
	header, err := f.header()
	if err != nil {
		return fmt.Errorf("writing safetensors: %w", err)
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range f.Tensors {
		if _, err := t.WriteTo(w); err != nil {
			return fmt.Errorf("writing safetensors: tensor %s: %w", ir.Show(t.Name), err)
		}
	}
	return nil
}

func (f *File) header() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	if len(f.Metadata) > 0 {
		if err := member(&out, metadataKey, f.Metadata); err != nil {
			return nil, err
		}
	}
	seen, at := map[string]bool{metadataKey: true}, int64(0)
	for _, t := range f.Tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("two tensors are called %s", ir.Show(t.Name))
		}
		seen[t.Name] = true
		if names[t.Type] == "" {
			return nil, fmt.Errorf("tensor %s: the format has no type %s", ir.Show(t.Name), t.Type)
		}
		end := at + t.Len()*int64(t.Type.Size())
		e := entry{names[t.Type], append([]int64{}, t.Shape...), []int64{at, end}}
		if err := member(&out, t.Name, e); err != nil {
			return nil, err
		}
		at = end
	}
	out.WriteByte('}')
	for out.Len()%8 != 0 {
		out.WriteByte(' ')
	}
	return out.Bytes(), nil
}

// member adds a member to an object. Keys of maps are sorted by package json.
func member(out *bytes.Buffer, name string, x any) error {
	if out.Len() > 1 {
		out.WriteByte(',')
	}
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	value, err := json.Marshal(x)
	if err != nil {
		return err
	}
	out.Write(key)
	out.WriteByte(':')
	out.Write(value)
	return nil
}
