package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// appendElement appends a number as protobuf stores it.
func appendElement(b []byte, wire protowire.Type, v uint64) []byte {
	switch wire {
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, uint32(v))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, v)
	}
	return protowire.AppendVarint(b, v)
}

func packed(num protowire.Number, wire protowire.Type, vs []uint64) []byte {
	var list []byte
	for _, v := range vs {
		list = appendElement(list, wire, v)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), list)
}

func unpacked(num protowire.Number, wire protowire.Type, vs []uint64) []byte {
	var b []byte
	for _, v := range vs {
		b = appendElement(protowire.AppendTag(b, num, wire), wire, v)
	}
	return b
}

// forms are ways in which protobuf may store a list: parsers take all of them.
var forms = []struct {
	name string
	list func(num protowire.Number, wire protowire.Type, vs []uint64) []byte
}{
	{"packed", packed},
	{"unpacked", unpacked},
	{"in parts, among other fields", func(num protowire.Number, wire protowire.Type, vs []uint64) []byte {
		var b []byte
		for len(vs) > 0 {
			n := min(len(vs), 1000)
			b = append(b, packed(num, wire, vs[:n/2])...)
			b = append(b, packed(num, wire, nil)...)
			b = append(b, unpacked(100, protowire.VarintType, []uint64{1 << 40})...)
			b = append(b, unpacked(num, wire, vs[n/2:n])...)
			vs = vs[n:]
		}
		return b
	}},
}

// withGraph is a model whose graph ends with these bytes.
func withGraph(t testing.TB, m *onnxpb.ModelProto, more []byte) []byte {
	m = proto.Clone(m).(*onnxpb.ModelProto)
	graph := append(marshal(t, m.Graph), more...)
	m.Graph = nil
	return protowire.AppendBytes(protowire.AppendTag(marshal(t, m), modelGraph, protowire.BytesType), graph)
}

// readBytes are the elements, read as a whole and in pieces that begin and end anywhere.
func readBytes(t *testing.T, x *ir.Tensor) []byte {
	whole, err := x.Bytes()
	require.NoError(t, err)
	for _, size := range []int{1, 7, 4096, 10000} {
		for at := 3; at+size <= len(whole); at += max(size, len(whole)/16) + 1 {
			part := make([]byte, size)
			require.NoError(t, x.ReadBytes(part, int64(at)))
			require.Equal(t, whole[at:at+size], part)
		}
	}
	return whole
}

// TestForms reads elements of each field that holds some, in each form that protobuf allows: few and many.
func TestForms(t *testing.T) {
	float := func(i int) uint64 { return uint64(math.Float32bits(float32(i) / 7)) }
	for _, c := range []struct {
		typ     ir.DType
		field   protowire.Number
		element func(i int) uint64
	}{
		{ir.F32, fieldFloat, float},
		{ir.F64, fieldDouble, func(i int) uint64 { return math.Float64bits(float64(i) / 7) }},
		{ir.I64, fieldInt64, func(i int) uint64 { return uint64(int64(i-500) << 40) }},
		{ir.U64, fieldUint64, func(i int) uint64 { return uint64(i) << 50 }},
		{ir.U32, fieldUint64, func(i int) uint64 { return uint64(i) << 15 }},
		{ir.I32, fieldInt32, func(i int) uint64 { return uint64(int64(i-500) << 15) }},
		{ir.I8, fieldInt32, func(i int) uint64 { return uint64(int64(i%256 - 128)) }},
		{ir.Bool, fieldInt32, func(i int) uint64 { return uint64(i / 3 % 2) }},
		{ir.F16, fieldInt32, func(i int) uint64 { return uint64(i) }},
	} {
		for _, f := range forms {
			for _, n := range []int{2, 64, 65, 4096, 9001} {
				t.Run(fmt.Sprint(c.typ, " ", f.name, " ", n), func(t *testing.T) {
					var vs []uint64
					var want []byte
					for i := range n {
						vs = append(vs, c.element(i))
						var e [8]byte
						binary.LittleEndian.PutUint64(e[:], vs[i])
						want = append(want, e[:c.typ.Size()]...)
					}
					p := marshal(t, &onnxpb.TensorProto{Name: proto.String("w"), Dims: []int64{int64(n)}, DataType: proto.Int32(int32(onnxType(c.typ)))})
					p = append(p, f.list(c.field, wireType(c.typ), vs)...)
					w := protowire.AppendBytes(protowire.AppendTag(nil, graphInitializer, protowire.BytesType), p)
					g, err := Read(bytesFile(withGraph(t, modelOf(names("x"), names("y"), node("Add", names("x", "w"), names("y"))), w)), nil, Options{})
					require.NoError(t, err)
					x := g.Nodes[0].Inputs[1].Const
					require.Equal(t, n > inlineLimit, x.Data == nil, "many stay in the file")
					require.Equal(t, want, readBytes(t, x))
				})
			}
		}
	}
}

// withAttribute is a model y = Op with one attribute that ends with these bytes.
func withAttribute(t *testing.T, op, name string, kind onnxpb.AttributeProto_AttributeType, in []string, list []byte) []byte {
	a := append(marshal(t, &onnxpb.AttributeProto{Name: &name, Type: kind.Enum()}), list...)
	n := marshal(t, &onnxpb.NodeProto{OpType: &op, Input: in, Output: names("y")})
	n = protowire.AppendBytes(protowire.AppendTag(n, 5, protowire.BytesType), a)
	return withGraph(t, modelOf(names("x"), names("y")), protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), n))
}

// TestLists reads lists of attributes, in each form too.
func TestLists(t *testing.T) {
	vs := make([]uint64, 9001)
	var ints []int64
	var fs []float32
	for i := range vs {
		vs[i] = uint64(math.Float32bits(float32(i - 500)))
		ints, fs = append(ints, int64(vs[i])), append(fs, float32(i-500))
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			for _, c := range []struct {
				op, name string
				kind     onnxpb.AttributeProto_AttributeType
				in       []string
				num      protowire.Number
				wire     protowire.Type
				want     any
			}{
				{"Split", "split", onnxpb.AttributeProto_INTS, names("x"), listInts, protowire.VarintType, ints},
				{"Split", "split", onnxpb.AttributeProto_FLOATS, names("x"), listFloats, protowire.Fixed32Type, fs},
				{"Split", "split", onnxpb.AttributeProto_UNDEFINED, names("x"), listFloats, protowire.Fixed32Type, fs},
				{"Constant", "value_ints", onnxpb.AttributeProto_INTS, nil, listInts, protowire.VarintType, le(ints)},
				{"Constant", "value_floats", onnxpb.AttributeProto_FLOATS, nil, listFloats, protowire.Fixed32Type, le(fs)},
			} {
				g, err := Read(bytesFile(withAttribute(t, c.op, c.name, c.kind, c.in, f.list(c.num, c.wire, vs))), nil, Options{})
				require.NoError(t, err)
				if c.op == "Constant" {
					require.Nil(t, g.Outputs[0].Const.Data)
					require.Equal(t, []int64{9001}, g.Outputs[0].Const.Shape)
					require.Equal(t, c.want, readBytes(t, g.Outputs[0].Const))
				} else {
					require.Equal(t, c.want, g.Nodes[0].Attrs[c.name])
				}
			}
		})
	}
}

// TestLongLists: lists of attributes other than a Constant's are bounded.
func TestLongLists(t *testing.T) {
	b := withAttribute(t, "Split", "split", onnxpb.AttributeProto_INTS, names("x"), packed(listInts, protowire.VarintType, make([]uint64, limit.List)))
	_, err := Read(bytesFile(b), nil, Options{})
	require.NoError(t, err)
	b = withAttribute(t, "Split", "split", onnxpb.AttributeProto_INTS, names("x"), packed(listInts, protowire.VarintType, make([]uint64, limit.List+1)))
	_, err = Read(bytesFile(b), nil, Options{})
	require.ErrorContains(t, err, `attribute "split": a computed list of more than 1048576 elements is not supported`)
}

// TestManyDims: dimensions beyond what a tensor can have take no memory; the error names the tensor, and the node that holds it.
func TestManyDims(t *testing.T) {
	tensor := marshal(t, &onnxpb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT))})
	for _, n := range []int{limit.Rank + 1, 400, 1 << 20} {
		for form, dims := range map[string][]byte{
			"packed":   packed(fieldDims, protowire.VarintType, slices.Repeat([]uint64{1}, n)),
			"unpacked": unpacked(fieldDims, protowire.VarintType, slices.Repeat([]uint64{1}, n)),
		} {
			for where, p := range map[string][]byte{"before": append(slices.Clone(dims), tensor...), "behind": append(slices.Clone(tensor), dims...)} {
				b := withGraph(t, modelOf(names("x"), names("w")), protowire.AppendBytes(protowire.AppendTag(nil, graphInitializer, protowire.BytesType), p))
				m, _, err := scanModel(bytesFile(b))
				require.NoError(t, err)
				require.LessOrEqual(t, len(m.Graph.Initializer[0].Dims), maxDims)
				_, err = Read(bytesFile(b), nil, Options{})
				require.ErrorContains(t, err, `tensor "w": the tensor has more than 32 dimensions`, "%d, %s, %s the rest", n, form, where)
			}
		}
	}
}

// TestMemoryOfValues: in whatever form values are stored, reading and writing them takes little
// more memory than the file.
func TestMemoryOfValues(t *testing.T) {
	const count = 4 << 20
	vs := make([]uint64, count)
	text := unpacked(listStrings, protowire.BytesType, nil)
	for range count {
		text = protowire.AppendBytes(protowire.AppendTag(text, listStrings, protowire.BytesType), nil)
	}
	initializer := func(typ onnxpb.TensorProto_DataType, list []byte) []byte {
		p := append(marshal(t, &onnxpb.TensorProto{Name: proto.String("w"), Dims: []int64{count}, DataType: proto.Int32(int32(typ))}), list...)
		return withGraph(t, modelOf(nil, names("w")), protowire.AppendBytes(protowire.AppendTag(nil, graphInitializer, protowire.BytesType), p))
	}
	stringData := []byte(strings.ReplaceAll(string(text), string(protowire.AppendTag(nil, listStrings, protowire.BytesType)), string(protowire.AppendTag(nil, fieldString, protowire.BytesType))))
	for _, c := range []struct {
		name, refused string
		file          []byte
	}{
		{"value_ints", "", withAttribute(t, "Constant", "value_ints", onnxpb.AttributeProto_INTS, nil, packed(listInts, protowire.VarintType, vs))},
		{"value_ints, unpacked", "", withAttribute(t, "Constant", "value_ints", onnxpb.AttributeProto_INTS, nil, unpacked(listInts, protowire.VarintType, vs))},
		{"value_floats, unpacked", "", withAttribute(t, "Constant", "value_floats", onnxpb.AttributeProto_FLOATS, nil, unpacked(listFloats, protowire.Fixed32Type, vs))},
		{"value_strings", "constants of type string", withAttribute(t, "Constant", "value_strings", onnxpb.AttributeProto_STRINGS, nil, text)},
		{"another list of strings", "a computed list of more than", withAttribute(t, "Split", "list", onnxpb.AttributeProto_STRINGS, names("x"), text)},
		{"int64_data", "", initializer(onnxpb.TensorProto_INT64, packed(fieldInt64, protowire.VarintType, vs))},
		{"int64_data, unpacked", "", initializer(onnxpb.TensorProto_INT64, unpacked(fieldInt64, protowire.VarintType, vs))},
		{"int32_data of bools", "", initializer(onnxpb.TensorProto_BOOL, packed(fieldInt32, protowire.VarintType, vs))},
		{"float_data, unpacked", "", initializer(onnxpb.TensorProto_FLOAT, unpacked(fieldFloat, protowire.Fixed32Type, vs))},
		{"string_data", "element type STRING", initializer(onnxpb.TensorProto_STRING, stringData)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := bytesFile(c.file)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			g, err := Read(f, nil, Options{})
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
			} else {
				require.NoError(t, err)
				require.NoError(t, ir.PrintConsts(discard{}, g, ir.NewConstWriter(discard{})))
			}
			runtime.ReadMemStats(&after)
			most := uint64(10 << 20)
			if c.name == "another list of strings" {
				most = limit.List * 16 * 8 // a list in memory, which grows
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, most)
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
