package main

import (
	"fmt"
	"math/bits"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// net is a network under construction, whose input "x" is of float32.
type net struct {
	m *onnxpb.ModelProto
	n int // nodes so far
}

func newNet(dims ...any) *net {
	b := &net{m: onnxtest.Model(onnxtest.Floats("x", dims...))}
	return b.opset(18)
}

func (b *net) opset(version int64) *net {
	b.m.OpsetImport[0].Version = &version
	return b
}

func (b *net) input(name string, t onnxpb.TensorProto_DataType, dims ...any) {
	b.m.Graph.Input = append(b.m.Graph.Input, onnxtest.Input(name, t, dims...))
}

// constant adds weights of ones.
func (b *net) constant(name string, dims ...int64) { onnxtest.With(b.m, onnxtest.Ones(name, dims...)) }

func (b *net) ints(name string, xs ...int64) {
	onnxtest.With(b.m, &onnxpb.TensorProto{Name: &name, Dims: []int64{int64(len(xs))}, DataType: proto.Int32(int32(onnxpb.TensorProto_INT64)), Int64Data: xs})
}

// node adds a node with one result and returns the result; operands are names with spaces between
// them.
func (b *net) node(op, operands string, attrs ...any) string {
	b.n++
	out := fmt.Sprint("v", b.n)
	b.m.Graph.Node = append(b.m.Graph.Node, onnxtest.Op(op, operands, out, attrs...))
	return out
}

// topK adds a TopK of all elements and returns their values.
func (b *net) topK(operand string) string {
	v := b.node("TopK", operand+" k")
	last := b.m.Graph.Node[len(b.m.Graph.Node)-1]
	last.Output = append(last.Output, v+"_at")
	return v
}

// negs adds n nodes and returns their results as operands.
func (b *net) negs(n int) string {
	var out []string
	for range n {
		out = append(out, b.node("Neg", "x"))
	}
	return strings.Join(out, " ")
}

// region returns a graph of one node.
func (b *net) region(op, operand string) *onnxpb.GraphProto {
	b.n++
	return onnxtest.Model(nil, onnxtest.Op(op, operand, fmt.Sprint("r", b.n))).Graph
}

func (b *net) output(name string) { b.m.Graph.Output = append(b.m.Graph.Output, onnxtest.Output(name)) }

func (b *net) result(name string) *onnxpb.ModelProto {
	b.output(name)
	return b.m
}

// doubling returns a network of n nodes, rounded down to a power of two, that a file of about 1000
// bytes expands to.
func doubling(n int) *onnxpb.ModelProto {
	b := newNet(8)
	name := func(i int) string { return fmt.Sprint("F", i) }
	depth := bits.Len(uint(n)) - 1
	var fs []*onnxpb.FunctionProto
	for i := range depth {
		fs = append(fs, onnxtest.Function(name(i), "a", "c", onnxtest.Call(name(i+1), "a", "b"), onnxtest.Call(name(i+1), "b", "c")))
	}
	fs = append(fs, onnxtest.Function(name(depth), "a", "c", onnxtest.Op("Neg", "a", "c")))
	b.m.Graph.Node = []*onnxpb.NodeProto{onnxtest.Call(name(0), "x", "y")}
	return onnxtest.WithFunctions(b.result("y"), fs...)
}
