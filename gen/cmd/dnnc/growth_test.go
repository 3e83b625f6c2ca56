package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
)

// chained is a model of n nodes, each made of the names of its operand and its result.
func chained(inputs []*onnxpb.ValueInfoProto, n int, node func(i int, in, out string) *onnxpb.NodeProto) *onnxpb.ModelProto {
	m := hostileModel(inputs)
	for i := range n {
		in, out := fmt.Sprint("v", i), fmt.Sprint("v", i+1)
		if i == 0 {
			in = "x"
		}
		m.Graph.Node = append(m.Graph.Node, node(i, in, out))
	}
	m.Graph.Output = []*onnxpb.ValueInfoProto{{Name: proto.String(fmt.Sprint("v", n))}}
	return m
}

// fed is a model of n Negs, and a node that reads all of their results.
func fed(name string, n int, attrs ...any) *onnxpb.ModelProto {
	m := hostileModel(floats("x", 8))
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint("v", i))
		m.Graph.Node = append(m.Graph.Node, op("Neg", "x", out[i]))
	}
	m.Graph.Node = append(m.Graph.Node, op(name, strings.Join(out, " "), "y", attrs...))
	m.Graph.Output = []*onnxpb.ValueInfoProto{{Name: proto.String("y")}}
	return m
}

// twice is a model in which n times a value is reduced, and used with what it was reduced to: there are 2^n ways from the result to the input.
func twice(n int, pair func(in, out string) (*onnxpb.NodeProto, *onnxpb.NodeProto)) *onnxpb.ModelProto {
	m := hostileModel(floats("x", 1, 8, 4, 4))
	in := "x"
	for i := range n {
		out := fmt.Sprint("v", i)
		reduced, used := pair(in, out)
		m.Graph.Node = append(m.Graph.Node, reduced, used)
		in = out
	}
	m.Graph.Output = []*onnxpb.ValueInfoProto{{Name: &in}}
	return m
}

// TestGrowth: chains of nodes whose expressions would double with each, or that are merely long, are
// compiled in time that does not.
func TestGrowth(t *testing.T) {
	for name, m := range map[string]*onnxpb.ModelProto{
		"sums with themselves": chained(floats("x", "N", 8), 60, func(_ int, in, out string) *onnxpb.NodeProto { return op("Add", in+" "+in, out) }),
		"products of shapes": chained(floats("x", "N", "M"), 24, func(_ int, in, out string) *onnxpb.NodeProto {
			return op("Concat", in+" "+in, out, "axis", 0)
		}),
		"reshapes": chained(floats("x", "N", 8), 200, func(i int, in, out string) *onnxpb.NodeProto {
			return op("Flatten", in, out, "axis", i%2)
		}),
		"transposes": chained(floats("x", 2, 3, 4), 200, func(_ int, in, out string) *onnxpb.NodeProto {
			return op("Transpose", in, out, "perm", []int64{2, 0, 1})
		}),
		"reductions and back": chained(floats("x", 8, 8), 150, func(i int, in, out string) *onnxpb.NodeProto {
			return op("Softmax", in, out, "axis", i%2)
		}),
		"pools": chained(floats("x", 1, 4, 64, 64), 100, func(_ int, in, out string) *onnxpb.NodeProto {
			return op("MaxPool", in, out, "kernel_shape", []int64{3, 3}, "pads", []int64{1, 1, 1, 1})
		}),
		"a long chain": chained(floats("x", 8), 20000, func(i int, in, out string) *onnxpb.NodeProto {
			return op([]string{"Relu", "Neg"}[i%2], in, out)
		}),
		"choices": chained(append(floats("x", 8), input("c", onnxpb.TensorProto_BOOL, 8)), 10000, func(_ int, in, out string) *onnxpb.NodeProto {
			return op("Where", "c "+in+" x", out)
		}),
		"reductions and products": chained(append(floats("x", 8, 8), floats("w", 8, 8)...), 5000, func(i int, in, out string) *onnxpb.NodeProto {
			if i%2 == 0 {
				return op("Softmax", in, out)
			}
			return op("MatMul", in+" w", out)
		}),
		"values times their means": twice(150, func(in, out string) (*onnxpb.NodeProto, *onnxpb.NodeProto) {
			return op("GlobalAveragePool", in, out+"m"), op("Mul", in+" "+out+"m", out)
		}),
		"sums of values and their reductions": twice(150, func(in, out string) (*onnxpb.NodeProto, *onnxpb.NodeProto) {
			return op("Softmax", in, out+"m"), op("Add", in+" "+out+"m", out)
		}),
		"a Sum of many":    fed("Sum", 5000),
		"a Concat of many": fed("Concat", 3000, "axis", 0),
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t)
			require.NoError(t, attempt(t, marshal(t, m)))
		})
	}
}

// TestAllocated: what both actions allocate for four times as many blocks is about four times as much, whatever else the machine does: lists that
// are made anew for each block are seen there.
func TestAllocated(t *testing.T) {
	chip := factsFile(t, "x86_64")
	for name, node := range map[string]func(i int, in, out string) *onnxpb.NodeProto{
		"sums of the two results before": func(i int, in, out string) *onnxpb.NodeProto {
			before := "x"
			if i > 1 {
				before = fmt.Sprint("v", i-1)
			}
			return op("Add", before+" "+in, out)
		},
		"reductions": func(_ int, in, out string) *onnxpb.NodeProto { return op("Softmax", in, out) },
	} {
		t.Run(name, func(t *testing.T) {
			allocated := func(n int) uint64 {
				t.Chdir(t.TempDir())
				require.NoError(t, os.WriteFile("model.onnx", marshal(t, chained(floats("x", 8), n, node)), 0o644))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				mustRun(t, graphArgs("model.onnx")...)
				mustRun(t, compileArgs("model.onnx", chip)...)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			few, many := allocated(1000), allocated(4000)
			assert.Less(t, many, 5*few, "%d MB for 1000 nodes, %d for 4000", few>>20, many>>20)
		})
	}
}
