package check

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
)

// npyCodes are NumPy's codes of element types. NumPy has no bf16: its bits are read and written as
// u2.
var npyCodes = map[ir.DType]string{
	ir.Bool: "b1", ir.I8: "i1", ir.I16: "i2", ir.I32: "i4", ir.I64: "i8",
	ir.U8: "u1", ir.U16: "u2", ir.U32: "u4", ir.U64: "u8", ir.F16: "f2", ir.F32: "f4", ir.F64: "f8", ir.BF16: "u2",
}

const npyMagic = "\x93NUMPY"

var npyHeader = regexp.MustCompile(`'descr': '([<|])(\w\d)', 'fortran_order': False, 'shape': \(([0-9, ]*)\)`)

// ReadNpy reads an array that NumPy's save wrote.
func ReadNpy(path string) (*ir.Tensor, error) {
	b, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	t, err := parseNpy(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parseNpy(b []byte) (*ir.Tensor, error) {
	if len(b) < 10 || !bytes.HasPrefix(b, []byte(npyMagic)) || b[6] != 1 {
		return nil, fmt.Errorf("it is no .npy file of version 1")
	}
	end := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	if end > len(b) {
		return nil, fmt.Errorf("its header ends beyond the file")
	}
	m := npyHeader.FindSubmatch(b[10:end])
	if m == nil {
		return nil, fmt.Errorf("its header %q is not that of a little-endian row-major array", b[10:end])
	}
	typ, err := npyType(string(m[2]))
	if err != nil {
		return nil, err
	}
	t := &ir.Tensor{Type: typ, Shape: []int64{}, Data: b[end:]}
	for _, d := range strings.FieldsFunc(string(m[3]), func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return nil, err
		}
		t.Shape = append(t.Shape, n)
	}
	if n, err := ir.Len(t.Shape); err != nil || n != int64(len(t.Data)/typ.Size()) || len(t.Data)%typ.Size() != 0 {
		return nil, fmt.Errorf("%d bytes of data do not make %s of shape %v", len(t.Data), typ, t.Shape)
	}
	return t, nil
}

func npyType(code string) (ir.DType, error) {
	for t, c := range npyCodes {
		if c == code && t != ir.BF16 {
			return t, nil
		}
	}
	return ir.Invalid, fmt.Errorf("its element type %q is not supported", code)
}

// WriteNpy writes an array for NumPy.
func WriteNpy(path string, t *ir.Tensor) error {
	code, ok := npyCodes[t.Type]
	if !ok {
		return fmt.Errorf("%s: .npy files have no type %s", path, t.Type)
	}
	data, err := t.Bytes()
	if err != nil {
		return err
	}
	order := "<"
	if t.Type.Size() == 1 {
		order = "|"
	}
	shape := ""
	for _, d := range t.Shape {
		shape += fmt.Sprintf("%d,", d)
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, code, shape)
	// The data begin at a multiple of 64.
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString(npyMagic + "\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	b.WriteString(header)
	b.Write(data)
	return files.Write(path, b.Bytes())
}
