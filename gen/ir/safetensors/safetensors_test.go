package safetensors

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

func open(b []byte) *ir.File { return &ir.File{R: bytes.NewReader(b), Size: int64(len(b))} }

// file is one of a header and of elements.
func file(header string, elements ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), elements...)
}

func example() *File {
	return &File{Metadata: map[string]string{"b": "2", "a": "<1>"}, Tensors: []Tensor{
		{"second", &ir.Tensor{Type: ir.U8, Shape: []int64{3}, Data: []byte{1, 2, 3}}},
		{"first", &ir.Tensor{Type: ir.F32, Shape: []int64{1, 2}, Data: []byte{0, 0, 128, 63, 0, 0, 0, 64}}},
		{"none", &ir.Tensor{Type: ir.I64, Shape: []int64{0, 5}}},
		{"scalar", &ir.Tensor{Type: ir.F16, Shape: []int64{}, Data: []byte{0, 60}}},
	}}
}

// TestRoundTrip: a file is read as it was written, and written again it has the same bytes.
func TestRoundTrip(t *testing.T) {
	var a, b bytes.Buffer
	require.NoError(t, Write(&a, example()))
	require.Zero(t, binary.LittleEndian.Uint64(a.Bytes())%8)
	f, err := Read(open(a.Bytes()))
	require.NoError(t, err)
	require.Equal(t, example().Metadata, f.Metadata)
	require.Len(t, f.Tensors, len(example().Tensors))
	for i, want := range example().Tensors {
		got, err := f.Tensors[i].Bytes()
		require.NoError(t, err)
		require.Equal(t, want.Name, f.Tensors[i].Name)
		require.Equal(t, want.Shape, f.Tensors[i].Shape)
		require.Equal(t, want.Data, got)
	}
	require.NoError(t, Write(&b, f))
	require.Equal(t, a.Bytes(), b.Bytes())
	require.Nil(t, f.Tensor("other"))
}

// TestForeign: the format's own library puts spaces after the header, and entries in any order.
func TestForeign(t *testing.T) {
	f, err := Read(open(file(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}}   `, 5, 1, 7)))
	require.NoError(t, err)
	require.Equal(t, "a", f.Tensors[0].Name)
	got, err := f.Tensor("a").Ints()
	require.NoError(t, err)
	require.Equal(t, []int64{261}, got)
}

// TestRefused: broken files.
func TestRefused(t *testing.T) {
	for want, b := range map[string][]byte{
		"has 3 bytes":         {1, 2, 3},
		"at most":             binary.LittleEndian.AppendUint64(nil, 1<<40),
		"a header of 9 bytes": append(binary.LittleEndian.AppendUint64(nil, 9), "{}"...),
		"the header is not a JSON object (is it a safetensors file?)": file("[]"),
		"unexpected EOF":               file(`{"a":{"dtype":"U8"`),
		"trailing data":                file(`{}{}`),
		`has "a" twice`:                file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`),
		"want two data_offsets":        file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`, 1),
		`element type "C64"`:           file(`{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}`, 1, 2, 3, 4, 5, 6, 7, 8),
		"negative dimension":           file(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1),
		"limit of a tensor":            file(`{"a":{"dtype":"U8","shape":[1099511627777],"data_offsets":[0,1]}}`, 1),
		"needs 4 bytes":                file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1]}}`, 1),
		"begin at byte 1; want 0":      file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 1, 2),
		"begin at byte 0; want 1":      file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"beyond the file's 1":          file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 1),
		"need 1 bytes; the file has 2": file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, 2),
		"cannot unmarshal":             file(`{"__metadata__":{"a":1}}`),
		"cannot unmarshal string":      file(`{"a":"b"}`),
	} {
		_, err := Read(open(b))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "reading safetensors")
	}
}

// TestWriteRefuses: names that a file cannot have.
func TestWriteRefuses(t *testing.T) {
	x := &ir.Tensor{Type: ir.U8, Shape: []int64{0}}
	require.ErrorContains(t, Write(&bytes.Buffer{}, &File{Tensors: []Tensor{{"a", x}, {"a", x}}}), `two tensors are called "a"`)
	require.ErrorContains(t, Write(&bytes.Buffer{}, &File{Tensors: []Tensor{{metadataKey, x}}}), "two tensors")
}

// FuzzRead: no file ends the program, and what is read can be written and read again.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, Write(&b, example()))
	f.Add(b.Bytes())
	f.Add(file(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Read(open(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, Write(&again, x))
		_, err = Read(open(again.Bytes()))
		require.NoError(t, err)
	})
}
