package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
)

// net is a network under construction, whose input "x" is of float32.
type net struct {
	m *onnxpb.ModelProto
	n int // nodes so far
}

func newNet(dims ...any) *net {
	b := &net{m: &onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: &onnxpb.GraphProto{Name: proto.String("growth")},
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(18)}}}}
	b.input("x", onnxpb.TensorProto_FLOAT, dims...)
	return b
}

func (b *net) opset(version int64) *net {
	b.m.OpsetImport[0].Version = &version
	return b
}

func (b *net) input(name string, t onnxpb.TensorProto_DataType, dims ...any) {
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range dims {
		p := &onnxpb.TensorShapeProto_Dimension{}
		switch d := d.(type) {
		case int:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(d)}
		case string:
			p.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d}
		}
		shape.Dim = append(shape.Dim, p)
	}
	b.m.Graph.Input = append(b.m.Graph.Input, &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(t)), Shape: shape}}}})
}

// constant adds weights of ones.
func (b *net) constant(name string, dims ...int64) {
	size := int64(1)
	for _, d := range dims {
		size *= d
	}
	t := &onnxpb.TensorProto{Name: &name, Dims: dims, DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT))}
	for range size {
		t.RawData = binary.LittleEndian.AppendUint32(t.RawData, math.Float32bits(1))
	}
	b.m.Graph.Initializer = append(b.m.Graph.Initializer, t)
}

func (b *net) ints(name string, xs ...int64) {
	b.m.Graph.Initializer = append(b.m.Graph.Initializer,
		&onnxpb.TensorProto{Name: &name, Dims: []int64{int64(len(xs))}, DataType: proto.Int32(int32(onnxpb.TensorProto_INT64)), Int64Data: xs})
}

// node adds a node of one result, which it gives; the operands are names with spaces between them.
func (b *net) node(op, operands string, attrs ...*onnxpb.AttributeProto) string {
	b.n++
	out := fmt.Sprint("v", b.n)
	n := &onnxpb.NodeProto{OpType: &op, Name: proto.String(fmt.Sprint("n", b.n)), Input: strings.Fields(operands), Output: []string{out}, Attribute: attrs}
	b.m.Graph.Node = append(b.m.Graph.Node, n)
	return out
}

// topK adds a TopK of all elements and gives their values.
func (b *net) topK(operand string) string {
	v := b.node("TopK", operand+" k")
	last := b.m.Graph.Node[len(b.m.Graph.Node)-1]
	last.Output = append(last.Output, v+"_at")
	return v
}

// negs adds n nodes and gives their results as operands.
func (b *net) negs(n int) string {
	var out []string
	for range n {
		out = append(out, b.node("Neg", "x"))
	}
	return strings.Join(out, " ")
}

// region is a graph of one node.
func (b *net) region(attr, op, operand string) *onnxpb.AttributeProto {
	b.n++
	out := fmt.Sprint("r", b.n)
	g := &onnxpb.GraphProto{Name: proto.String(attr), Output: []*onnxpb.ValueInfoProto{{Name: &out}},
		Node: []*onnxpb.NodeProto{{OpType: &op, Name: proto.String(fmt.Sprint("n", b.n)), Input: []string{operand}, Output: []string{out}}}}
	return &onnxpb.AttributeProto{Name: &attr, Type: onnxpb.AttributeProto_GRAPH.Enum(), G: g}
}

func (b *net) output(name string) {
	b.m.Graph.Output = append(b.m.Graph.Output, &onnxpb.ValueInfoProto{Name: &name})
}

func (b *net) result(name string) *onnxpb.ModelProto {
	b.output(name)
	return b.m
}

func intAttr(name string, x int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INT.Enum(), I: &x}
}

func intsAttr(name string, xs ...int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INTS.Enum(), Ints: xs}
}

// doubling is a network that a file of about a thousand bytes expands to, of n nodes rounded down to a power of two.
func doubling(n int) *onnxpb.ModelProto {
	b := newNet(8)
	b.m.OpsetImport = append(b.m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: proto.String("f"), Version: proto.Int64(1)})
	depth := bits.Len(uint(n)) - 1
	for i := range depth + 1 {
		op, domain := fmt.Sprint("F", i+1), "f"
		if i == depth {
			op, domain = "Neg", ""
		}
		f := &onnxpb.FunctionProto{Name: proto.String(fmt.Sprint("F", i)), Domain: proto.String("f"), Input: []string{"a"}, Output: []string{"c"}, OpsetImport: b.m.OpsetImport}
		call := func(in, out string) {
			f.Node = append(f.Node, &onnxpb.NodeProto{OpType: &op, Domain: &domain, Input: []string{in}, Output: []string{out}})
		}
		if i == depth {
			call("a", "c")
		} else {
			call("a", "b")
			call("b", "c")
		}
		b.m.Functions = append(b.m.Functions, f)
	}
	b.m.Graph.Node = []*onnxpb.NodeProto{{OpType: proto.String("F0"), Domain: proto.String("f"), Name: proto.String("n"), Input: []string{"x"}, Output: []string{"y"}}}
	return b.result("y")
}
