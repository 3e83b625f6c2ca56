package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/program/plan"
)

// growing appends the captured rows in each iteration, and uses how many there are in the body and after it.
const growing = `
  const @axes i64[1] = {0}
  symbol N 0..4
  symbol M 0..3
  input %n i64[]
  input %x f32[N, 2]
  input %more f32[M, 2]
  %y ?[*], %sums ?[*] = Loop.16(%n, _, %x; %more) {body = region 0} "grow" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %go ?[*]
      input %p ?[*]
      input %a ?[*]
      %t ?[*] = Neg.13(%p)
      %r ?[*] = Concat.13(%t, %a) {axis = 0}
      %s ?[*] = ReduceSum.13(%r, @axes) {keepdims = 0}
      output %go
      output %r
      output %s
    }
  }
  %z ?[*] = Add.14(%y, %y)
  %shape ?[*] = Shape.15(%y)
  output %z
  output %sums
  output %shape
}`

// shrinking drops the first element in each iteration, for as long as the sum is great.
const shrinking = `
  const @one i64[1] = {1}
  const @end i64[1] = {99}
  const @axes i64[1] = {0}
  const @some f32[] = {2.5}
  symbol N 1..9
  input %go bool[]
  input %x f32[N]
  %y ?[*], %last ?[*] = Loop.16(_, %go, %x, %x) {body = region 0} "shrink" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %p ?[*]
      input %q ?[*]
      %r ?[*] = Slice.13(%p, @one, @end, @axes)
      %sum ?[*] = ReduceSum.13(%r, @axes) {keepdims = 0}
      %on ?[*] = Greater.13(%sum, @some)
      output %on
      output %r
      output %p
    }
  }
  output %y
  output %last
}`

// exchanged are two values that change places, of which one grows.
const exchanged = `
  symbol A 1..3
  symbol B 1..3
  const @one f32[1] = {1}
  input %n i64[]
  input %a f32[A]
  input %b f32[B]
  %y ?[*], %z ?[*] = Loop.16(%n, _, %a, %b) {body = region 0} "exchange" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %p ?[*]
      input %q ?[*]
      %r ?[*] = Concat.13(%q, @one) {axis = 0}
      output %c
      output %r
      output %p
    }
  }
  output %y
  output %z
}`

// compressed keeps what is not 0 after a subtraction: how much, only the run knows.
const compressed = `
  const @yes bool[] = {1}
  const @n i64[] = {3}
  symbol N 0..9
  input %x f32[N]
  input %step f32[]
  %y ?[*] = Loop.16(@n, @yes, %x; %step) {body = region 0} "compress" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %go ?[*]
      input %v ?[*]
      input %step ?[*]
      %w ?[*] = Sub.14(%v, %step)
      %c ?[*] = Cast.13(%w) {to = 9}
      %p ?[*] = Compress.11(%w, %c) {axis = 0}
      output %go
      output %p
    }
  }
  output %y
}`

// nested starts a loop that grows in each iteration of one that carries what the inner one gives.
const nested = `
  const @two i64[] = {2}
  const @one f32[1] = {1}
  input %x f32[1]
  %y ?[*] = Loop.16(@two, _, %x) {body = region 0} "outer" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %p ?[*]
      %q ?[*] = Loop.16(%i, _, %p) {body = region 0} "inner" regions {
        graph "body" opset 17 {
          input %j ?[*]
          input %d ?[*]
          input %v ?[*]
          %w ?[*] = Concat.13(%v, @one) {axis = 0}
          %u ?[*] = Add.14(%w, %w)
          output %d
          output %u
        }
      }
      %r ?[*] = Concat.13(%q, %p) {axis = 0}
      output %c
      output %r
    }
  }
  output %y
}`

// unread carries a value of which only the dimension is used.
const unread = `
  const @three i64[] = {3}
  const @one f32[1] = {1}
  input %x f32[2]
  %n ?[*], %y ?[*] = Loop.16(@three, _, %x, %x) {body = region 0} "count" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %p ?[*]
      input %q ?[*]
      %r ?[*] = Concat.13(%p, @one) {axis = 0}
      %s ?[*] = Shape.15(%p)
      %f ?[*] = Cast.13(%s) {to = 1}
      %t ?[*] = Mul.14(%q, %f)
      output %c
      output %r
      output %t
    }
  }
  %s ?[*] = Shape.15(%n)
  output %s
  output %y
}`

// stacked stacks what is not 0 of each row: the first one decides how many that are.
const stacked = `
  symbol N 0..9
  input %n i64[]
  input %x f32[N, 3]
  %y ?[*] = Loop.16(%n, _; %x) {body = region 0} "stack" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %go ?[*]
      input %x ?[*]
      %row ?[*] = Gather.13(%x, %i)
      %c ?[*] = Cast.13(%row) {to = 9}
      %p ?[*] = Compress.11(%row, %c) {axis = 0}
      output %go
      output %p
    }
  }
  %z ?[*] = Neg.13(%y)
  output %z
}`

// TestGrow: what a loop carries may have other dimensions in each iteration, within what bounds them;
// what is beyond is refused.
func TestGrow(t *testing.T) {
	at := func(shape []int64, xs ...float32) *ir.Tensor { return floats(shape, xs...) }
	rows := map[string]int64{"N": 1, "M": 2}
	three := map[string]sym.Range{"y_iterations": {Hi: 3}}
	times := func(n int64) []*ir.Tensor {
		return []*ir.Tensor{ints(nil, n), at([]int64{1, 2}, 1, 2), at([]int64{2, 2}, 3, 4, 5, 6)}
	}
	two := map[string]int64{"A": 2, "B": 1}
	bound := map[string]sym.Range{"y_dim0": {Lo: 1, Hi: 4}, "z_dim0": {Hi: 4}}
	swap := func(n int64) []*ir.Tensor { return []*ir.Tensor{ints(nil, n), line(2, 3), line(4)} }
	n := func(x int64) map[string]int64 { return map[string]int64{"N": x} }
	inner := map[string]sym.Range{"q_dim0": {Hi: 9}, "y_dim0": {Hi: 5}}
	number := func(x float32) *ir.Tensor { return floats(nil, x) }
	rowsOf := func(xs ...float32) []*ir.Tensor {
		n := int64(len(xs)) / 3
		return []*ir.Tensor{ints(nil, n), at([]int64{n, 3}, xs...)}
	}
	nine := map[string]sym.Range{"y_iterations": {Hi: 9}}
	list := []struct {
		opaqueCase
		bounds map[string]sym.Range
	}{
		{opaqueCase{name: "stacked", graph: stacked, dims: n(3), inputs: rowsOf(1, 0, 2, 0, 3, 4, 5, 6, 0), want: []*ir.Tensor{at([]int64{3, 2}, -1, -2, -3, -4, -5, -6)}}, nine},
		{opaqueCase{name: "stacked nothings", graph: stacked, dims: n(2), inputs: rowsOf(0, 0, 0, 0, 0, 0), want: []*ir.Tensor{at([]int64{2, 0})}}, nine},
		{opaqueCase{name: "nothing stacked", graph: stacked, dims: n(0), inputs: rowsOf(), want: []*ir.Tensor{at([]int64{0, 0})}}, nine},
		{opaqueCase{name: "stacked, of which one is longer", graph: stacked, dims: n(2), inputs: rowsOf(1, 0, 0, 1, 2, 3)}, nine},
		{opaqueCase{name: "stacked, of which one is shorter", graph: stacked, dims: n(3), inputs: rowsOf(1, 2, 0, 1, 2, 0, 1, 0, 0)}, nine},
		{opaqueCase{name: "grows", graph: growing, dims: rows, inputs: times(2), want: []*ir.Tensor{
			at([]int64{5, 2}, 2, 4, -6, -8, -10, -12, 6, 8, 10, 12), at([]int64{2, 2}, 7, 8, 1, 2), vector(5, 2)}}, three},
		{opaqueCase{name: "grows not once", graph: growing, dims: rows, inputs: times(0), want: []*ir.Tensor{
			at([]int64{1, 2}, 2, 4), at([]int64{0, 2}), vector(1, 2)}}, three},
		{opaqueCase{name: "grows too often", graph: growing, dims: rows, inputs: times(4), bound: true}, three},
		{opaqueCase{name: "grows beyond its own bound", graph: growing, dims: rows, inputs: times(2), bound: true},
			map[string]sym.Range{"y_iterations": {Hi: 3}, "y_dim0": {Hi: 4}}},
		{opaqueCase{name: "begins beyond the bound", graph: growing, dims: map[string]int64{"N": 3, "M": 0}, bound: true,
			inputs: []*ir.Tensor{ints(nil, 0), ramp(3, 2), ramp(0, 2)}}, map[string]sym.Range{"y_iterations": {Hi: 3}, "y_dim0": {Hi: 2}}},
		{opaqueCase{name: "shrinks", graph: shrinking, dims: n(4), inputs: []*ir.Tensor{truth(true), line(4, 3, 2, 1)}, want: []*ir.Tensor{line(1), line(2, 1)}}, nil},
		{opaqueCase{name: "shrinks once", graph: shrinking, dims: n(1), inputs: []*ir.Tensor{truth(true), line(4)}, want: []*ir.Tensor{line(), line(4)}}, nil},
		{opaqueCase{name: "stays", graph: shrinking, dims: n(2), inputs: []*ir.Tensor{truth(false), line(4, 3)}, want: []*ir.Tensor{line(4, 3), line(4, 3)}}, nil},
		{opaqueCase{name: "change places", graph: exchanged, dims: two, inputs: swap(1), want: []*ir.Tensor{line(4, 1), line(2, 3)}}, bound},
		{opaqueCase{name: "change places again", graph: exchanged, dims: two, inputs: swap(4), want: []*ir.Tensor{line(2, 3, 1, 1), line(4, 1, 1)}}, bound},
		{opaqueCase{name: "change places never", graph: exchanged, dims: two, inputs: swap(-1), want: []*ir.Tensor{line(2, 3), line(4)}}, bound},
		{opaqueCase{name: "change places too often", graph: exchanged, dims: two, inputs: swap(6), bound: true}, bound},
		{opaqueCase{name: "compressed", graph: compressed, dims: n(4), inputs: []*ir.Tensor{line(3, 5, 2, 6), number(1)}, want: []*ir.Tensor{line(2, 3)}}, nil},
		{opaqueCase{name: "nothing is left", graph: compressed, dims: n(2), inputs: []*ir.Tensor{line(1, 2), number(1)}, want: []*ir.Tensor{line()}}, nil},
		{opaqueCase{name: "in a loop that grows", graph: nested, inputs: []*ir.Tensor{line(3)}, want: []*ir.Tensor{line(6, 6, 2, 3, 3)}}, inner},
		{opaqueCase{name: "only how many", graph: unread, inputs: []*ir.Tensor{line(2, 3)}, want: []*ir.Tensor{vector(5), line(48, 72)}}, nil},
	}
	for _, disable := range [][]string{nil, {"fuse", "sweep", "anchors"}} {
		states := make([]*State, len(list))
		cases := make([]cpptest.Case, len(list))
		for i, c := range list {
			states[i] = parse(t, "graph \"g\" opset 17 {"+c.graph)
			states[i].Graph.Bounded = c.bounds
			for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
				_, err := Run(passes, states[i], Options{Disable: disable})
				require.NoError(t, err, c.name)
			}
			cases[i] = cpptest.Case{Name: c.name, Program: states[i].Program, Dims: c.dims, Inputs: c.inputs}
		}
		results := cpptest.Run(t, "../..", cases, "-O1")
		for i, c := range list {
			t.Run(c.name, func(t *testing.T) { c.compare(t, states[i], results[i]) })
		}
	}
}

// TestGrowUnbounded: where nothing bounds what a loop carries the message says how to.
func TestGrowUnbounded(t *testing.T) {
	s := parse(t, "graph \"g\" opset 17 {"+strings.Replace(exchanged, "  output %y\n", "", 1))
	_, err := Run(GraphPasses, s, Options{})
	require.NoError(t, err)
	_, err = Run(CompilePasses, s, Options{})
	var unbound *plan.BoundError
	require.True(t, errors.As(err, &unbound), "%v", err)
	assert.ErrorContains(t, err, `nothing bounds z_dim0, which Loop "exchange" computes, nor y_dim0, which Loop "exchange" computes; `+
		`bound them, for example with dims = {"z_dim0": "0..1000", "y_dim0": "0..1000"}`)
}

// TestGrowMemory: where an iteration adds a number, memory is for the first value and what all iterations add.
func TestGrowMemory(t *testing.T) {
	s := compile(t, "graph \"g\" opset 17 {"+unread)
	assert.Contains(t, s.Graph.Symbols, ir.Symbol{Name: "n_dim0", Lo: 2, Hi: sym.MaxDim, Computed: true, Max: sym.Const(5)})
	s = compile(t, "graph \"g\" opset 17 {"+strings.Replace(unread, "output %s\n", "output %n\n", 1))
	assert.Contains(t, s.Program.String(), `
    step 7: carry
      reads "r" f32[n_dim0 + 1] row-major at arena + 0
      writes "n" f32[n_dim0] row-major at output 0
      then n_dim0 = n_dim0 + 1
`)
}
