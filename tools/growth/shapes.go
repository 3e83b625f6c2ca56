package main

import (
	"fmt"
	"strings"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// shape is a family of networks that grow with a number.
type shape struct {
	name string
	doc  string
	// make builds the network of about n nodes, or of n operands where it is about these.
	make func(n int) *onnxpb.ModelProto
}

// shapes are those in which a pass that is not linear shows: long, wide, deep, and with much to
// decide.
var shapes = []shape{
	{"chain", "Relu and Neg in turn", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		v := "x"
		for i := range n {
			v = b.node([]string{"Relu", "Neg"}[i%2], v)
		}
		return b.result(v)
	}},
	{"where", "a chain of Where, which two of three operands of each enter", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		b.input("c", onnxpb.TensorProto_BOOL, 8)
		v := "x"
		for range n {
			v = b.node("Where", "c "+v+" x")
		}
		return b.result(v)
	}},
	{"residual", "each Add reads the two results before it", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		u, v := "x", b.node("Neg", "x")
		for range n {
			u, v = v, b.node("Add", u+" "+v)
		}
		return b.result(v)
	}},
	{"functions", "functions that call the next one twice each", doubling},
	{"concat", "a Concat of Negs", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		return b.result(b.node("Concat", b.negs(n), "axis", 0))
	}},
	{"sum", "a Sum of Negs", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		return b.result(b.node("Sum", b.negs(n)))
	}},
	{"attention", "Softmax and MatMul in turn", func(n int) *onnxpb.ModelProto {
		b := newNet(8, 8)
		b.input("w", onnxpb.TensorProto_FLOAT, 8, 8)
		v := "x"
		for i := range n {
			if i%2 == 0 {
				v = b.node("Softmax", v)
			} else {
				v = b.node("MatMul", v+" w")
			}
		}
		return b.result(v)
	}},
	{"convolutions", "Conv and Relu in turn", func(n int) *onnxpb.ModelProto {
		b := newNet(1, 16, 8, 8)
		b.constant("w", 16, 16, 3, 3)
		v := "x"
		for i := range n {
			if i%2 == 0 {
				v = b.node("Conv", v+" w", "pads", []int64{1, 1, 1, 1})
			} else {
				v = b.node("Relu", v)
			}
		}
		return b.result(v)
	}},
	{"moves", "Transpose and Reshape in turn", func(n int) *onnxpb.ModelProto {
		b := newNet(2, 3, 4)
		b.ints("s", 4, 2, 3)
		v := "x"
		for i := range n {
			if i%2 == 0 {
				v = b.node("Transpose", v, "perm", []int64{2, 0, 1})
			} else {
				v = b.node("Reshape", v+" s")
			}
		}
		return b.result(v)
	}},
	{"reductions", "ReduceSum, whose result is added to its operand", func(n int) *onnxpb.ModelProto {
		b := newNet(4, 8)
		v := "x"
		for i := 0; i < n; i += 2 {
			r := b.node("ReduceMean", v, "axes", []int64{int64(i / 2 % 2)})
			v = b.node("Add", v+" "+r)
		}
		return b.opset(17).result(v)
	}},
	{"sizes", "a batch whose size each node reads: Shape, Gather, Concat and Reshape in turn", func(n int) *onnxpb.ModelProto {
		b := newNet("N", 4, 4)
		b.ints("zero", 0)
		b.ints("rest", 4, 4)
		v := "x"
		for i := 0; i < n; i += 5 {
			s := b.node("Shape", v)
			first := b.node("Gather", s+" zero")
			to := b.node("Concat", first+" rest", "axis", 0)
			v = b.node("Neg", b.node("Reshape", v+" "+to))
		}
		return b.result(v)
	}},
	{"readers", "one value that all nodes read, and the graph hands out all results", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		v := b.node("Exp", "x")
		for range n {
			b.output(b.node("Neg", v))
		}
		return b.m
	}},
	{"parts", "a Split, whose parts are added", func(n int) *onnxpb.ModelProto {
		b := newNet(n)
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprint("p", i))
		}
		split := onnxtest.Op("Split", "x", "", "num_outputs", n)
		split.Output = parts
		b.m.Graph.Node = append(b.m.Graph.Node, split)
		return b.result(b.node("Sum", strings.Join(parts, " ")))
	}},
	{"constants", "nodes that a fold computes", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		b.constant("w", 8)
		v := "w"
		for range n {
			v = b.node("Neg", v)
		}
		return b.result(b.node("Add", v+" x"))
	}},
	{"sorted", "TopK and Neg in turn", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		b.ints("k", 8)
		v := "x"
		for i := range n {
			if i%2 == 0 {
				v = b.topK(v)
			} else {
				v = b.node("Neg", v)
			}
		}
		return b.result(v)
	}},
	{"branches", "If, whose branches read the value before", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		b.input("go", onnxpb.TensorProto_BOOL)
		v := "x"
		for i := 0; i < n; i += 3 {
			v = b.node("If", "go", "then_branch", b.region("Neg", v), "else_branch", b.region("Abs", v))
		}
		return b.result(v)
	}},
	{"pools", "MaxPool of 3x3", func(n int) *onnxpb.ModelProto {
		b := newNet(1, 4, 8, 8)
		v := "x"
		for range n {
			v = b.node("MaxPool", v, "kernel_shape", []int64{3, 3}, "pads", []int64{1, 1, 1, 1})
		}
		return b.result(v)
	}},
	{"means", "values times their means: two ways from each to the one before", func(n int) *onnxpb.ModelProto {
		b := newNet(1, 8, 8, 8)
		v := "x"
		for i := 0; i < n; i += 2 {
			v = b.node("Mul", v+" "+b.node("GlobalAveragePool", v))
		}
		return b.result(v)
	}},
	{"captures", "an If whose branches read all of many values", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		b.input("go", onnxpb.TensorProto_BOOL)
		all := b.negs(n)
		return b.result(b.node("If", "go", "then_branch", b.region("Sum", all), "else_branch", b.region("Max", all)))
	}},
	{"einsum", "an Einsum of many operands", func(n int) *onnxpb.ModelProto {
		b := newNet(8)
		return b.result(b.node("Einsum", strings.Repeat("x ", n-1)+"x", "equation", strings.Repeat("i,", n-1)+"i->i"))
	}},
}
