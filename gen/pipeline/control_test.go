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
	"rules_dnn/gen/program/run"
)

func truth(b bool) *ir.Tensor {
	t := ir.NewTensor(ir.Bool)
	if b {
		t.Data[0] = 1
	}
	return t
}

// ramp is 1, 2, 3, ... each divided by 8: sums of it are exact.
func ramp(shape ...int64) *ir.Tensor {
	t := ir.NewTensor(ir.F32, shape...)
	xs := make([]float32, t.Len())
	for i := range xs {
		xs[i] = float32(i+1) / 8
	}
	return floats(shape, xs...)
}

const nestedIf = `
  input %a bool[]
  input %b bool[]
  input %x f32[2]
  %z ?[*], %w ?[*] = If.16(%a; %b, %x) {else_branch = region 1, then_branch = region 0} "outer" regions {
    graph "then" opset 17 {
      input %b ?[*]
      input %x ?[*]
      %y ?[*] = Add.14(%x, %x)
      %r ?[*] = If.16(%b; %x, %y) {else_branch = region 1, then_branch = region 0} "inner" regions {
        graph "then" opset 17 {
          input %x ?[*]
          input %y ?[*]
          %r ?[*] = Mul.14(%x, %y)
          output %r
        }
        graph "else" opset 17 {
          input %x ?[*]
          input %y ?[*]
          output %y
        }
      }
      output %r
      output %x
    }
    graph "else" opset 17 {
      input %b ?[*]
      input %x ?[*]
      %n ?[*] = Neg.13(%x)
      output %n
      output %n
    }
  }
  output %z
  output %w
}`

// fibonacci hands its states on crosswise and ends when one is large enough.
const fibonacci = `
  const @most i64[] = {50}
  const @end f32[] = {60}
  input %go bool[]
  input %a f32[1]
  input %b f32[1]
  %x ?[*], %y ?[*] = Loop.16(@most, %go, %a, %b) {body = region 0} "sums" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %p ?[*]
      input %q ?[*]
      %s ?[*] = Add.14(%p, %q)
      %m ?[*] = ReduceMax.13(%s) {keepdims = 0}
      %on ?[*] = Less.13(%m, @end)
      output %on
      output %q
      output %s
    }
  }
  output %x
  output %y
}`

// counted runs as often as the model's input says, and stops early by its condition.
const counted = `
  input %n i64[]
  input %x f32[2, 2]
  const @on bool[] = {1}
  const @four i64[] = {4}
  %y ?[*] = Loop.16(%n, @on, %x; %x) {body = region 0} "count" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %s ?[*]
      input %x ?[*]
      %f ?[*] = Cast.13(%i) {to = 1}
      %g ?[*] = Mul.14(%x, %f)
      %t ?[*] = Add.14(%s, %g)
      %u ?[*] = MatMul.13(%t, %x)
      %go ?[*] = Less.13(%i, @four)
      output %go
      output %u
    }
  }
  output %y
}`

// scanned stacks a state, a copy of another one, a constant and what came in, along several axes
// and in both directions; a convolution keeps layouts busy.
const scanned = `
  const @one f32[2, 3] = {1, 2, 3, 4, 5, 6}
  symbol T 0..9
  symbol C 1..9
  input %v f32[2, 3]
  input %x f32[T, 2, 3]
  input %z f32[2, T, 3]
  %last ?[*], %keep ?[*], %s1 ?[*], %s2 ?[*], %s3 ?[*], %s4 ?[*] = Scan.16(%v, %v, %x, %z) {body = region 0, num_scan_inputs = 2, scan_input_axes = [0, -2], scan_input_directions = [1, 0], scan_output_axes = [0, 1, -1, 0], scan_output_directions = [0, 1, 0, 1]} "scan" regions {
    graph "body" opset 17 {
      input %s ?[*]
      input %k ?[*]
      input %x ?[*]
      input %z ?[*]
      %a ?[*] = Add.14(%s, %x)
      %b ?[*] = Sub.14(%a, %z)
      output %b
      output %k
      output %b
      output %a
      output @one
      output %x
    }
  }
  output %last
  output %keep
  output %s1
  output %s2
  output %s3
  output %s4
}`

const batched = `
  symbol B 1..9
  input %v f32[B, 2]
  input %x f32[B, 3, 2]
  %last ?[*], %all ?[*] = Scan.8(_, %v, %x) {body = region 0, num_scan_inputs = 1, directions = [1]} "batched" regions {
    graph "body" opset 17 {
      input %s ?[*]
      input %x ?[*]
      %a ?[*] = Add.14(%s, %x)
      %b ?[*] = Mul.14(%a, %x)
      output %a
      output %b
    }
  }
  output %last
  output %all
}`

// filter is weights for deep, in the text form.
func filter() string {
	xs := make([]string, 16*16)
	for i := range xs {
		xs[i] = fmt.Sprint(float32(i%7-3) / 16)
	}
	return strings.Join(xs, ", ")
}

// deep is a branch in a loop in a loop: convolutions of one image for each step, whose results one
// loop stacks for the other.
var deep = `
  const @w f32[16, 16, 1, 1] = {` + filter() + `}
  const @two i64[] = {2}
  const @on bool[] = {1}
  input %flip bool[]
  input %x f32[1, 16, 4, 4]
  %y ?[*], %all ?[*] = Loop.16(@two, _, %x; %flip) {body = region 0} "outer" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %x ?[*]
      input %flip ?[*]
      %r ?[*] = Relu.14(%x)
      %u ?[*], %part ?[*] = Loop.16(@two, _, %r; %flip) {body = region 0} "inner" regions {
        graph "body" opset 17 {
          input %j ?[*]
          input %d ?[*]
          input %x ?[*]
          input %flip ?[*]
          %c ?[*] = Conv.11(%x, @w)
          %e ?[*] = If.16(%flip; %c, %x) {else_branch = region 1, then_branch = region 0} "choose" regions {
            graph "then" opset 17 {
              input %c ?[*]
              input %x ?[*]
              %r ?[*] = Add.14(%c, %x)
              output %r
            }
            graph "else" opset 17 {
              input %c ?[*]
              input %x ?[*]
              %n ?[*] = Neg.13(%c)
              %r ?[*] = Conv.11(%n, @w)
              output %r
            }
          }
          %m ?[*] = ReduceMean.13(%e) {axes = [2, 3], keepdims = 0}
          output %d
          output %e
          output %m
        }
      }
      output %c
      output %u
      output %part
    }
  }
  output %y
  output %all
}`

// unlike has branches that give other numbers of rows, which later nodes use; one of them only the run
// knows.
const unlike = `
  symbol N 1..9
  const @axis i64[1] = {0}
  const @half f32[] = {0.5}
  input %c bool[]
  input %x f32[N, 2]
  %y ?[*], %p ?[*] = If.16(%c; %x) {else_branch = region 1, then_branch = region 0} "rows" regions {
    graph "then" opset 17 {
      input %x ?[*]
      %d ?[*] = Concat.13(%x, %x) {axis = 0}
      %n ?[*] = Neg.13(%d)
      output %d
      output %n
    }
    graph "else" opset 17 {
      input %x ?[*]
      %big ?[*] = Greater.13(%x, @half)
      %row ?[*] = Cast.13(%big) {to = 1}
      %at ?[*] = NonZero.13(%row)
      %t ?[*] = Transpose.13(%at) {perm = [1, 0]}
      %f ?[*] = Cast.13(%t) {to = 1}
      output %f
      output %f
    }
  }
  %s ?[*] = Softmax.13(%y) {axis = 0} "soft"
  %z ?[*] = Add.14(%s, %p) "add"
  output %z
  output %y
}`

// gathered stacks a state for as long as its sum is small.
const gathered = `
  const @end f32[] = {20}
  const @most i64[] = {12}
  const @zero i64[] = {0}
  input %go bool[]
  input %x f32[3]
  %last ?[*], %all ?[*] = Loop.16(@most, %go, %x; %x) {body = region 0} "gather" regions {
    graph "body" opset 17 {
      input %i ?[*]
      input %c ?[*]
      input %s ?[*]
      input %x ?[*]
      %t ?[*] = Add.14(%s, %x)
      %m ?[*] = ReduceSum.13(%t) {keepdims = 0}
      %on ?[*] = Less.13(%m, @end)
      output %on
      output %t
      output %s
    }
  }
  %sum ?[*] = CumSum.14(%all, @zero)
  output %last
  output %sum
}`

// TestControlFlow runs regions in the interpreter, in the interpreter of loops and compiled to C++.
func TestControlFlow(t *testing.T) {
	two := floats([]int64{2}, 3, 5)
	one := func(x float32) *ir.Tensor { return floats([]int64{1}, x) }
	count := func(n int64) []*ir.Tensor { return []*ir.Tensor{ints(nil, n), floats([]int64{2, 2}, 1, 0.5, 0, 1)} }
	sequence := func(n int64) []*ir.Tensor { return []*ir.Tensor{ramp(2, 3), ramp(n, 2, 3), ramp(2, n, 3)} }
	var list []controlCase
	for _, c := range []controlCase{
		{"then then", nestedIf, nil, []*ir.Tensor{truth(true), truth(true), two}},
		{"then else", nestedIf, nil, []*ir.Tensor{truth(true), truth(false), two}},
		{"else", nestedIf, nil, []*ir.Tensor{truth(false), truth(true), two}},
		{"until large", fibonacci, nil, []*ir.Tensor{truth(true), one(0), one(1)}},
		{"at once", fibonacci, nil, []*ir.Tensor{truth(true), one(40), one(30)}},
		{"never", fibonacci, nil, []*ir.Tensor{truth(false), one(0), one(1)}},
		{"no time", counted, nil, count(0)},
		{"less than no time", counted, nil, count(-3)},
		{"three times", counted, nil, count(3)},
		{"as often as the condition holds", counted, nil, count(1 << 40)},
		{"scan of four", scanned, map[string]int64{"T": 4, "C": 1}, sequence(4)},
		{"scan of one", scanned, map[string]int64{"T": 1, "C": 1}, sequence(1)},
		{"scan of none", scanned, map[string]int64{"T": 0, "C": 1}, sequence(0)},
		{"batch", batched, map[string]int64{"B": 2}, []*ir.Tensor{ramp(2, 2), ramp(2, 3, 2)}},
		{"deep, flipped", deep, nil, []*ir.Tensor{truth(true), ramp(1, 16, 4, 4)}},
		{"deep", deep, nil, []*ir.Tensor{truth(false), ramp(1, 16, 4, 4)}},
		{"twice the rows", unlike, map[string]int64{"N": 3}, []*ir.Tensor{truth(true), ramp(3, 2)}},
		{"the great ones", unlike, map[string]int64{"N": 3}, []*ir.Tensor{truth(false), ramp(3, 2)}},
		{"gathered until great", gathered, nil, []*ir.Tensor{truth(true), floats([]int64{3}, 1, 0.5, 1)}},
		{"gathered to the end", gathered, nil, []*ir.Tensor{truth(true), floats([]int64{3}, 0, 0, 0)}},
		{"gathered nothing", gathered, nil, []*ir.Tensor{truth(false), ramp(3)}},
	} {
		c.graph = "graph \"g\" opset 17 {\n" + c.graph
		list = append(list, c)
	}
	for _, disable := range [][]string{nil, {"fuse", "sweep", "anchors"}} {
		states := make([]*State, len(list))
		cases := make([]cpptest.Case, len(list))
		for i, c := range list {
			states[i] = compile(t, c.graph, disable...)
			cases[i] = cpptest.Case{Name: c.name, Program: states[i].Program, Dims: c.dims, Inputs: c.inputs}
		}
		results := cpptest.Run(t, "../..", cases, "-O1")
		for i, c := range list {
			t.Run(c.name, func(t *testing.T) { c.compare(t, states[i], results[i]) })
		}
	}
}

type controlCase struct {
	name, graph string
	dims        map[string]int64
	inputs      []*ir.Tensor
}

func (c controlCase) compare(t *testing.T, s *State, compiled cpptest.Result) {
	byName := map[string]*ir.Tensor{}
	for k, v := range s.Graph.Inputs {
		byName[v.Name] = c.inputs[k]
	}
	want, err := interp.Graph(s.Graph, byName)
	require.NoError(t, err)
	looped, err := run.Program(s.Program, c.inputs)
	require.NoError(t, err)
	require.Zero(t, compiled.Status)
	for k, w := range want {
		name := s.Graph.Outputs[k].Name
		assert.Equal(t, w.Shape, looped[k].Shape, name)
		assert.InDeltaSlice(t, f32s(w), f32s(looped[k]), 1e-4, "%s in the interpreter of loops", name)
		assert.InDeltaSlice(t, f32s(w), f32s(compiled.Outputs[k]), 1e-4, "%s compiled", name)
	}
}

func f32s(t *ir.Tensor) []float32 {
	out := make([]float32, t.Len())
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
	}
	return out
}
