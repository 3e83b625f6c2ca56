package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/program/run"
)

const reshapeAtRun = `
  symbol N 0..9
  input %x f32[N, 6]
  input %to i64[3]
  %r ?[*] = Reshape.14(%x, %to)
  %y ?[*] = Neg.13(%r)
  output %y
}`

const sliceAtRun = `
  const @axes i64[1] = {-1}
  input %x f32[2, 5]
  input %from i64[1]
  input %to i64[1]
  %y ?[*] = Slice.13(%x, %from, %to, @axes)
  output %y
}`

const upToAtRun = `
  const @zero i64[] = {0}
  const @one i64[] = {1}
  input %n i64[]
  %y ?[*] = Range.11(@zero, %n, @one)
  output %y
}`

// expandAtRun broadcasts two values to one shape, which makes theirs equal.
const expandAtRun = `
  input %x f32[3]
  input %z f32[1]
  input %to i64[2]
  %a ?[*] = Expand.13(%x, %to)
  %b ?[*] = Expand.13(%z, %to)
  %y ?[*] = Add.14(%a, %b)
  output %y
}`

const topAtRun = `
  input %x f32[2, 4]
  input %k i64[1]
  %v ?[*], %i ?[*] = TopK.11(%x, %k)
  output %v
  output %i
}`

const loopAtRun = `
  const @yes bool[] = {1}
  input %n i64[]
  input %x f32[2]
  %last f32[2], %all ?[*] = Loop.16(%n, @yes, %x) {body = region 0} "count" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %go ?[*]
      input %v ?[*]
      %w ?[*] = Add.14(%v, %v)
      output %go
      output %w
      output %v
    }
  }
  output %last
  output %all
}`

// TestBind: shapes, counts and places that are given at run time, within bounds that follow from the
// operator or from what the user says; values beyond them are refused.
func TestBind(t *testing.T) {
	n := func(x int64) map[string]int64 { return map[string]int64{"N": x} }
	at := func(shape []int64, xs ...float32) *ir.Tensor { return floats(shape, xs...) }
	grid := at([]int64{2, 5}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	two := at([]int64{2, 4}, 1, 3, 2, 0, 8, 8, 9, 7)
	rows := func(n int64) *ir.Tensor { return ramp(n, 6) }
	negative := func(shape ...int64) *ir.Tensor {
		x := ramp(shape...)
		for i := 3; i < len(x.Data); i += 4 {
			x.Data[i] ^= 0x80
		}
		return x
	}
	to := map[string]sym.Range{"to_symbols_0": {Hi: 4}, "to_symbols_1": {Hi: 8}}
	upTo := func(lo, hi int64) map[string]sym.Range {
		return map[string]sym.Range{"n_symbols_0": {Lo: lo, Hi: hi}}
	}
	times := map[string]sym.Range{"last_iterations": {Hi: 3}}
	runBounded(t, []boundedCase{
		{opaqueCase{name: "reshape", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(3, 2, 2)}, want: []*ir.Tensor{negative(3, 2, 2)}}, nil},
		{opaqueCase{name: "reshape, one follows", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(4, -1, 1)}, want: []*ir.Tensor{negative(4, 3, 1)}}, nil},
		{opaqueCase{name: "reshape, one is copied", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(0, 2, -1)}, want: []*ir.Tensor{negative(2, 2, 3)}}, nil},
		{opaqueCase{name: "reshape of nothing", graph: reshapeAtRun, dims: n(0), inputs: []*ir.Tensor{rows(0), vector(0, 2, 3)}, want: []*ir.Tensor{at([]int64{0, 2, 3})}}, nil},
		{opaqueCase{name: "reshape, too many", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(3, 2, 3)}}, nil},
		{opaqueCase{name: "reshape, two follow", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(-1, 2, -1)}}, nil},
		{opaqueCase{name: "reshape, less than nothing", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(-2, 6, -1)}}, nil},
		{opaqueCase{name: "reshape, enormous", graph: reshapeAtRun, dims: n(2), inputs: []*ir.Tensor{rows(2), vector(1<<62, 1<<62, 0)}}, nil},
		{opaqueCase{name: "slice", graph: sliceAtRun, inputs: []*ir.Tensor{grid, vector(1), vector(3)}, want: []*ir.Tensor{at([]int64{2, 2}, 1, 2, 6, 7)}}, nil},
		{opaqueCase{name: "slice from the end", graph: sliceAtRun, inputs: []*ir.Tensor{grid, vector(-2), vector(1 << 62)}, want: []*ir.Tensor{at([]int64{2, 2}, 3, 4, 8, 9)}}, nil},
		{opaqueCase{name: "slice of nothing", graph: sliceAtRun, inputs: []*ir.Tensor{grid, vector(3), vector(-4)}, want: []*ir.Tensor{at([]int64{2, 0})}}, nil},
		{opaqueCase{name: "expand", graph: expandAtRun, inputs: []*ir.Tensor{line(1, 2, 3), line(10), vector(2, 3)}, want: []*ir.Tensor{at([]int64{2, 3}, 11, 12, 13, 11, 12, 13)}}, to},
		{opaqueCase{name: "expand, not by 2", graph: expandAtRun, inputs: []*ir.Tensor{line(1, 2, 3), line(10), vector(1, 2)}}, to},
		{opaqueCase{name: "expand beyond the bound", graph: expandAtRun, inputs: []*ir.Tensor{line(1, 2, 3), line(10), vector(5, 3)}, bound: true}, to},
		{opaqueCase{name: "some of the greatest", graph: topAtRun, inputs: []*ir.Tensor{two, vector(2)}, want: []*ir.Tensor{at([]int64{2, 2}, 3, 2, 9, 8), ints([]int64{2, 2}, 1, 2, 2, 0)}}, nil},
		{opaqueCase{name: "none of the greatest", graph: topAtRun, inputs: []*ir.Tensor{two, vector(0)}, want: []*ir.Tensor{at([]int64{2, 0}), ints([]int64{2, 0})}}, nil},
		{opaqueCase{name: "more than all", graph: topAtRun, inputs: []*ir.Tensor{two, vector(5)}}, nil},
		{opaqueCase{name: "less than none", graph: topAtRun, inputs: []*ir.Tensor{two, vector(-1)}}, nil},
		{opaqueCase{name: "iterations", graph: loopAtRun, inputs: []*ir.Tensor{ints(nil, 3), line(1, 2)}, want: []*ir.Tensor{line(8, 16), at([]int64{3, 2}, 1, 2, 2, 4, 4, 8)}}, times},
		{opaqueCase{name: "more iterations than the bound", graph: loopAtRun, inputs: []*ir.Tensor{ints(nil, 4), line(1, 2)}, bound: true}, times},
		{opaqueCase{name: "no iterations", graph: loopAtRun, inputs: []*ir.Tensor{ints(nil, -2), line(1, 2)}, want: []*ir.Tensor{line(1, 2), at([]int64{0, 2})}}, times},
		{opaqueCase{name: "less than the user's bound", graph: upToAtRun, inputs: []*ir.Tensor{ints(nil, -1)}, bound: true}, upTo(0, 5)},
		{opaqueCase{name: "nothing within the user's bound", graph: upToAtRun, inputs: []*ir.Tensor{ints(nil, 0)}, want: []*ir.Tensor{vector()}}, upTo(0, 5)},
	})
}

// boundedCase is a graph with bounds that the user gives to what its nodes compute.
type boundedCase struct {
	opaqueCase
	bounds map[string]sym.Range
}

// runBounded compares what all that run a graph give.
func runBounded(t *testing.T, list []boundedCase) {
	states := make([]*State, len(list))
	cases := make([]cpptest.Case, len(list))
	for i, c := range list {
		states[i] = parse(t, "graph \"g\" opset 17 {"+c.graph)
		states[i].Graph.Bounded = c.bounds
		for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
			_, err := Run(passes, states[i], Options{})
			require.NoError(t, err, c.name)
		}
		cases[i] = cpptest.Case{Name: c.name, Program: states[i].Program, Dims: c.dims, Inputs: c.inputs}
	}
	results := cpptest.Run(t, "../..", cases, "-O1")
	for i, c := range list {
		t.Run(c.name, func(t *testing.T) { c.compare(t, states[i], results[i]) })
	}
}

// flattenAtRun has a dimension that is made of two numbers that the run computes.
const flattenAtRun = `
  const @minus i64[1] = {-1}
  input %x f32[1, 1]
  input %to i64[2]
  %a ?[*] = Expand.13(%x, %to)
  %y ?[*] = Reshape.14(%a, @minus)
  output %y
}`

// expandsAtRun has two outputs, and a value in between, of numbers that the run computes.
const expandsAtRun = `
  input %x f32[1]
  input %to i64[1]
  input %then i64[1]
  %a ?[*] = Expand.13(%x, %to)
  %b ?[*] = Expand.13(%x, %then)
  %c ?[*] = Softmax.13(%b)
  output %a
  output %c
}`

// branchAtRun has a dimension that is one of two numbers, of which nothing bounds one.
const branchAtRun = `
  input %c bool[]
  input %x f32[3]
  input %to i64[1]
  %y ?[*] = If.16(%c; %x, %to) {else_branch = region 1, then_branch = region 0} "some" regions {
    graph "then" opset 17 {
      input %x ?[*]
      input %to ?[*]
      %a ?[*] = ConstantOfShape.9(%to)
      output %a
    }
    graph "else" opset 17 {
      input %x ?[*]
      input %to ?[*]
      %b ?[*] = Neg.13(%x)
      output %b
    }
  }
  output %y
}`

// TestUnbounded: what nobody bounds is refused, and the message says how to bound it. A bound of the
// names makes a program of it.
func TestUnbounded(t *testing.T) {
	for _, c := range []struct {
		name, graph, value, message string
		names                       []string
	}{
		{"expand", expandAtRun, `output "y" of shape [to_symbols_0 `,
			`nothing bounds to_symbols_0, which Expand (result "a") computes; bound it, for example with dims = {"to_symbols_0": "0..1000"}`, []string{"to_symbols_0"}},
		{"two", flattenAtRun, `output "y" of shape [to_symbols_0*to_symbols_1]`,
			`nothing bounds to_symbols_0, which Expand (result "a") computes, nor to_symbols_1, which Expand (result "a") computes; ` +
				`bound them, for example with dims = {"to_symbols_0": "0..1000", "to_symbols_1": "0..1000"}`, []string{"to_symbols_0", "to_symbols_1"}},
		{"two outputs", expandsAtRun, `output "a" of shape [to_symbols_0] (and 2 more): `,
			`nothing bounds to_symbols_0, which Expand (result "a") computes, nor then_symbols_0, which Expand (result "b") computes; ` +
				`bound them, for example with dims = {"to_symbols_0": "0..1000", "then_symbols_0": "0..1000"}`, []string{"to_symbols_0", "then_symbols_0"}},
		{"branch", branchAtRun, `output "y" of shape [y_dim0]`,
			`nothing bounds to_symbols_0, which ConstantOfShape (result "a") computes; bound it, for example with dims = {"to_symbols_0": "0..1000"}`, []string{"to_symbols_0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bounds := map[string]sym.Range{}
			run := func() error {
				s := parse(t, "graph \"g\" opset 17 {"+c.graph)
				s.Graph.Bounded = bounds
				_, err := Run(slices.Concat(GraphPasses, CompilePasses), s, Options{})
				return err
			}
			err := run()
			var bound *plan.BoundError
			require.True(t, errors.As(err, &bound), "%v", err)
			assert.ErrorContains(t, err, c.value)
			assert.ErrorContains(t, err, c.message)
			assert.Equal(t, c.names, bound.Names)
			for errors.As(err, &bound) { // a message is about one size
				require.NotContains(t, bounds, bound.Names[0])
				for _, name := range bound.Names {
					bounds[name] = sym.Range{Hi: 9}
				}
				err = run()
			}
			require.NoError(t, err)
		})
	}
}

// TestReshapeMemory: a reshape takes as much memory as its operand, though each of its dimensions may be
// as great as that, and none where it may lie in it.
func TestReshapeMemory(t *testing.T) {
	for disable, bytes := range map[string]string{"fuse,layouts": "max(256, 64*N)", "fuse": "256"} {
		s := compile(t, "graph \"g\" opset 17 {"+reshapeAtRun, strings.Split(disable, ",")...)
		assert.Equal(t, bytes, s.Program.ArenaBytes.String(), disable)
	}
}

// TestCheckInBranch: what only a branch checks bounds no value that lives outside of it.
func TestCheckInBranch(t *testing.T) {
	s := compile(t, `graph "g" opset 17 {
  const @to i64[2] = {2, 3}
  const @zero i64[2, 3] = {0, 0, 0, 0, 0, 0}
  const @one i64[] = {1}
  input %c bool[]
  input %x f32[9]
  %z ?[*] = NonZero.13(%x)
  %y ?[*] = If.16(%c; %z) {else_branch = region 1, then_branch = region 0} "rows" regions {
    graph "then" opset 17 {
      input %z ?[*]
      %r ?[*] = Reshape.14(%z, @to)
      output %r
    }
    graph "else" opset 17 {
      input %z ?[*]
      %r ?[*] = Neg.13(@zero)
      output %r
    }
  }
  %w ?[*] = Add.14(%z, @one)
  output %y
  output %w
}`)
	got, err := run.Program(s.Program, []*ir.Tensor{truth(false), line(1, 2, 3, 4, 5, 6, 7, 8, 9)})
	require.NoError(t, err, s.Program)
	assert.Equal(t, ints([]int64{1, 9}, 1, 2, 3, 4, 5, 6, 7, 8, 9), got[1])
	_, err = run.Program(s.Program, []*ir.Tensor{truth(true), line(1, 2, 3, 4, 5, 6, 7, 8, 9)})
	assert.ErrorContains(t, err, "a reshape keeps the number of elements: z_count == 6")
}

// TestConcatOfComputed: what is concatenated is not written where it belongs before the run knows where that is.
func TestConcatOfComputed(t *testing.T) {
	for name, concat := range map[string]string{
		"one":    "%y ?[*] = Concat.13(%a, %b) {axis = 0}\n  %f ?[*] = Softmax.13(%e)",
		"nested": "%d ?[*] = Concat.13(%b, %e) {axis = 0}\n  %y ?[*] = Concat.13(%a, %d) {axis = 0}\n  %f ?[*] = Softmax.13(%d)",
	} {
		t.Run(name, func(t *testing.T) {
			s := compile(t, `graph "g" opset 17 {
  input %x f32[4, 16]
  input %w f32[3, 4, 16]
  input %c bool[4]
  %b ?[*] = ReduceMax.13(%w) {axes = [0], keepdims = 0}
  %a ?[*] = Compress.11(%x, %c) {axis = 0}
  %e ?[*] = ReduceMin.13(%w) {axes = [0], keepdims = 0}
  `+concat+`
  %z ?[*] = Softmax.13(%y) {axis = -1}
  output %y
  output %z
  output %f
}`)
			in := []*ir.Tensor{ramp(4, 16), ramp(3, 4, 16), bools(1, 0, 0, 1)}
			want, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": in[0], "w": in[1], "c": in[2]})
			require.NoError(t, err)
			got, err := run.Program(s.Program, in)
			require.NoError(t, err)
			assert.Equal(t, want[0], got[0], s.Program)
			assert.InDeltaSlice(t, f32s(want[1]), f32s(got[1]), 1e-6)
		})
	}
}
