package onnx

import (
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
	filled, err := Fill(marshal(t, model()))
	require.NoError(t, err)
	got := &onnxpb.ModelProto{}
	require.NoError(t, proto.Unmarshal(filled, got))
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

	again, err := Fill(filled)
	require.NoError(t, err)
	require.Equal(t, filled, again, "a model with weights stays as it is")
}

func TestFillModelErrors(t *testing.T) {
	_, err := Fill([]byte("no model"))
	require.ErrorContains(t, err, "is the file an ONNX model?")
	_, err = Fill(marshal(t, withInit(randomTensor("w", "x"))))
	require.ErrorContains(t, err, `filling tensor "w": random weights: seed "x" is no number`)
	huge := randomTensor("w", "1")
	huge.Dims = []int64{1 << 40}
	_, err = Fill(marshal(t, withInit(huge)))
	require.ErrorContains(t, err, "more than 2 GB")
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
	require.ErrorContains(t, err, "is it an ONNX model?")
}
