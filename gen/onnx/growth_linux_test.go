package onnx

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

func numbered(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(prefix, i)
	}
	return list
}

// chainOf is a model of n nodes, each of which uses the result of the one before.
func chainOf(n int, of func(i int, in, out string) *onnxpb.NodeProto) *onnxpb.ModelProto {
	m := modelOf(names("v0"), names(fmt.Sprint("v", n)))
	for i := range n {
		m.Graph.Node = append(m.Graph.Node, of(i, fmt.Sprint("v", i), fmt.Sprint("v", i+1)))
	}
	return m
}

// large are models of n of something.
var large = []struct {
	name  string
	most  int // of them
	model func(n int) *onnxpb.ModelProto
}{
	{"a chain", 100_000, func(n int) *onnxpb.ModelProto {
		return chainOf(n, func(i int, in, out string) *onnxpb.NodeProto {
			return node([]string{"Relu", "Neg"}[i%2], names(in), names(out))
		})
	}},
	{"a chain with constants", 40_000, func(n int) *onnxpb.ModelProto {
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto {
			return node("Add", names(in, fmt.Sprint("w", i)), names(out))
		})
		for i := range n {
			m.Graph.Initializer = append(m.Graph.Initializer, &onnxpb.TensorProto{Name: proto.String(fmt.Sprint("w", i)), DataType: proto.Int32(1), FloatData: []float32{1}})
		}
		return m
	}},
	{"weights in external form", 40_000, func(n int) *onnxpb.ModelProto {
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto {
			return node("Add", names(in, fmt.Sprint("w", i)), names(out))
		})
		for i := range n {
			m.Graph.Initializer = append(m.Graph.Initializer, &onnxpb.TensorProto{Name: proto.String(fmt.Sprint("w", i)), Dims: []int64{100}, DataType: proto.Int32(7), Int64Data: make([]int64, 100)})
		}
		return m
	}},
	{"constants of nodes", 40_000, func(n int) *onnxpb.ModelProto {
		m := modelOf(names("x"), names("y"), node("Concat", append(names("x"), numbered("c", n)...), names("y"), "axis", 0))
		for i := range n {
			m.Graph.Node = append(m.Graph.Node, node("Constant", nil, names(fmt.Sprint("c", i)), "value_floats", []float32{1, 2}))
		}
		return m
	}},
	{"operands", 100_000, func(n int) *onnxpb.ModelProto {
		m := chainOf(n, func(_ int, _, out string) *onnxpb.NodeProto { return node("Neg", names("v0"), names(out)) })
		m.Graph.Node = append(m.Graph.Node, node("Concat", numbered("v", n), names("y"), "axis", 0))
		return m
	}},
	{"results", 40_000, func(n int) *onnxpb.ModelProto {
		return modelOf(names("x"), numbered("y", n), node("Split", names("x"), numbered("y", n)))
	}},
	{"inputs", 100_000, func(n int) *onnxpb.ModelProto {
		m := modelOf(numbered("x", n), names("y"), node("Sum", numbered("x", n), names("y")))
		for i, in := range m.Graph.Input {
			in.Type.GetTensorType().Shape.Dim[0].Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: fmt.Sprint(strings.Repeat("a long name ", 10), i)}
		}
		return m
	}},
	{"attributes", 100_000, func(n int) *onnxpb.ModelProto {
		x := node("Relu", names("x"), names("y"))
		for i := range n {
			x.Attribute = append(x.Attribute, attr(fmt.Sprint("a", i), []int64{1, 2}))
		}
		return modelOf(names("x"), names("y"), x)
	}},
	{"unsupported nodes", 40_000, func(n int) *onnxpb.ModelProto {
		return chainOf(n, func(i int, in, out string) *onnxpb.NodeProto { return node("NoSuch", names(in), names(out)) })
	}},
	{"identities", 40_000, func(n int) *onnxpb.ModelProto {
		return chainOf(n, func(i int, in, out string) *onnxpb.NodeProto { return node("Identity", names(in), names(out)) })
	}},
	{"branches with constants of one name", 20_000, func(n int) *onnxpb.ModelProto {
		branch := graphOf(nil, names("r"), node("Constant", nil, names("r"), "value_float", float32(2)))
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto {
			return node("If", names("cond"), names(out), "then_branch", branch, "else_branch", branch)
		})
		m.Graph.Input = append(m.Graph.Input, info("cond", onnxpb.TensorProto_BOOL))
		return m
	}},
	{"captures", 20_000, func(n int) *onnxpb.ModelProto {
		branch := graphOf(nil, names("r"), node("Sum", numbered("v", n), names("r")))
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto { return node("Neg", names(in), names(out)) })
		m.Graph.Node = append(m.Graph.Node, node("If", names("cond"), names("y"), "then_branch", branch, "else_branch", branch))
		m.Graph.Input = append(m.Graph.Input, info("cond", onnxpb.TensorProto_BOOL))
		return m
	}},
	{"graphs as attributes", 2_000, func(n int) *onnxpb.ModelProto {
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto { return node("Neg", names(in), names(out)) })
		x := node("If", names("v0"), names("y"))
		for i := range n {
			x.Attribute = append(x.Attribute, attr(fmt.Sprint("b", i), graphOf(nil, names("r"), node("Neg", names(fmt.Sprint("v", i)), names("r")))))
		}
		m.Graph.Node = append(m.Graph.Node, x)
		return m
	}},
	{"calls", 20_000, func(n int) *onnxpb.ModelProto {
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto {
			call := inDomain("my", node("F", names(in), names(out)))
			call.Name = proto.String("call")
			return call
		})
		m.OpsetImport = opsets("", 17, "my", 1)
		m.Functions = []*onnxpb.FunctionProto{function("my", "F", names("a"), names("b"),
			node("Constant", nil, names("k"), "value_ints", make([]int64, 1000)), node("Neg", names("a"), names("t")), node("Reshape", names("t", "k"), names("b")))}
		return m
	}},
	{"long names of calls", 2_000, func(n int) *onnxpb.ModelProto {
		long := strings.Repeat("long", 10*n)
		outer, middle := inDomain("my", node("Outer", names("x"), names("y"))), inDomain("my", node("Middle", names("a"), names("b")))
		outer.Name, middle.Name = &long, &long
		m := modelOf(names("x"), names("y"), outer)
		m.OpsetImport = opsets("", 17, "my", 1)
		inner := function("my", "Middle", names("a"), names(fmt.Sprint("v", n)))
		for i := range n {
			in := "a"
			if i > 0 {
				in = fmt.Sprint("v", i)
			}
			inner.Node = append(inner.Node, node("Neg", names(in), names(fmt.Sprint("v", i+1))))
		}
		m.Functions = []*onnxpb.FunctionProto{function("my", "Outer", names("a"), names("b"), middle), inner}
		return m
	}},
	{"long names in functions", 2_000, func(n int) *onnxpb.ModelProto {
		long := strings.Repeat("long", 10*n)
		m := chainOf(n, func(i int, in, out string) *onnxpb.NodeProto { return inDomain("my", node("F", names(in), names(out))) })
		m.OpsetImport = opsets("", 17, "my", 1)
		x := node("Neg", names("a"), names(long))
		x.Name = &long
		m.Functions = []*onnxpb.FunctionProto{function("my", "F", names("a"), names("b"), x, node("Abs", names(long), names("b")))}
		return m
	}},
	{"functions that nothing calls", 40_000, func(n int) *onnxpb.ModelProto {
		m := modelOf(names("x"), names("y"), node("Neg", names("x"), names("y")))
		for i := range n {
			m.Functions = append(m.Functions, function("my", fmt.Sprint("F", i), names("a"), names("b"), node("Neg", names("a"), names("b"))))
		}
		return m
	}},
}

// passThrough reads a model, checks it, and writes and reads it in each form.
func passThrough(b []byte) error {
	g, err := Read(bytesFile(b), nil, Options{})
	if err != nil {
		return err
	}
	if err := ir.Verify(g); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := ir.PrintConsts(&text, g, ir.NewConstWriter(io.Discard)); err != nil {
		return err
	}
	if _, err := ir.Parse(&text, map[string]*ir.File{"": bytesFile(b), ir.ConstsName: {R: zeros{}, Size: 1 << 40}}); err != nil {
		return err
	}
	return Write(io.Discard, g)
}

// userTime is what this process has worked: other processes do not change it.
func userTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano())
}

// TestGrowth: what is read, checked and written takes time and memory linear in the file. What takes the square of
// it would be minutes.
func TestGrowth(t *testing.T) {
	for _, c := range large {
		t.Run(c.name, func(t *testing.T) {
			var took [2]time.Duration
			var bytes, allocated [2]uint64
			for i, n := range []int{c.most / 4, c.most} {
				b := marshal(t, c.model(n))
				bytes[i] = uint64(len(b))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := userTime(t)
				err := passThrough(b)
				took[i] = userTime(t) - start
				runtime.ReadMemStats(&after)
				allocated[i] = after.TotalAlloc - before.TotalAlloc
				if err != nil {
					require.Less(t, len(err.Error()), 20000)
				}
			}
			t.Logf("%d bytes: %v, %d MB allocated; a quarter of it: %v, %d MB", bytes[1], took[1], allocated[1]>>20, took[0], allocated[0]>>20)
			require.Less(t, allocated[1], 6*allocated[0])
			require.Less(t, took[1], 10*took[0]+time.Second)
		})
	}
}
