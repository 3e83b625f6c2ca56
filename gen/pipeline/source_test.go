package pipeline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// sharedAtRun needs one number in two ways, and another one of the same vector only once the shape of what
// the first gives is known. The last one decides no shape: it may be any.
const sharedAtRun = `
  const @zero i64[] = {0}
  const @one i64[] = {1}
  const @axis i64[1] = {1}
  const @three i64[1] = {3}
  const @ones i64[1] = {1}
  input %x f32[1, 3]
  input %sizes i64[3]
  %a ?[*], %b ?[*], %c ?[*] = Split.18(%sizes) {axis = 0, num_outputs = 3}
  %to ?[*] = Concat.13(%a, @three) {axis = 0}
  %e ?[*] = Expand.13(%x, %to)
  %as ?[*] = Reshape.14(%a, @ones)
  %r ?[*] = Range.11(@zero, %as, @one)
  %f ?[*] = Cast.13(%r) {to = 1}
  %u ?[*] = Unsqueeze.13(%f, @axis)
  %s ?[*] = Add.14(%e, %u)
  %repeats ?[*] = Concat.13(@ones, %b) {axis = 0}
  %y ?[*] = Tile.13(%s, %repeats)
  output %y
  output %c
}`

// rankAtRun has ranks that a number decides: whether a dimension is 1, and which branch an If takes.
const rankAtRun = `
  const @one i64[1] = {1}
  input %x f32[1, 3]
  input %n i64[1]
  %to ?[*] = Concat.13(%n, @one) {axis = 0}
  %e ?[*] = Expand.13(%x, %to)
  %single ?[*] = Equal.13(%n, @one)
  %z ?[*] = If.16(%single; %x) {else_branch = region 1, then_branch = region 0} "single" regions {
    graph "then" opset 17 {
      input %x ?[*]
      %a ?[*] = Squeeze.13(%x)
      output %a
    }
    graph "else" opset 17 {
      input %x ?[*]
      %b ?[*] = Neg.13(%x)
      output %b
    }
  }
  %y ?[*] = Squeeze.13(%e)
  output %y
  output %z
}`

// decidedAtRun has a number that nothing is left of where it is known.
const decidedAtRun = `
  input %x f32[1, 3]
  input %n i64[2]
  %e ?[*] = Expand.13(%x, %n)
  %y ?[*] = Squeeze.13(%e)
  output %y
}`

// depthAtRun has a number of classes that is a float.
const depthAtRun = `
  const @values f32[2] = {0, 1}
  input %i i64[2]
  input %depth f32[]
  %y ?[*] = OneHot.11(%i, %depth, @values)
  output %y
}`

// TestBindShared: a number has one symbol wherever operators move it to, and elements beside it stay
// what they are.
func TestBindShared(t *testing.T) {
	bounds := map[string]sym.Range{"sizes_symbols_0": {Hi: 4}, "sizes_symbols_1": {Hi: 3}}
	at := func(shape []int64, xs ...float32) *ir.Tensor { return floats(shape, xs...) }
	x := at([]int64{1, 3}, 0, 10, 20)
	runBounded(t, []boundedCase{
		{opaqueCase{name: "two rows, once", graph: sharedAtRun, inputs: []*ir.Tensor{x, vector(2, 1, -1<<40)},
			want: []*ir.Tensor{at([]int64{2, 3}, 0, 10, 20, 1, 11, 21), vector(-1 << 40)}}, bounds},
		{opaqueCase{name: "a row, twice", graph: sharedAtRun, inputs: []*ir.Tensor{x, vector(1, 2, 7)},
			want: []*ir.Tensor{at([]int64{1, 6}, 0, 10, 20, 0, 10, 20), vector(7)}}, bounds},
		{opaqueCase{name: "beyond the bound of one", graph: sharedAtRun, inputs: []*ir.Tensor{x, vector(1, 4, 7)}, bound: true}, bounds},
		{opaqueCase{name: "less than nothing", graph: sharedAtRun, inputs: []*ir.Tensor{x, vector(1, -1, 7)}}, bounds},
	})
	s := parse(t, "graph \"g\" opset 17 {"+sharedAtRun)
	_, err := Run(GraphPasses, s, Options{})
	require.NoError(t, err)
	names := []string{}
	for _, y := range s.Graph.Symbols {
		names = append(names, y.Name)
	}
	assert.Equal(t, []string{"sizes_symbols_0", "sizes_symbols_1"}, names)
	assert.Equal(t, "[sizes_symbols_0 3*sizes_symbols_1]", fmt.Sprint(s.Graph.Outputs[0].Shape))
}

// TestBindRanks: the user's bounds decide ranks, and a run that does not keep them is refused, even where
// nothing is left of the number.
func TestBindRanks(t *testing.T) {
	x := floats([]int64{1, 3}, 1, 2, 3)
	least, one := map[string]sym.Range{"n_symbols_0": {Lo: 2, Hi: 4}}, map[string]sym.Range{"n_symbols_0": {Lo: 1, Hi: 1}}
	both := map[string]sym.Range{"n_symbols_0": {Lo: 1, Hi: 1}, "n_symbols_1": {Lo: 1, Hi: 1}}
	minus := floats([]int64{1, 3}, -1, -2, -3)
	runBounded(t, []boundedCase{
		{opaqueCase{name: "at least two", graph: rankAtRun, inputs: []*ir.Tensor{x, vector(2)}, want: []*ir.Tensor{floats([]int64{2, 3}, 1, 2, 3, 1, 2, 3), minus}}, least},
		{opaqueCase{name: "but one", graph: rankAtRun, inputs: []*ir.Tensor{x, vector(1)}, bound: true}, least},
		{opaqueCase{name: "one", graph: rankAtRun, inputs: []*ir.Tensor{x, vector(1)}, want: []*ir.Tensor{line(1, 2, 3), line(1, 2, 3)}}, one},
		{opaqueCase{name: "but two", graph: rankAtRun, inputs: []*ir.Tensor{x, vector(2)}, bound: true}, one},
		{opaqueCase{name: "nothing left", graph: decidedAtRun, inputs: []*ir.Tensor{x, vector(1, 1)}, want: []*ir.Tensor{line(1, 2, 3)}}, both},
		{opaqueCase{name: "but two, and nothing left", graph: decidedAtRun, inputs: []*ir.Tensor{x, vector(2, 1)}, bound: true}, both},
	})
	_, err := Run(GraphPasses, parse(t, "graph \"g\" opset 17 {"+rankAtRun), Options{})
	var unknown *shape.UnknownError
	require.True(t, errors.As(err, &unknown), "%v", err)
	assert.ErrorContains(t, err, "whether dimension 0 (n_symbols_0) is 1, so that a squeeze without axes drops it")
	assert.ErrorContains(t, err, "then_branch returns shape [3], else_branch [1 3]; want the same rank, or bounds of n_symbols_0 that decide the condition (dims = {...})")
	assert.ErrorContains(t, err, "bind its symbolic dimensions, including computed ones (dims = {...})")
}

// TestBindDepth: a float is a number of classes.
func TestBindDepth(t *testing.T) {
	list := []boundedCase{
		{opaqueCase{name: "three", inputs: []*ir.Tensor{vector(2, 0), floats(nil, 3)}, want: []*ir.Tensor{floats([]int64{2, 3}, 0, 0, 1, 1, 0, 0)}}, nil},
		{opaqueCase{name: "beyond the bound", inputs: []*ir.Tensor{vector(2, 0), floats(nil, 9)}, bound: true}, nil},
		{opaqueCase{name: "less than none", inputs: []*ir.Tensor{vector(2, 0), floats(nil, -1)}}, nil},
	}
	for i := range list {
		list[i].graph, list[i].bounds = depthAtRun, map[string]sym.Range{"y_Cast_symbols_0": {Hi: 8}}
	}
	runBounded(t, list)
}
