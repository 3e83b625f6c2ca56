package onnx

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

func randomTensor(name, seed string) *onnxpb.TensorProto {
	p := external("location", "random", "seed", seed, "mean", "0.01", "std", "0.5", "min", "-0.6", "max", "0.6")
	p.Name = proto.String(name)
	return p
}

// TestFillModel fills tensors wherever they are and changes nothing else.
func TestFillModel(t *testing.T) {
	model := func() *onnxpb.ModelProto {
		m := withInit(randomTensor("w", "12345"))
		m.DocString = proto.String("kept")
		inner := graphOf(nil, names("z"), node("Constant", nil, names("z")))
		inner.Node[0].Attribute = []*onnxpb.AttributeProto{{
			Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: randomTensor("c", "12345")}}
		n := node("If", names("c"), names("unused"))
		n.Attribute = []*onnxpb.AttributeProto{{Name: proto.String("then_branch"), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: inner}}
		m.Graph.Node = append(m.Graph.Node, n)
		return m
	}
	filled, err := Fill(marshal(t, model()), "data", false)
	require.NoError(t, err)
	require.False(t, filled.External)
	got := &onnxpb.ModelProto{}
	require.NoError(t, proto.Unmarshal(filled.Model, got))
	want := model()
	list := func(m *onnxpb.ModelProto) []*onnxpb.TensorProto {
		return []*onnxpb.TensorProto{m.Graph.Initializer[0], m.Graph.Node[1].Attribute[0].G.Node[0].Attribute[0].T}
	}
	for i, p := range list(got) {
		require.Equal(t, le(fillF32), p.RawData[:4*len(fillF32)], p.GetName())
		require.Len(t, p.RawData, 400)
		w := list(want)[i]
		w.RawData, w.ExternalData, w.DataLocation = p.RawData, nil, nil
	}
	require.True(t, proto.Equal(want, got))

	again, err := Fill(filled.Model, "data", true)
	require.NoError(t, err)
	require.False(t, again.External)
	require.Equal(t, filled.Model, again.Model, "a model with weights stays as it is")
}

// TestFillBeside: weights that are too many for the model go to a file beside it, and are the same ones.
func TestFillBeside(t *testing.T) {
	m := withInit(randomTensor("w", "12345"))
	half := randomTensor("h", "12345")
	half.DataType = proto.Int32(int32(onnxpb.TensorProto_FLOAT16))
	m.Graph.Initializer = append(m.Graph.Initializer, half)
	m.Graph.Node = append(m.Graph.Node, node("Cast", names("h"), names("z"), "to", int(onnxpb.TensorProto_FLOAT)))
	m.Graph.Output = append(m.Graph.Output, info("z", onnxpb.TensorProto_FLOAT, 100))
	for _, most := range []int64{-1, 400} {
		f, err := fillUpTo(marshal(t, m), "net.data", most)
		require.NoError(t, err)
		require.True(t, f.External)
		var data bytes.Buffer
		require.NoError(t, f.WriteData(&data))
		require.Equal(t, dataAlign+200, data.Len())
		require.Equal(t, le(fillF32), data.Bytes()[:4*len(fillF32)])
		require.Equal(t, le(fillF16), data.Bytes()[dataAlign:][:2*len(fillF16)])
		g, err := Read(bytesFile(f.Model), map[string]*ir.File{"net.data": bytesFile(data.Bytes())}, Options{})
		require.NoError(t, err)
		require.EqualValues(t, dataAlign, g.Nodes[1].Inputs[0].Const.Src.Offset)
		locations, err := ExternalLocations(bytesFile(f.Model))
		require.NoError(t, err)
		require.Equal(t, []string{"net.data"}, locations)
	}
}

// TestFillLarge: tensors and offsets of more than 32 bits; nothing of them is computed before it is written.
func TestFillLarge(t *testing.T) {
	m := withInit(randomTensor("w", "1"))
	for range 3 {
		big := randomTensor("big", "1")
		big.Dims = []int64{1 << 20, 1 << 10}
		m.Graph.Initializer = append(m.Graph.Initializer, big)
	}
	f, err := Fill(marshal(t, m), "net.data", false)
	require.NoError(t, err)
	got := &onnxpb.ModelProto{}
	require.NoError(t, proto.Unmarshal(f.Model, got))
	require.Equal(t, map[string]string{"location": "net.data", "offset": "8589938688", "length": "4294967296"}, externalEntries(got.Graph.Initializer[3]))
	require.ErrorIs(t, f.WriteData(&failing{1 << 20}), errFull)
}

func TestFillModelErrors(t *testing.T) {
	_, err := Fill([]byte("no model"), "data", false)
	require.ErrorContains(t, err, "is the file an ONNX model?")
	_, err = Fill(marshal(t, withInit(randomTensor("w", "x"))), "data", false)
	require.ErrorContains(t, err, `filling tensor "w": random weights: seed "x" is not a number`)
	huge := randomTensor("w", "1")
	huge.Dims = []int64{1 << 40}
	_, err = Fill(marshal(t, withInit(huge)), "data", false)
	require.ErrorContains(t, err, `filling tensor "w": the shape [1099511627776] has more than 1099511627776 bytes, which is the limit of a tensor`)
	huge.Dims = []int64{1 << 38}
	two := withInit(randomTensor("v", "1"))
	two.Graph.Initializer = append(two.Graph.Initializer, huge)
	_, err = Fill(marshal(t, two), "data", false)
	require.ErrorContains(t, err, "the weights have more than 1099511627776 bytes")
}

func TestExternalLocations(t *testing.T) {
	m := withInit(external("location", "b.bin"))
	m.Graph.Initializer = append(m.Graph.Initializer, external("location", "a.bin"), external("location", "./b.bin"), randomTensor("r", "1"))
	list, err := ExternalLocations(bytesFile(marshal(t, m)))
	require.NoError(t, err)
	require.Equal(t, []string{"b.bin", "a.bin"}, list)

	_, err = ExternalLocations(bytesFile(marshal(t, withInit(external("location", "../b.bin")))))
	require.ErrorContains(t, err, "leaves the model's folder")
	_, err = ExternalLocations(&ir.File{})
	require.ErrorContains(t, err, "the file is empty, not an ONNX model")
}
