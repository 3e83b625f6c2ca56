package pipeline

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
)

func floats(shape []int64, xs ...float32) *ir.Tensor {
	t := ir.NewTensor(ir.F32, shape...)
	for i, x := range xs {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(x))
	}
	return t
}

func ints(shape []int64, xs ...int64) *ir.Tensor {
	t := ir.NewTensor(ir.I64, shape...)
	for i, x := range xs {
		binary.LittleEndian.PutUint64(t.Data[8*i:], uint64(x))
	}
	return t
}

// steps are numbers that go up and down.
func steps(shape []int64) *ir.Tensor {
	t := ir.NewTensor(ir.F32, shape...)
	for i := range t.Len() {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(float32(i*7%13)))
	}
	return t
}

const badValue = 13 // rules_dnn::Status::kBadValue

// TestCompiled compiles graphs to C++ and compares what they compute with the interpreter: where it
// refuses an input's value, the program gives a status.
func TestCompiled(t *testing.T) {
	const header = "graph \"g\" opset 17 {\n"
	gather := header + `
		symbol N 0..9
		symbol M 0..9
		input %x f32[N, 2]
		input %i i64[M]
		%y ?[*] = Gather.13(%x, %i) "rows"
		output %y
		}`
	gatherND := header + `
		input %x f32[2, 3]
		input %i i64[2, 2]
		%y ?[*] = GatherND.13(%x, %i) "points"
		output %y
		}`
	padded := header + `
		const @pads i64[2] = {1, 1}
		input %x f32[3]
		input %i i64[2]
		%e ?[*] = GatherElements.13(%x, %i) {axis = 0} "pick"
		%y ?[*] = Pad.13(%e, @pads) "pad"
		output %y
		}`
	joined := header + `
		input %a f32[2]
		input %x f32[3]
		input %i i64[2]
		input %j i64[2]
		%b ?[*] = Gather.13(%x, %i) "first"
		%c ?[*] = Gather.13(%x, %j) "second"
		%y ?[*] = Concat.13(%a, %b, %c) {axis = 0} "join"
		output %y
		}`
	twice := header + `
		input %x f32[3, 3]
		input %i i64[3]
		input %b f32[2]
		%s ?[*] = ReduceMax.13(%x) {axes = [1], keepdims = 0} "max"
		%g ?[*] = Gather.13(%b, %i) "bias"
		%a ?[*] = Add.14(%s, %g) "add"
		%y ?[*] = Mul.14(%a, %a) "square"
		output %y
		}`
	table := floats([]int64{3, 2}, 1, 2, 3, 4, 5, 6)
	line := floats([]int64{3}, 1, 2, 3)
	square := floats([]int64{2, 3}, 1, 2, 3, 4, 5, 6)
	type compiled struct {
		name, graph string
		dims        map[string]int64
		inputs      []*ir.Tensor
		disable     []string
		bad         bool
	}
	list := []compiled{
		{name: "an output that is an input", graph: header + `
			symbol N 1..9
			input %x f32[N, 2]
			%y ?[*] = Neg.13(%x)
			output %x
			output %y
			}`, dims: map[string]int64{"N": 3}, inputs: []*ir.Tensor{table}},
		{name: "only inputs", graph: header + "input %x f32[3]\noutput %x\n}", inputs: []*ir.Tensor{line}},
		{name: "an output that is a constant", graph: header + `
			const @c i64[2] = {7, -7}
			const @d f64[] = {0.1}
			input %x f32[3]
			%y ?[*] = Abs.13(%x)
			output @c
			output %y
			output @d
			}`, inputs: []*ir.Tensor{line}},
		{name: "no input at all", graph: header + "const @c bool[3] = {1, 0, 1}\noutput @c\n}"},
		{name: "rows", graph: gather, dims: map[string]int64{"N": 3, "M": 4}, inputs: []*ir.Tensor{table, ints([]int64{4}, 2, -3, 0, -1)}},
		{name: "no rows", graph: gather, dims: map[string]int64{"N": 3, "M": 0}, inputs: []*ir.Tensor{table, ints([]int64{0})}},
		{name: "no rows of none", graph: gather, dims: map[string]int64{"N": 0, "M": 0}, inputs: []*ir.Tensor{floats([]int64{0, 2}), ints([]int64{0})}},
		{name: "a row behind the last", graph: gather, dims: map[string]int64{"N": 3, "M": 2}, inputs: []*ir.Tensor{table, ints([]int64{2}, 0, 3)}, bad: true},
		{name: "a row before the first", graph: gather, dims: map[string]int64{"N": 3, "M": 2}, inputs: []*ir.Tensor{table, ints([]int64{2}, -4, 1)}, bad: true},
		{name: "an enormous index", graph: gather, dims: map[string]int64{"N": 3, "M": 1}, inputs: []*ir.Tensor{table, ints([]int64{1}, math.MinInt64)}, bad: true},
		{name: "points", graph: gatherND, inputs: []*ir.Tensor{square, ints([]int64{2, 2}, 1, -1, 0, 2)}},
		{name: "a point outside", graph: gatherND, inputs: []*ir.Tensor{square, ints([]int64{2, 2}, 1, -1, 2, 0)}, bad: true},
		{name: "padded", graph: padded, inputs: []*ir.Tensor{line, ints([]int64{2}, -1, 0)}},
		{name: "padded, outside", graph: padded, inputs: []*ir.Tensor{line, ints([]int64{2}, 5, 0)}, bad: true},
		{name: "joined", graph: joined, inputs: []*ir.Tensor{floats([]int64{2}, 8, 9), line, ints([]int64{2}, 1, 0), ints([]int64{2}, -1, 1)}},
		{name: "joined, outside", graph: joined, inputs: []*ir.Tensor{floats([]int64{2}, 8, 9), line, ints([]int64{2}, 1, 0), ints([]int64{2}, 1, 3)}, bad: true},
		{name: "used twice", graph: twice, inputs: []*ir.Tensor{floats([]int64{3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9), ints([]int64{3}, 1, 0, -1), floats([]int64{2}, 10, 20)}},
		{name: "unfused, outside", graph: padded, inputs: []*ir.Tensor{line, ints([]int64{2}, 5, 0)}, disable: []string{"fuse"}, bad: true},
	}
	for i, tail := range []string{
		"%y ?[*] = Sub.14(%k, %b)\n output %y\n output %a", // a part is an output
		"%s ?[*] = Sub.14(%b, %k)\n %y ?[*] = MaxPool.12(%s) {kernel_shape = [2]}\n output %y",
	} {
		list = append(list, compiled{name: fmt.Sprintf("parts of an input %d", i), graph: header + `
			symbol L 1..9
			input %x f32[1, 32, L]
			%a ?[*], %b ?[*] = Split.13(%x) {axis = 1} "halves"
			%k ?[*] = MaxPool.12(%b) {kernel_shape = [3], pads = [1, 1]} "pool"
			%q ?[*] = MaxPool.12(%b) {kernel_shape = [5], pads = [2, 2]} "wide"
			output %q
			` + tail + "\n}", dims: map[string]int64{"L": 5}, inputs: []*ir.Tensor{steps([]int64{1, 32, 5})}},
			compiled{name: fmt.Sprintf("parts of what is computed %d", i), graph: header + `
			symbol L 1..9
			input %z f32[1, 32, L]
			%x ?[*] = MaxPool.12(%z) {kernel_shape = [3], pads = [1, 1]} "whole"
			%a ?[*], %b ?[*] = Split.13(%x) {axis = 1} "halves"
			%k ?[*] = MaxPool.12(%b) {kernel_shape = [3], pads = [1, 1]} "pool"
			%q ?[*] = MaxPool.12(%x) {kernel_shape = [5], pads = [2, 2]} "wide"
			output %q
			` + tail + "\n}", dims: map[string]int64{"L": 5}, inputs: []*ir.Tensor{steps([]int64{1, 32, 5})}})
	}
	states := make([]*State, len(list))
	cases := make([]cpptest.Case, len(list))
	for i, c := range list {
		states[i] = compile(t, c.graph, c.disable...)
		cases[i] = cpptest.Case{Name: c.name, Program: states[i].Program, Dims: c.dims, Inputs: c.inputs}
	}
	for i, c := range list {
		if strings.HasPrefix(c.name, "parts of") {
			assert.Regexp(t, ` \+ (64|192)\*L`, states[i].Program.String(), "%s: the second half of what begins at 0, or at 128*L", c.name)
		}
	}
	results := cpptest.Run(t, "../..", cases, "-O1")
	for i, c := range list {
		t.Run(c.name, func(t *testing.T) {
			g, got := states[i].Graph, results[i]
			byName := map[string]*ir.Tensor{}
			for k, v := range g.Inputs {
				byName[v.Name] = c.inputs[k]
			}
			want, refused := interp.Graph(g, byName)
			if c.bad {
				require.Error(t, refused)
				assert.Regexp(t, "index -?[0-9]+ ", refused.Error())
				assert.EqualValues(t, badValue, got.Status)
				return
			}
			require.NoError(t, refused)
			require.Zero(t, got.Status)
			for k, w := range want {
				assert.Equal(t, w.Data, got.Outputs[k].Data, g.Outputs[k].Name)
				assert.Equal(t, w.Shape, got.Outputs[k].Shape, g.Outputs[k].Name)
			}
		})
	}
}
