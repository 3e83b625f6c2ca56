package onnx

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// withInit is a model y = Op(x, w) with the initializer w.
func withInit(w *onnxpb.TensorProto) *onnxpb.ModelProto {
	m := modelOf(names("x"), names("y"), node("Add", names("x", "w"), names("y")))
	w.Name = proto.String("w")
	m.Graph.Initializer = []*onnxpb.TensorProto{w}
	return m
}

func tensorProto(typ onnxpb.TensorProto_DataType, dims []int64, set func(*onnxpb.TensorProto)) *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{DataType: proto.Int32(int32(typ)), Dims: dims}
	set(p)
	return p
}

func le(xs ...any) []byte {
	var b bytes.Buffer
	for _, x := range xs {
		if err := binary.Write(&b, binary.LittleEndian, x); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func TestTensors(t *testing.T) {
	type P = onnxpb.TensorProto
	for _, c := range []struct {
		p    *P
		typ  ir.DType
		want []byte
	}{
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{2}, func(p *P) { p.FloatData = []float32{1.5, float32(math.Inf(-1))} }), ir.F32, le([]float32{1.5, float32(math.Inf(-1))})},
		{tensorProto(onnxpb.TensorProto_DOUBLE, nil, func(p *P) { p.DoubleData = []float64{0.1} }), ir.F64, le(0.1)},
		{tensorProto(onnxpb.TensorProto_INT8, []int64{3}, func(p *P) { p.Int32Data = []int32{-128, 127, -1} }), ir.I8, []byte{0x80, 0x7f, 0xff}},
		{tensorProto(onnxpb.TensorProto_UINT8, []int64{2}, func(p *P) { p.Int32Data = []int32{255, 0} }), ir.U8, []byte{255, 0}},
		{tensorProto(onnxpb.TensorProto_INT16, []int64{1}, func(p *P) { p.Int32Data = []int32{-2} }), ir.I16, le(int16(-2))},
		{tensorProto(onnxpb.TensorProto_UINT16, []int64{1}, func(p *P) { p.Int32Data = []int32{65535} }), ir.U16, le(uint16(65535))},
		{tensorProto(onnxpb.TensorProto_INT32, []int64{1}, func(p *P) { p.Int32Data = []int32{math.MinInt32} }), ir.I32, le(int32(math.MinInt32))},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{2}, func(p *P) { p.Int64Data = []int64{math.MinInt64, 7} }), ir.I64, le([]int64{math.MinInt64, 7})},
		{tensorProto(onnxpb.TensorProto_UINT32, []int64{1}, func(p *P) { p.Uint64Data = []uint64{math.MaxUint32} }), ir.U32, le(uint32(math.MaxUint32))},
		{tensorProto(onnxpb.TensorProto_UINT64, []int64{1}, func(p *P) { p.Uint64Data = []uint64{math.MaxUint64} }), ir.U64, le(uint64(math.MaxUint64))},
		{tensorProto(onnxpb.TensorProto_BOOL, []int64{2}, func(p *P) { p.Int32Data = []int32{1, 0} }), ir.Bool, []byte{1, 0}},
		{tensorProto(onnxpb.TensorProto_BOOL, []int64{2}, func(p *P) { p.RawData = []byte{7, 0} }), ir.Bool, []byte{1, 0}},
		{tensorProto(onnxpb.TensorProto_FLOAT16, []int64{1}, func(p *P) { p.Int32Data = []int32{0xfc00} }), ir.F16, le(uint16(0xfc00))},
		{tensorProto(onnxpb.TensorProto_BFLOAT16, []int64{1}, func(p *P) { p.Int32Data = []int32{0x3f80} }), ir.BF16, le(uint16(0x3f80))},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{0, 3}, func(p *P) {}), ir.F32, nil},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{0}, func(p *P) { p.RawData = []byte{} }), ir.F32, nil},
		{tensorProto(onnxpb.TensorProto_INT32, []int64{1, 1}, func(p *P) { p.RawData = le(int32(-5)) }), ir.I32, le(int32(-5))},
	} {
		g := mustRead(t, withInit(c.p))
		w := g.Nodes[0].Inputs[1]
		require.Equal(t, c.typ, w.Type)
		require.Nil(t, w.Const.Src)
		require.Equal(t, string(c.want), string(w.Const.Data), "%v", c.p)
		require.Len(t, w.Const.Shape, len(c.p.Dims))
	}
}

// TestLargeTensors checks that the elements of large tensors stay in the file.
func TestLargeTensors(t *testing.T) {
	type P = onnxpb.TensorProto
	fs := make([]float32, 1000)
	for i := range fs {
		fs[i] = float32(i) / 7
	}
	is := make([]int64, 1000)
	for i := range is {
		is[i] = int64(i-500) << 40
	}
	bools := bytes.Repeat([]byte{0, 1}, 500)
	for _, c := range []struct {
		p      *P
		want   []byte
		inFile bool
	}{
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1000}, func(p *P) { p.RawData = le(fs) }), le(fs), true},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1000}, func(p *P) { p.FloatData = fs }), le(fs), true},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{10, 100}, func(p *P) { p.Int64Data = is }), le(is), false},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{10, 100}, func(p *P) { p.RawData = le(is) }), le(is), true},
		{tensorProto(onnxpb.TensorProto_BOOL, []int64{1000}, func(p *P) { p.RawData = bools }), bools, true},
		{tensorProto(onnxpb.TensorProto_BOOL, []int64{1000}, func(p *P) { p.RawData = bytes.Repeat([]byte{0, 2}, 500) }), bools, false},
	} {
		m := withInit(c.p)
		b := marshal(t, m)
		g, err := Read(bytesFile(b), nil, Options{})
		require.NoError(t, err)
		w := g.Nodes[0].Inputs[1].Const
		require.NotNil(t, w.Src)
		require.Nil(t, w.Data)
		require.Equal(t, c.inFile, w.Src.File.Name == "")
		if c.inFile {
			require.Equal(t, "", w.Src.File.Name)
			require.Equal(t, c.want, b[w.Src.Offset:w.Src.Offset+w.Src.Length])
		}
		got, err := w.Bytes()
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// TestUnpacked reads elements that an old protobuf wrote one by one.
func TestUnpacked(t *testing.T) {
	var p []byte
	p = protowire.AppendTag(p, 1, protowire.VarintType) // dims
	p = protowire.AppendVarint(p, 3)
	p = protowire.AppendTag(p, 2, protowire.VarintType) // data_type
	p = protowire.AppendVarint(p, uint64(onnxpb.TensorProto_FLOAT))
	for _, x := range []float32{1, 2, 3} {
		p = protowire.AppendTag(p, fieldFloat, protowire.Fixed32Type)
		p = protowire.AppendFixed32(p, math.Float32bits(x))
	}
	w := protowire.AppendTag(nil, graphInitializer, protowire.BytesType)
	p = append(p, protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), []byte("w"))...)
	w = protowire.AppendBytes(w, p)
	m := modelOf(names("x"), names("y"), node("Add", names("x", "w"), names("y")))
	graph := append(marshal(t, m.Graph), w...)
	m.Graph = nil
	b := protowire.AppendTag(marshal(t, m), modelGraph, protowire.BytesType)
	g, err := Read(bytesFile(protowire.AppendBytes(b, graph)), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, le([]float32{1, 2, 3}), g.Nodes[0].Inputs[1].Const.Data)
}

func TestTensorErrors(t *testing.T) {
	type P = onnxpb.TensorProto
	for _, c := range []struct {
		p    *P
		want string
	}{
		{tensorProto(onnxpb.TensorProto_STRING, []int64{1}, func(p *P) { p.StringData = [][]byte{[]byte("a")} }), `tensor "w": element type STRING is not supported`},
		{tensorProto(onnxpb.TensorProto_FLOAT8E4M3FN, []int64{1}, func(p *P) { p.RawData = []byte{1} }), "element type FLOAT8E4M3FN is not supported"},
		{tensorProto(onnxpb.TensorProto_INT2, []int64{1}, func(p *P) { p.RawData = []byte{1} }), "element type INT2 is not supported"},
		{tensorProto(onnxpb.TensorProto_COMPLEX64, []int64{1}, func(p *P) { p.FloatData = []float32{1, 2} }), "element type COMPLEX64 is not supported"},
		{tensorProto(99, []int64{1}, func(p *P) {}), "element type 99 is not supported"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1}, func(p *P) { p.Segment = &onnxpb.TensorProto_Segment{} }), "segments are not supported"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{-1}, func(p *P) {}), "negative dimension"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1 << 40, 1 << 40}, func(p *P) {}), "of more than 1099511627776 bytes"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1 << 62}, func(p *P) {}), "of more than 1099511627776 bytes, which is the limit of a tensor"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{2}, func(p *P) {}), "no elements are stored"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{2}, func(p *P) { p.RawData = make([]byte, 7) }), "7 bytes are stored; shape [2] of f32 needs 8"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{2}, func(p *P) { p.FloatData = make([]float32, 3) }), "12 bytes are stored"},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{2}, func(p *P) { p.Int64Data = make([]int64, 1) }), "2 elements are needed, at most 1"},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{2}, func(p *P) { p.Int64Data = []int64{300} }), "1 elements are stored; the shape needs 2"},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{2}, func(p *P) { p.Int64Data = make([]int64, 3) }), "more elements are stored than the 2"},
		{tensorProto(onnxpb.TensorProto_INT64, []int64{1 << 60}, func(p *P) { p.Int64Data = make([]int64, 3) }), "of more than 1099511627776 bytes, which is the limit of a tensor"},
		{tensorProto(onnxpb.TensorProto_INT8, []int64{1}, func(p *P) { p.Int32Data = []int32{128} }), "element 128 does not fit i8"},
		{tensorProto(onnxpb.TensorProto_UINT8, []int64{1}, func(p *P) { p.Int32Data = []int32{-1} }), "element -1 does not fit u8"},
		{tensorProto(onnxpb.TensorProto_BOOL, []int64{1}, func(p *P) { p.Int32Data = []int32{2} }), "element 2 does not fit bool"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1}, func(p *P) { p.Int32Data = []int32{2} }), "are in int32_data; want them in float_data or raw_data"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1}, func(p *P) { p.FloatData = []float32{1}; p.RawData = le(float32(1)) }), "are both in"},
		{tensorProto(onnxpb.TensorProto_FLOAT, []int64{1}, func(p *P) {
			p.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
			p.RawData = []byte{1}
		}), "both in the model and in external data"},
	} {
		_, err := read(t, withInit(c.p), Options{})
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, `"w"`)
	}
}

// TestMemory checks that weights are neither held while a model is read, nor while it is written.
func TestMemory(t *testing.T) {
	const size = 4 << 30
	m := modelOf(names("x"), names("y"), node("Add", names("x", "w"), names("y")))
	head := marshal(t, raw("w", onnxpb.TensorProto_FLOAT, nil, size/4))
	head = protowire.AppendVarint(protowire.AppendTag(head, fieldRaw, protowire.BytesType), size)
	graph := protowire.AppendTag(marshal(t, m.Graph), graphInitializer, protowire.BytesType)
	graph = append(protowire.AppendVarint(graph, uint64(len(head))+size), head...)
	m.Graph = nil
	b := protowire.AppendTag(marshal(t, m), modelGraph, protowire.BytesType)
	b = append(protowire.AppendVarint(b, uint64(len(graph))+size), graph...)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, err := Read(&ir.File{R: sparse(b), Size: int64(len(b)) + size}, nil, Options{})
	require.NoError(t, err)
	w := g.Nodes[0].Inputs[1].Const
	require.Equal(t, &ir.Source{File: w.Src.File, Offset: int64(len(b)), Length: size}, w.Src)
	w.Shape, w.Src.Length = []int64{1 << 26}, 1<<28
	g.Nodes[0].Inputs[1].Shape = ir.Dims(w.Shape...)
	require.NoError(t, Write(io.Discard, g))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// sparse is a file that ends with zeros.
type sparse []byte

func (s sparse) ReadAt(b []byte, off int64) (int, error) {
	clear(b)
	if off < int64(len(s)) {
		copy(b, s[off:])
	}
	return len(b), nil
}
