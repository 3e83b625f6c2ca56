package onnx

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/onnx/onnxpb"
)

// doubling are functions of which each calls the next twice.
func doubling(levels int) []*onnxpb.FunctionProto {
	fs := []*onnxpb.FunctionProto{function("my", "F0", names("a"), names("b"), node("Relu", names("a"), names("b")))}
	for i := range levels {
		next := fmt.Sprint("F", i)
		fs = append(fs, function("my", fmt.Sprint("F", i+1), names("a"), names("c"),
			inDomain("my", node(next, names("a"), names("b"))), inDomain("my", node(next, names("b"), names("c")))))
	}
	return fs
}

// TestExpansion: a file of a thousand bytes does not become 65,536 nodes, nor wide nodes many operands.
func TestExpansion(t *testing.T) {
	wide := make([]string, 2000)
	for i := range wide {
		wide[i] = "a"
	}
	branch := graphOf(nil, names("r"), inDomain("my", node("F16", names("x"), names("r"))))
	for _, c := range []struct {
		name  string
		nodes []*onnxpb.NodeProto
		fns   []*onnxpb.FunctionProto
		want  string
	}{
		{"few levels", []*onnxpb.NodeProto{inDomain("my", node("F10", names("x"), names("y")))}, doubling(10), ""},
		{"many levels", []*onnxpb.NodeProto{inDomain("my", node("F16", names("x"), names("y")))}, doubling(16),
			`functions expand to more than 265408 nodes, operands, results and attributes, and function "F16" of domain "my" alone to 589818; the maximum is 262144 plus 32 times the 102 in the file`},
		{"no end", []*onnxpb.NodeProto{inDomain("my", node("F63", names("x"), names("y")))}, doubling(63), `function "F63" of domain "my" alone to 2^63 and more`},
		{"operands", func() (list []*onnxpb.NodeProto) {
			for i := range 300 {
				list = append(list, inDomain("my", node("Wide", names("x"), names(fmt.Sprint("y", i)))))
			}
			return append(list, node("Relu", names("x"), names("y")))
		}(), []*onnxpb.FunctionProto{function("my", "Wide", names("a"), names("b"), node("Sum", wide, names("b")))}, `function "Wide" of domain "my" alone to 2002`},
		{"in a branch", []*onnxpb.NodeProto{node("If", names("x"), names("y"), "then_branch", branch, "else_branch", branch)}, doubling(16),
			`function "F16" of domain "my" alone to 589818`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := modelOf(names("x"), names("y"), c.nodes...)
			m.OpsetImport = opsets("", 17, "my", 1)
			m.Functions = c.fns
			start := time.Now()
			_, err := read(t, m, Options{})
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			require.Less(t, time.Since(start), 10*time.Second)
		})
	}
}
