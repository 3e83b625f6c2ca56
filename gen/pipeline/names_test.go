package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
)

// TestSymbolNames: a symbol may have any name, a keyword's as well; a name that kernels use is
// made another one.
func TestSymbolNames(t *testing.T) {
	var cases []cpptest.Case
	names := []string{"int", "task", "q", "a0", "p1", "float", "a__b", "N", "dim0", "bad_index", "last_task"}
	for _, name := range names {
		s := sym.Identifier(name)
		st := compile(t, fmt.Sprintf("graph \"g\" opset 17 {\n symbol %s 1..9\n input %%x f32[%s, 3]\n %%r ?[*] = ReduceMax.13(%%x) {axes = [1]}\n %%y ?[*] = Sub.14(%%x, %%r)\n output %%y\n}\n", s, s))
		cases = append(cases, cpptest.Case{Name: name, Program: st.Program, Dims: map[string]int64{s: 2},
			Inputs: []*ir.Tensor{floats([]int64{2, 3}, 1, 2, 3, 6, 5, 4)}})
	}
	want := floats([]int64{2, 3}, -2, -1, 0, 0, -1, -2)
	for i, r := range cpptest.Run(t, "../..", cases, "-O1") {
		assert.Equal(t, want.Data, r.Outputs[0].Data, names[i])
	}
}

// TestKernelNames: package sym reserves every name that kernels give to something of their own.
func TestKernelNames(t *testing.T) {
	for _, disable := range [][]string{nil, {"anchors"}, {"fuse"}, {"layouts"}} {
		for _, s := range compile(t, network, disable...).Program.Calls() {
			loop.Names(s.Kernel, func(name string) {
				assert.False(t, sym.IsSymbol(name), "a symbol may be called %q, like a variable of %s", name, s.Block.Label())
			})
		}
	}
	s := compile(t, network)
	step := s.Program.Steps[0]
	s.Blocks.Symbols = []ir.Symbol{{Name: step.Kernel.Buffers[0].Name}}
	err := checkNames(s.Blocks, step.Kernel)
	require.Error(t, err)
	assert.True(t, strings.HasSuffix(err.Error(), "rename the dimension"))
}
