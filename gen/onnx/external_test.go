package onnx

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// external is a float tensor of 100 elements in a file of external data.
func external(kv ...string) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), Dims: []int64{100}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum()}
	for i := 0; i < len(kv); i += 2 {
		p.ExternalData = append(p.ExternalData, &onnxpb.StringStringEntryProto{Key: &kv[i], Value: &kv[i+1]})
	}
	return p
}

func TestExternalData(t *testing.T) {
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(i)
	}
	for _, c := range []struct {
		p      *onnxpb.TensorProto
		offset int64
		want   string // of the error
	}{
		{p: external("location", "w.bin")},
		{p: external("location", "./w.bin", "offset", "600", "length", "400", "checksum", "x"), offset: 600},
		{p: external("location", "sub//onnx::W_1"), offset: 0},
		{p: external("location", "w.bin", "offset", "601"), want: "400 bytes from byte 601 on, ends beyond the file (1000 bytes)"},
		{p: external("location", "w.bin", "offset", "9223372036854775807"), want: "400 bytes from byte 9223372036854775807 on, ends beyond the file (1000 bytes)"},
		{p: external("location", "w.bin", "offset", "-1"), want: "want a number of bytes"},
		{p: external("location", "w.bin", "offset", "x"), want: "want a number of bytes"},
		{p: external("location", "w.bin", "length", "399"), want: "has 399 bytes; the tensor needs 400"},
		{p: external("location", "w.bin", "location", "w.bin"), want: `entry "location" twice`},
		{p: external(), want: "location is missing"},
		{p: external("location", "/w.bin"), want: "not a path relative to the model"},
		{p: external("location", "C:/w.bin"), want: "not a path relative to the model"},
		{p: external("location", "../w.bin"), want: "leaves the model's folder"},
		{p: external("location", "a/../w.bin"), want: "leaves the model's folder"},
		{p: external("location", "a\\w.bin"), want: "backslash"},
		{p: external("location", "."), want: "a folder"},
		{p: external("location", "other"), want: `external data is not declared: "other" (1 tensors); declare`},
		{p: external("location", "random", "seed", "1"), want: "the weights were removed from the model"},
	} {
		files := map[string]*ir.File{
			"w.bin":         {R: bytes.NewReader(data), Size: 1000},
			"sub/onnx::W_1": {R: bytes.NewReader(data), Size: 1000},
		}
		g, err := Read(bytesFile(marshal(t, withInit(c.p))), files, Options{})
		if c.want != "" {
			require.ErrorContains(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		w := g.Nodes[0].Inputs[1].Const
		require.Equal(t, c.offset, w.Src.Offset)
		got, err := w.Bytes()
		require.NoError(t, err)
		require.Equal(t, data[c.offset:c.offset+400], got)
		require.Contains(t, text(t, g), `file "`+w.Src.File.Name+`"[`)
		require.False(t, strings.HasPrefix(w.Src.File.Name, "."))
	}
	for _, loc := range []string{"/w", "../w", ""} {
		_, err := Read(bytesFile(marshal(t, withInit(external("location", "w.bin")))), map[string]*ir.File{loc: {}}, Options{})
		require.Error(t, err, loc)
	}
}

func TestMissingExternalData(t *testing.T) {
	m := withInit(external("location", "a"))
	b := external("location", "b")
	b.Name = proto.String("v")
	m.Graph.Initializer = append(m.Graph.Initializer, b)
	m.Graph.Node = append(m.Graph.Node, node("Add", names("y", "v"), names("z")))
	_, err := read(t, m, Options{})
	require.ErrorContains(t, err, `"a" (1 tensors), "b" (1 tensors)`)
}

// TestFill compares with values that the Python program which defines them printed.
func TestFill(t *testing.T) {
	p := external("location", "random", "seed", "12345", "mean", "0.01", "std", "0.5", "min", "-0.6", "max", "0.6")
	g, err := read(t, withInit(p), Options{Fill: true})
	require.NoError(t, err)
	w := g.Nodes[0].Inputs[1].Const
	b, err := w.Bytes()
	require.NoError(t, err)
	require.Equal(t, le(fillF32), b[:4*len(fillF32)])
	part := make([]byte, 7)
	_, err = w.Src.File.R.ReadAt(part, 5)
	require.NoError(t, err)
	require.Equal(t, b[5:12], part)
	_, err = w.Src.File.R.ReadAt(part, 396)
	require.Error(t, err)

	p.DataType = proto.Int32(int32(onnxpb.TensorProto_FLOAT16))
	g, err = read(t, withInit(p), Options{Fill: true})
	require.NoError(t, err)
	b, err = g.Nodes[0].Inputs[1].Const.Bytes()
	require.NoError(t, err)
	require.Equal(t, le(fillF16), b[:2*len(fillF16)])

	for _, c := range []struct{ p *onnxpb.TensorProto }{
		{external("location", "random", "seed", "x")},
		{external("location", "random", "seed", "1", "mean", "0", "std", "1", "min", "0")},
	} {
		_, err := read(t, withInit(c.p), Options{Fill: true})
		require.ErrorContains(t, err, "is not a number")
	}
	p.DataType = proto.Int32(int32(onnxpb.TensorProto_INT64))
	_, err = read(t, withInit(p), Options{Fill: true})
	require.ErrorContains(t, err, "supported are float and float16")
}

var fillF32 = func() []float32 {
	out := make([]float32, 0, 8)
	for _, b := range []uint32{0x3d1d1d9c, 0xbf19999a, 0x3e75b0cf, 0xbf19999a, 0xbf19999a, 0x3e1836cb, 0xbde52dcb, 0x3f19999a} {
		out = append(out, math.Float32frombits(b))
	}
	return out
}()

var fillF16 = []uint16{0x28e9, 0xb8cd, 0x33ae, 0xb8cd, 0xb8cd, 0x30c2, 0xaf29, 0x38cd}
