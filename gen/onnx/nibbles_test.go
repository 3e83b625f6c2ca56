package onnx

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// nibbleModel casts an initializer of 4 bits to float, or what nodes make of it.
func nibbleModel(w *onnxpb.TensorProto, nodes ...*onnxpb.NodeProto) *onnxpb.ModelProto {
	w.Name = proto.String("w")
	m := modelOf(names("x"), names("y"), append(nodes, node("Add", names("x", "f"), names("y")))...)
	m.OpsetImport, m.Graph.Initializer = opsets("", 21), []*onnxpb.TensorProto{w}
	return m
}

func TestNibbles(t *testing.T) {
	type P = onnxpb.TensorProto
	cast := node("Cast", names("w"), names("f"), "to", 1)
	many, wide := make([]byte, 501), make([]byte, 1001)
	for i := range wide {
		many[i/2] |= byte(i%16) << (i % 2 * 4)
		wide[i] = byte(int8(i%16<<4) >> 4)
	}
	for _, c := range []struct {
		p    *P
		typ  ir.DType
		want []byte
	}{
		{tensorProto(onnxpb.TensorProto_INT4, []int64{3}, func(p *P) { p.RawData = []byte{0x8f, 0xf7} }), ir.I8, []byte{0xff, 0xf8, 7}},
		{tensorProto(onnxpb.TensorProto_UINT4, []int64{3}, func(p *P) { p.RawData = []byte{0x8f, 0x07} }), ir.U8, []byte{15, 8, 7}},
		{tensorProto(onnxpb.TensorProto_INT4, []int64{2, 2}, func(p *P) { p.Int32Data = []int32{0x8f, 0x21} }), ir.I8, []byte{0xff, 0xf8, 1, 2}},
		{tensorProto(onnxpb.TensorProto_UINT4, nil, func(p *P) { p.RawData = []byte{9} }), ir.U8, []byte{9}},
		{tensorProto(onnxpb.TensorProto_INT4, []int64{0, 3}, func(p *P) {}), ir.I8, nil},
		{tensorProto(onnxpb.TensorProto_INT4, []int64{7, 143}, func(p *P) { p.RawData = many }), ir.I8, wide},
	} {
		w := mustRead(t, nibbleModel(c.p, proto.Clone(cast).(*onnxpb.NodeProto))).Nodes[0].Inputs[0]
		require.Equal(t, c.typ, w.Type)
		var b bytes.Buffer
		_, err := w.Const.WriteTo(&b)
		require.NoError(t, err)
		require.Equal(t, string(c.want), b.String())
		if len(c.want) > 1 { // any part of it
			one := make([]byte, 1)
			require.NoError(t, w.Const.ReadBytes(one, 1))
			require.Equal(t, c.want[1], one[0])
		}
	}
}

func TestExternalNibbles(t *testing.T) {
	w := &onnxpb.TensorProto{DataType: proto.Int32(int32(onnxpb.TensorProto_UINT4)), Dims: []int64{5}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum()}
	for _, e := range [][2]string{{"location", "w.bin"}, {"offset", "1"}, {"length", "3"}} {
		w.ExternalData = append(w.ExternalData, &onnxpb.StringStringEntryProto{Key: &e[0], Value: &e[1]})
	}
	m := nibbleModel(w, node("Cast", names("w"), names("f"), "to", 1))
	g, err := Read(bytesFile(marshal(t, m)), map[string]*ir.File{"w.bin": bytesFile([]byte{0, 0x21, 0x43, 0x05})}, Options{})
	require.NoError(t, err)
	b, err := g.Nodes[0].Inputs[0].Const.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3, 4, 5}, b)
	*w.ExternalData[2].Value = "5"
	_, err = Read(bytesFile(marshal(t, m)), map[string]*ir.File{"w.bin": bytesFile(make([]byte, 9))}, Options{})
	require.ErrorContains(t, err, "has 5 bytes; the tensor needs 3")
}

func TestNibbleErrors(t *testing.T) {
	w := func(bytes int, dims ...int64) *onnxpb.TensorProto {
		return raw("", onnxpb.TensorProto_INT4, make([]byte, bytes), dims...)
	}
	for _, c := range []struct {
		m    *onnxpb.ModelProto
		want string
	}{
		{nibbleModel(w(1, 3), node("Cast", names("w"), names("f"), "to", 1)), "1 bytes are stored; shape [2] of u8 needs 2"},
		{nibbleModel(w(1, 2), node("Add", names("w", "w"), names("f"))), `operator "Add", opset 21: an operand has type int4 or uint4, which only Flatten`},
		{nibbleModel(w(1, 2), node("Reshape", names("w", "s"), names("v"), "allowzero", 0), node("Relu", names("v"), names("f"))), `value "s" is not defined`},
		{nibbleModel(w(1, 2), node("Transpose", names("w"), names("v")), node("Relu", names("v"), names("f"))), `operator "Relu", opset 21: an operand has type int4`},
		{nibbleModel(w(1, 2), node("ConstantOfShape", names("x"), names("f"), "value", w(1, 1))), `attribute "value" is a tensor of type int4 or uint4`},
		{nibbleModel(w(1, 2), node("DequantizeLinear", names("w", "x", "x"), names("f"))), "one of operands 0 (x) and 2 (x_zero_point) has 4 bits"},
		{nibbleModel(w(1, 2), node("QuantizeLinear", names("x", "x", "w"), names("f"), "output_dtype", 3)), "attribute output_dtype and operand 2 (y_zero_point) have different types"},
		{nibbleModel(w(1, 2), node("If", names("x"), names("f"), "then_branch", graphOf(nil, names("w")), "else_branch", graphOf(nil, names("w")))),
			"has type int4 or uint4; cast it to int8"},
	} {
		_, err := read(t, c.m, Options{})
		require.ErrorContains(t, err, c.want)
	}
}
