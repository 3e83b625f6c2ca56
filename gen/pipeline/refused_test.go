package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
)

// valueCase is a graph on values that an operator does not allow, or that C++ leaves undefined by itself.
type valueCase struct {
	name, graph string
	dims        map[string]int64
	inputs      []*ir.Tensor
	refused     bool       // by the node "node"
	unneeded    bool       // the interpreter refuses, and what is compiled computes only what outputs need
	want        *ir.Tensor // or nil: what the interpreter gives
}

// typed is a vector of integers of a type.
func typed(t ir.DType, xs ...int64) *ir.Tensor { return edit.IntTensor(t, xs, int64(len(xs))) }

// pair is a node of two vectors of a type, and what is made of its result.
func pair(op string, t ir.DType, rest string) string {
	return fmt.Sprintf("graph \"g\" opset 18 {\n symbol N 0..9\n input %%a %s[N]\n input %%b %s[N]\n %%y ?[*] = %s \"node\"\n %s\n}", t, t, op, rest)
}

const (
	divide  = "Div.14(%a, %b)"
	python  = "Mod.13(%a, %b) {fmod = 0}"
	likeInC = "Mod.13(%a, %b) {fmod = 1}"
)

// divisionCases: integers divided by 0 are refused, and the least number divided by -1 wraps.
func divisionCases() (list []valueCase) {
	for _, t := range []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64, ir.U8, ir.U16, ir.U32, ir.U64} {
		least := int64(math.MinInt64) >> (64 - 8*t.Size())
		of := func(name, op string, refused bool, a, b []int64, want ...int64) {
			c := valueCase{name: fmt.Sprintf("%s of %s", name, t), graph: pair(op, t, "output %y"), refused: refused,
				dims: map[string]int64{"N": int64(len(a))}, inputs: []*ir.Tensor{typed(t, a...), typed(t, b...)}}
			if !refused {
				c.want = typed(t, want...)
			}
			list = append(list, c)
		}
		for _, op := range []string{divide, python, likeInC} {
			of(op+" by 0", op, true, []int64{6, 7, 8}, []int64{1, 0, 2})
			of(op+" of nothing", op, false, nil, nil)
		}
		if t.Kind() == ir.KindUint {
			of("quotients", divide, false, []int64{7, 255, 0}, []int64{2, 5, 3}, 3, 51, 0)
			continue
		}
		of("quotients", divide, false, []int64{7, -7, least, least}, []int64{2, 2, -1, 1}, 3, -3, least, least)
		of("remainders", python, false, []int64{7, -7, 7, least}, []int64{3, 3, -3, -1}, 1, 2, -2, 0)
		of("remainders as in C", likeInC, false, []int64{7, -7, 7, least}, []int64{3, 3, -3, -1}, 1, -1, 1, 0)
	}
	return list
}

// placedCases divide in the midst of a block: only what is computed is refused.
func placedCases() []valueCase {
	n := map[string]int64{"N": 3}
	good := []*ir.Tensor{vector(6, 7, 8), vector(3, -2, 1)}
	bad := []*ir.Tensor{vector(6, 7, 8), vector(3, 0, 1)}
	joined := pair(divide, ir.I64, "%z ?[*] = Concat.13(%a, %y, %b) {axis = 0}\n output %z")
	padded := "graph \"g\" opset 18 {\n const @p i64[2] = {2, 1}\n symbol N 0..9\n input %a i64[N]\n input %b i64[N]\n" +
		"%y ?[*] = Div.14(%a, %b) \"node\"\n %z ?[*] = Pad.18(%y, @p)\n output %z\n}"
	summed := pair(python, ir.I64, "%z ?[*] = ReduceSum.13(%y)\n output %z")
	floated := pair(divide, ir.I64, "%f ?[*] = Cast.13(%y) {to = 1}\n %z ?[*] = Exp.13(%f)\n output %z")
	square := "graph \"g\" opset 18 {\n symbol N 0..9\n input %a i64[N]\n %y ?[*] = Div.14(%a, %a) \"node\"\n output %y\n}"
	extent := "graph \"g\" opset 18 {\n symbol N 0..9\n input %a i64[2]\n input %x f32[N]\n %s ?[*] = Shape.15(%x)\n %y ?[*] = Div.14(%a, %s) \"node\"\n output %y\n}"
	return []valueCase{
		{name: "joined", graph: joined, dims: n, inputs: good, want: vector(6, 7, 8, 2, -3, 8, 3, -2, 1)},
		{name: "joined, by 0", graph: joined, dims: n, inputs: bad, refused: true},
		{name: "padded", graph: padded, dims: n, inputs: good, want: vector(0, 0, 2, -3, 8, 0)},
		{name: "padded, by 0", graph: padded, dims: n, inputs: bad, refused: true},
		{name: "summed", graph: summed, dims: n, inputs: good, want: ints(nil, -1)},
		{name: "summed, by 0", graph: summed, dims: n, inputs: bad, refused: true},
		{name: "floats of quotients", graph: floated, dims: n, inputs: good},
		{name: "floats of quotients, by 0", graph: floated, dims: n, inputs: bad, refused: true},
		{name: "by itself", graph: square, dims: n, inputs: []*ir.Tensor{vector(6, -7, math.MinInt64)}, want: vector(1, 1, 1)},
		{name: "by itself, 0", graph: square, dims: n, inputs: []*ir.Tensor{vector(6, 0, 1)}, refused: true},
		{name: "by an extent", graph: extent, dims: n, inputs: []*ir.Tensor{vector(7, -7), line(1, 2, 3)}, want: vector(2, -2)},
		{name: "by an extent of 0", graph: extent, dims: map[string]int64{"N": 0}, inputs: []*ir.Tensor{vector(7, -7), line()}, refused: true},
	}
}

// unneededCases: a bad value in an element that no output needs is none of a compiled network's, which may not compute it;
// one in an element that an output needs is refused.
func unneededCases() (list []valueCase) {
	graph := func(node, rest string) string {
		return "graph \"g\" opset 18 {\n const @from i64[1] = {1}\n const @to i64[1] = {3}\n const @last i64[1] = {2}\n input %a i64[3]\n input %b i64[3]\n %y ?[*] = " +
			node + " \"node\"\n %z ?[*] = " + rest + "\n output %z\n}"
	}
	for _, c := range []struct {
		name, node, rest string
		want             *ir.Tensor
	}{
		{"a quotient that a Slice leaves out", divide, "Slice.13(%y, @from, @to)", vector(-3, 8)},
		{"a remainder that a Slice leaves out", python, "Slice.13(%y, @from, @to)", vector(-1, 0)},
		{"a quotient that a Gather does not take", divide, "Gather.13(%y, @last)", vector(8)},
		{"an index of a Gather that a Slice leaves out", "Gather.13(%a, %b)", "Slice.13(%y, @from, @to)", vector(8, 7)},
	} {
		a, bad, good := vector(6, 7, 8), int64(0), int64(1)
		b := []int64{-2, 1}
		if strings.Contains(c.node, "Gather") {
			bad, good, b = 9, 0, []int64{2, 1}
		}
		at := func(i int, x int64) *ir.Tensor { // x, and the rest of b around it
			all := slices.Insert(slices.Clone(b), i, x)
			return vector(all...)
		}
		list = append(list,
			valueCase{name: c.name, graph: graph(c.node, c.rest), inputs: []*ir.Tensor{a, at(0, bad)}, unneeded: true, want: c.want},
			valueCase{name: c.name + ", none of them bad", graph: graph(c.node, c.rest), inputs: []*ir.Tensor{a, at(0, good)}, want: c.want},
			valueCase{name: c.name + ", and one that it takes", graph: graph(c.node, c.rest), inputs: []*ir.Tensor{a, at(2, bad)}, refused: true})
	}
	return list
}

// recurrent is a recurrent network of two units over two steps and two sequences.
func recurrentOf(op string, gates int) string {
	return fmt.Sprintf("graph \"g\" opset 18 {\n const @w f32[1, %[2]d, 1] = {%[3]s}\n const @r f32[1, %[2]d, 2] = {%[4]s}\n input %%x f32[2, 2, 1]\n input %%l i32[2]\n"+
		"%%y ?[*] = %[1]s.14(%%x, @w, @r, _, %%l) {hidden_size = 2} \"node\"\n output %%y\n}", op, 2*gates, ones(2*gates), ones(4*gates))
}

// lengthCases: sequences are of no negative length, nor longer than their tensor.
func lengthCases() (list []valueCase) {
	x := floats([]int64{2, 2, 1}, 1, 2, 3, 4)
	gates := map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4}
	for _, op := range []string{"RNN", "GRU", "LSTM"} {
		for _, c := range []struct {
			lengths []int64
			refused bool
		}{{[]int64{2, 0}, false}, {[]int64{1, 2}, false}, {[]int64{9, 1}, true}, {[]int64{2, -1}, true}, {[]int64{math.MinInt32, 3}, true}} {
			list = append(list, valueCase{name: fmt.Sprintf("%s of lengths %v", op, c.lengths), graph: recurrentOf(op, gates[op]),
				inputs: []*ir.Tensor{x, typed(ir.I32, c.lengths...)}, refused: c.refused})
		}
	}
	return list
}

// TestValues: the interpreter, the loop interpreter and C++, in which nothing is undefined, agree about values.
func TestValues(t *testing.T) {
	var list []valueCase
	for _, cases := range [][]valueCase{divisionCases(), placedCases(), unneededCases(), lengthCases(), wrappingCases(), shiftCases(), castCases(), indexCases()} {
		list = append(list, cases...)
	}
	states := make([]*State, len(list))
	cases := make([]cpptest.Case, len(list))
	for i, c := range list {
		states[i] = compile(t, c.graph)
		cases[i] = cpptest.Case{Name: c.name, Program: states[i].Program, Dims: c.dims, Inputs: c.inputs}
	}
	results := cpptest.Run(t, "../..", cases, "-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
	for i, c := range list {
		t.Run(c.name, func(t *testing.T) { c.compare(t, states[i], &results[i]) })
	}
}

func (c *valueCase) compare(t *testing.T, s *State, compiled *cpptest.Result) {
	byName := map[string]*ir.Tensor{}
	for k, v := range s.Graph.Inputs {
		byName[v.Name] = c.inputs[k]
	}
	want, refused := interp.Graph(s.Graph, byName)
	got, err := run.Program(s.Program, c.inputs)
	if c.refused {
		assert.ErrorContains(t, refused, `"node"`)
		var value *run.ValueError
		require.ErrorAs(t, err, &value)
		assert.Contains(t, value.Block, "node")
		assert.EqualValues(t, badValue, compiled.Status)
		return
	}
	require.NoError(t, err)
	require.Zero(t, compiled.Status)
	if c.unneeded {
		assert.ErrorContains(t, refused, `"node"`)
		assert.Equal(t, c.want.Data, got[0].Data, "the loop interpreter")
		assert.Equal(t, c.want.Data, compiled.Outputs[0].Data, "C++")
		return
	}
	require.NoError(t, refused)
	if c.want != nil {
		assert.Equal(t, c.want.Data, want[0].Data, "the interpreter")
	}
	for k, w := range want {
		if w.Type.IsFloat() {
			assert.InDeltaSlice(t, f32s(w), f32s(got[k]), 1e-6)
			assert.InDeltaSlice(t, f32s(w), f32s(compiled.Outputs[k]), 1e-6)
			continue
		}
		assert.Equal(t, w.Data, got[k].Data, "the loop interpreter")
		assert.Equal(t, w.Data, compiled.Outputs[k].Data, "C++")
	}
}
