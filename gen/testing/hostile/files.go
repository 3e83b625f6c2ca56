package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/ops"
)

// fileCases are files that are cut off, files whose bits are flipped, lengths beyond the file, and external data.
func fileCases(m *maker) error {
	whole := onnxtest.Bytes(product())
	m.right("whole", whole, productRun(product()))
	for cut := 0; cut < len(whole); cut += 3 { // the opset's import is last: every part is too little
		m.refused(fmt.Sprintf("cut off at %d", cut), slices.Clone(whole[:cut]), "model")
	}
	r := rand.New(rand.NewPCG(m.seed, 7))
	for range 240 {
		m.flip(whole, r.IntN(len(whole)), r.IntN(8))
	}
	m.huge(whole)
	m.foreign()
	m.externals()
	return nil
}

// product is a model that multiplies a row by a constant matrix.
func product() *onnxpb.ModelProto {
	model := onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 1, 2), onnxtest.Op("MatMul", "x w", "y")), onnxtest.Tensor("w", tensor(ir.F32, []int64{2, 2}, 1, 2, 3, 4)))
	model.Graph.DocString = proto.String("some words about the graph")
	return model
}

// productRun is a run of product, whatever its weights are.
func productRun(model *onnxpb.ModelProto) Run {
	x := []float64{0.5, -1.5}
	w := model.Graph.Initializer[0].RawData
	at := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(w[4*i:]))) }
	var want []float64
	for j := range 2 {
		want = append(want, float64(float32(x[0]*at(j)))+float64(float32(x[1]*at(2+j))))
	}
	y := about(tensor(ir.F32, []int64{1, 2}, want...))
	y.Absolute = max(y.Absolute, 1e-6*max(math.Abs(x[0]*at(0)), math.Abs(x[0]*at(1)), 1e-30))
	return run(y, "x", tensor(ir.F32, []int64{1, 2}, x...))
}

// flip flips a bit. What must happen is told by what an independent reader makes of the file.
func (m *maker) flip(whole []byte, at, bit int) {
	b := slices.Clone(whole)
	b[at] ^= 1 << bit
	name := fmt.Sprintf("bit %d of byte %d", bit, at)
	if slices.ContainsFunc(m.cases, func(c *Case) bool { return c.Name == name }) {
		return
	}
	got := &onnxpb.ModelProto{}
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(b, got); err != nil {
		m.refused(name, b, "model.onnx")
		return
	}
	same := func(change func(m *onnxpb.ModelProto)) bool {
		x, y := proto.Clone(got).(*onnxpb.ModelProto), product()
		if x.Graph == nil || len(x.Graph.Node) != 1 || len(x.Graph.Initializer) != 1 {
			return false
		}
		change(x)
		change(y)
		return proto.Equal(x, y)
	}
	switch {
	case same(func(m *onnxpb.ModelProto) { m.Graph.DocString, m.Graph.Name, m.Graph.Node[0].Name = nil, nil, nil }):
		m.right(name, b, productRun(product()))
	case same(func(m *onnxpb.ModelProto) { m.Graph.Initializer[0].RawData = nil }) && len(got.Graph.Initializer[0].RawData) == 16:
		m.right(name, b, productRun(got))
	case same(func(m *onnxpb.ModelProto) { m.Graph.Node[0].OpType = nil }) && ops.Lookup(got.Graph.Node[0].GetOpType()) == nil:
		m.refused(name, b, `"n_y"`)
	case same(func(m *onnxpb.ModelProto) { m.OpsetImport = nil }) && (len(got.OpsetImport) == 0 || got.OpsetImport[0].GetDomain() != "" || got.OpsetImport[0].GetVersion() < 1 || got.OpsetImport[0].GetVersion() > 28):
		m.refused(name, b, "opset")
	case same(func(m *onnxpb.ModelProto) { m.IrVersion = nil }) && (got.GetIrVersion() < 3 || got.GetIrVersion() > 14):
		m.refused(name, b, "IR version")
	case same(func(m *onnxpb.ModelProto) { m.IrVersion = nil }):
		m.right(name, b, productRun(product()))
	default: // another model, which may be one
		m.open(name, b, []string{"model.onnx"})
	}
}

// huge are files in which a length, a number or a tag is beyond what there is.
func (m *maker) huge(whole []byte) {
	for _, length := range []uint64{1 << 10, 1 << 20, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 40, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		for _, field := range []protowire.Number{1, 2, 7, 8, 14, 20, 25, 1000} {
			b := protowire.AppendTag(slices.Clone(whole), field, protowire.BytesType)
			b = protowire.AppendVarint(b, length)
			m.refused(fmt.Sprintf("field %d of %d bytes at the end", field, length), append(b, "some bytes"...), "model")
		}
	}
	for i, tail := range [][]byte{{0xff}, {0x80}, bytes.Repeat([]byte{0xff}, 11), {0x3a}, {0x3b}, {0x3c}, {0x07}, {0x06}, {0x00}, {0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		{0x0d, 1, 2}, {0x09, 1, 2, 3}, bytes.Repeat([]byte{0x3a, 0x7f}, 5000)} {
		m.refused(fmt.Sprintf("a tail %d", i), append(slices.Clone(whole), tail...), "model")
	}
	// Fields that nobody knows are skipped.
	for i, tail := range [][]byte{protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 7),
		protowire.AppendBytes(protowire.AppendTag(nil, 5000, protowire.BytesType), make([]byte, 1000)),
		protowire.AppendFixed64(protowire.AppendTag(nil, 99, protowire.Fixed64Type), 7)} {
		m.right(fmt.Sprintf("an unknown field %d", i), append(slices.Clone(whole), tail...), productRun(product()))
	}
	// Messages within messages, deeper than a stack.
	deep := []byte{}
	for range 4000 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType),
			protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep)))
	}
	m.refused("messages nested 12,000 times", protowire.AppendBytes(protowire.AppendTag(slices.Clone(whole), 7, protowire.BytesType), protowire.AppendBytes(
		protowire.AppendTag(nil, 1, protowire.BytesType), deep)), "model")
}

// lfsPointer is what stands for a file where Git LFS was not asked for it.
const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 102400\n"

// namedFormats are files that people have in place of a model, by their first bytes, and what an error says of them.
var namedFormats = []struct {
	name, text string
	words      []string
}{
	{"an empty file", "", []string{"the file is empty", "again"}},
	{"a Git LFS pointer", lfsPointer, []string{"Git LFS pointer", "git lfs pull"}},
	{"a page", "<!doctype html><html></html>", []string{"HTML", "download it again"}},
	{"an error in XML", "<?xml version='1.0'?><Error/>", []string{"XML", "download it again"}},
	{"a zip archive", "PK\x03\x04\x14\x00\x00\x00\x08\x00 some zip", []string{"zip archive", ".onnx"}},
	{"a checkpoint of PyTorch", "PK\x03\x04\x00\x00\x08\x08\x00\x00 model/data.pkl", []string{"PyTorch", "torch.onnx.export"}},
	{"an old checkpoint of PyTorch", "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", []string{"pickle", "torch.onnx.export"}},
	{"TensorFlow Lite", "\x1c\x00\x00\x00TFL3", []string{"TensorFlow Lite", "tf2onnx"}},
	{"TensorFlow", "\n\x14\n\x05input\x12\vPlaceholder", []string{"TensorFlow", "tf2onnx"}},
	{"Keras", "\x89HDF\r\n\x1a\n", []string{"Keras", "tf2onnx"}},
	{"ONNX Runtime's format", "\x1c\x00\x00\x00ORTM", []string{".ort", "ONNX model from which it was converted"}},
	{"gzip", "\x1f\x8b\x08\x00", []string{"gzip", "gunzip"}},
	{"text", "ir_version: 8\ngraph { }\n", []string{"text", "text_format"}},
	{"safetensors", "\x02\x00\x00\x00\x00\x00\x00\x00{}", []string{"safetensors", "export"}},
}

// foreign are files of other formats.
func (m *maker) foreign() {
	other := map[string][]byte{
		"nothing": {}, "zeros": make([]byte, 1000), "text": []byte("hello, world\n"), "JSON": []byte(`{"graph": {"node": []}}`),
		"ELF": append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 500)...), "zip": []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00 some zip"),
		"0xff": bytes.Repeat([]byte{0xff}, 1000), "a newline": []byte("\n"), "a tag": {0x3a},
	}
	for _, name := range sortedKeys(other) {
		m.refused("no model: "+name, other[name], "model")
	}
	for _, c := range namedFormats {
		m.refused("no model, "+c.name, []byte(c.text), c.words...)
	}
	empty := &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{onnxtest.Import("", 21)}}
	m.refused("no graph", empty, "graph")
	none := onnxtest.Model(onnxtest.Floats("x", 2))
	m.refused("no nodes and no outputs", none, "no outputs")
}

const max64 = "9223372036854775807"

// entry is a key of a tensor's external data.
type entry struct{ key, value string }

// externalCases are entries, and what an error says of them.
var externalCases = []struct {
	name    string
	entries []entry
	want    []string // nil: right
}{
	{"right", []entry{{"location", "w.bin"}}, nil},
	{"right, with offset and length", []entry{{"location", "w.bin"}, {"offset", "0"}, {"length", "16"}}, nil},
	{"right, a path with dots", []entry{{"location", "./w.bin"}}, nil},
	{"right, misaligned", []entry{{"location", "odd.bin"}, {"offset", "5"}, {"length", "16"}}, nil},
	{"right, another key", []entry{{"location", "w.bin"}, {"checksum", "abc"}}, nil},
	{"above the folder", []entry{{"location", "../secret"}}, []string{"leaves the model's folder"}},
	{"above the folder, later", []entry{{"location", "a/b/../../../secret"}}, []string{"leaves the model's folder"}},
	{"an absolute path", []entry{{"location", "/etc/passwd"}}, []string{"not a path relative"}},
	{"a drive", []entry{{"location", "C:\\x"}}, []string{"refused"}},
	{"backslashes", []entry{{"location", "..\\secret"}}, []string{"refused"}},
	{"a zero byte", []entry{{"location", "w.bin\x00.txt"}}, []string{"zero byte"}},
	{"a URL", []entry{{"location", "http://example.com/w"}}, []string{"not declared"}},
	{"the folder", []entry{{"location", "."}}, []string{"folder"}},
	{"a folder", []entry{{"location", "sub"}}, []string{"sub"}},
	{"no location", nil, []string{"location is missing"}},
	{"an empty location", []entry{{"location", ""}}, []string{"location is missing"}},
	{"not declared", []entry{{"location", "none.bin"}}, []string{"not declared", "none.bin"}},
	{"a location twice", []entry{{"location", "w.bin"}, {"location", "odd.bin"}}, []string{"twice"}},
	{"an offset beyond", []entry{{"location", "w.bin"}, {"offset", "1"}}, []string{"beyond the file"}},
	{"an offset far beyond", []entry{{"location", "w.bin"}, {"offset", max64}}, []string{"beyond the file"}},
	{"an offset and a length that overflow", []entry{{"location", "w.bin"}, {"offset", max64}, {"length", "16"}}, []string{"beyond the file"}},
	{"an offset above 64 bits", []entry{{"location", "w.bin"}, {"offset", "18446744073709551616"}}, []string{"offset"}},
	{"a negative offset", []entry{{"location", "w.bin"}, {"offset", "-1"}}, []string{"offset"}},
	{"the least offset", []entry{{"location", "w.bin"}, {"offset", "-9223372036854775808"}}, []string{"offset"}},
	{"an offset that is no number", []entry{{"location", "w.bin"}, {"offset", "0x0"}}, []string{"offset"}},
	{"an empty offset", []entry{{"location", "w.bin"}, {"offset", ""}}, []string{"offset"}},
	{"a negative length", []entry{{"location", "w.bin"}, {"length", "-16"}}, []string{"length"}},
	{"a length of 0", []entry{{"location", "w.bin"}, {"length", "0"}}, []string{"0 bytes", "needs 16"}},
	{"a length that is too short", []entry{{"location", "w.bin"}, {"length", "15"}}, []string{"15 bytes", "needs 16"}},
	{"a length that is too long", []entry{{"location", "w.bin"}, {"length", "17"}}, []string{"17 bytes", "needs 16"}},
	{"the greatest length", []entry{{"location", "w.bin"}, {"length", max64}}, []string{"needs 16"}},
	{"a length that is no number", []entry{{"location", "w.bin"}, {"length", "1e1"}}, []string{"length"}},
	{"a file that is too short", []entry{{"location", "short.bin"}}, []string{"beyond the file"}},
	{"an empty file", []entry{{"location", "empty.bin"}}, []string{"it is empty, and has no elements"}},
	{"a Git LFS pointer", []entry{{"location", "pointer.bin"}, {"offset", "128"}}, []string{"pointer.bin", "Git LFS pointer", "git lfs pull"}},
}

// spellings are forms of the locations of two files: in the model, and where a file is declared.
var spellings = [][]string{{"w.bin", "./w.bin", ".//w.bin", "w.bin/", "././w.bin/."}, {"sub/w.bin", "sub//w.bin", "./sub/w.bin", "sub/./w.bin"}}

// spelled are locations that both sides write in another form.
func (m *maker) spelled(data []byte) {
	for _, forms := range spellings {
		for _, inModel := range forms {
			for _, declared := range forms {
				w := onnxtest.Raw("w", onnxpb.TensorProto_FLOAT, []int64{4}, nil)
				w.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
				w.ExternalData = []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String(inModel)}}
				model := onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 4), onnxtest.Op("Add", "x w", "y")), w)
				c := m.right("external data, "+inModel+" declared as "+declared, model, run(is(f32(11, 22, 33, 44)), "x", f32(10, 20, 30, 40)))
				c.Files, c.Folders = map[string][]byte{forms[0]: data}, []string{"sub"}
				c.with("--external=" + declared + "=" + forms[0])
			}
		}
		twice := m.refused("external data, "+forms[0]+" declared twice", onnxtest.Model(onnxtest.Floats("x", 4), onnxtest.Op("Relu", "x", "y")), "given twice")
		twice.Files, twice.Folders, twice.Flag = map[string][]byte{forms[0]: data}, []string{"sub"}, true
		twice.with("--external="+forms[0]+"="+forms[0], "--external="+forms[1]+"="+forms[0])
	}
}

// externals are tensors whose elements lie in other files.
func (m *maker) externals() {
	data := tensor(ir.F32, []int64{4}, 1, 2, 3, 4).Data
	padded := append(make([]byte, 5), data...)
	for _, c := range externalCases {
		w := onnxtest.Raw("w", onnxpb.TensorProto_FLOAT, []int64{4}, nil)
		w.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		for _, e := range c.entries {
			w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(e.key), Value: proto.String(e.value)})
		}
		model := onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 4), onnxtest.Op("Add", "x w", "y")), w)
		var added *Case
		if c.want == nil {
			added = m.right("external data, "+c.name, model, run(is(f32(11, 22, 33, 44)), "x", f32(10, 20, 30, 40)))
		} else {
			added = m.refused("external data, "+c.name, model, c.want...)
		}
		added.Files = map[string][]byte{"w.bin": data, "odd.bin": padded, "short.bin": data[:15], "empty.bin": {}, "pointer.bin": []byte(lfsPointer)}
		added.Folders = []string{"sub"}
		added.with("--external=w.bin=w.bin", "--external=odd.bin=odd.bin", "--external=short.bin=short.bin", "--external=empty.bin=empty.bin", "--external=pointer.bin=pointer.bin")
	}
	m.spelled(data)
	both := onnxtest.Tensor("w", tensor(ir.F32, []int64{4}, 1, 2, 3, 4))
	both.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
	both.ExternalData = []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String("w.bin")}}
	c := m.refused("external data and elements", onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 4), onnxtest.Op("Add", "x w", "y")), both), `"w"`)
	c.Files = map[string][]byte{"w.bin": data}
	c.with("--external=w.bin=w.bin")
}
