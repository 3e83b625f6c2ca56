package interp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
)

// numbers is a tensor of integers.
func numbers(xs []int64, shape ...int64) *ir.Tensor {
	t := ir.NewTensor(ir.I64, shape...)
	for i, x := range xs {
		copy(t.Data[8*i:], integer(x).Data)
	}
	return t
}

func number(x int64) *ir.Tensor { return integer(x) }

// wants checks a tensor of integers.
func wants(t *testing.T, got *ir.Tensor, xs []int64, shape ...int64) {
	t.Helper()
	require.Equal(t, shape, got.Shape)
	found, err := got.Ints()
	require.NoError(t, err)
	require.Equal(t, xs, found)
}

// TestIfInIf: a branch captures a value of the graph around the graph around it.
func TestIfInIf(t *testing.T) {
	g := irtest.Parse(t, `
  input %a bool[]
  input %b bool[]
  input %x i64[2]
  %z ?[*], _ = If.16(%a; %b, %x) {else_branch = region 1, then_branch = region 0} "outer" regions {
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
      output %x
      output %x
    }
  }
  output %z
`)
	for _, c := range []struct {
		a, b bool
		want []int64
	}{{true, true, []int64{18, 32}}, {true, false, []int64{6, 8}}, {false, true, []int64{3, 4}}} {
		got, err := Graph(g, map[string]*ir.Tensor{"a": boolean(c.a), "b": boolean(c.b), "x": numbers([]int64{3, 4}, 2)})
		require.NoError(t, err)
		wants(t, got[0], c.want, 2)
	}
	wrong := ir.NewTensor(ir.Bool, 2)
	g.Inputs[0].HasShape, g.Inputs[1].HasShape = false, false
	_, err := Graph(g, map[string]*ir.Tensor{"a": wrong, "b": wrong, "x": numbers([]int64{3, 4}, 2)})
	require.ErrorContains(t, err, `node If "outer": the condition has type bool and shape [2]; want one element of type bool`)
}

// loopGraph doubles v, stacks the iteration's number plus x, and goes on while v < x.
func loopGraph(t *testing.T, operands string) *ir.Graph {
	return irtest.Parse(t, `
  input %m i64[]
  input %c bool[]
  input %v i64[]
  input %x i64[]
  %z ?[*], %s i64[*] = Loop.16(`+operands+`, %v; %x) {body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i i64[]
      input %go bool[]
      input %p i64[]
      input %x i64[]
      %twice i64[] = Add.14(%p, %p)
      %mark i64[] = Add.14(%i, %x)
      %again bool[] = Less.13(%twice, %x)
      output %again
      output %twice
      output %mark
    }
  }
  output %z
  output %s
`)
}

func TestLoopEnds(t *testing.T) {
	for _, c := range []struct {
		name, operands string
		m              int64
		cond           bool
		last           int64
		stack          []int64
	}{
		{"by its count", "%m, _", 3, false, 8, []int64{10, 11, 12}},
		{"by its count alone", "%m, _", 5, false, 32, []int64{10, 11, 12, 13, 14}},
		{"by its condition", "_, %c", 0, true, 16, []int64{10, 11, 12, 13}},
		{"by its condition first", "%m, %c", 9, true, 16, []int64{10, 11, 12, 13}},
		{"by its count first", "%m, %c", 2, true, 4, []int64{10, 11}},
		{"before it begins", "%m, %c", 9, false, 1, []int64{}},
		{"with a count below 0", "%m, %c", -1, true, 1, []int64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Graph(loopGraph(t, c.operands), map[string]*ir.Tensor{
				"m": number(c.m), "c": boolean(c.cond), "v": number(1), "x": number(10)})
			require.NoError(t, err)
			wants(t, got[0], []int64{c.last}, []int64{}...)
			wants(t, got[1], c.stack, int64(len(c.stack)))
		})
	}
	t.Run("never", func(t *testing.T) {
		inputs := map[string]*ir.Tensor{"m": number(60), "c": boolean(true), "v": number(1), "x": number(10)}
		_, err := Interp{MaxTrips: 50}.Graph(loopGraph(t, "%m, _"), inputs)
		require.ErrorContains(t, err, `node Loop "loop": the loop did not end after 50 iterations, which is the limit`)
		_, err = Graph(loopGraph(t, "_, _"), inputs)
		require.ErrorContains(t, err, `node Loop "loop": operands 0 (M) and 1 (cond) are both absent, so the loop would never end`)
	})
	t.Run("of a shape that nothing tells", func(t *testing.T) {
		g := loopGraph(t, "%m, %c")
		g.Nodes[0].Regions[0].Nodes[1].Outputs[0].HasShape = false
		_, err := Graph(g, map[string]*ir.Tensor{"m": number(0), "c": boolean(true), "v": number(1), "x": number(10)})
		require.ErrorContains(t, err, `node Loop "loop": result 1: the body never ran, so the shape of its output "mark" is unknown`)
	})
}

// TestLoopGrows: what a loop carries may change its shape when it runs; what it stacks may not.
func TestLoopGrows(t *testing.T) {
	text := func(stacked string) string {
		return `
  const @three i64[] = {3}
  input %x i64[2]
  %z ?[*], %s ?[*] = Loop.16(@three, _, %x) {body = region 0} "loop" regions {
    graph "body" opset 17 {
      input %i i64[]
      input %go bool[]
      input %p i64[*]
      %twice i64[*] = Concat.13(%p, %p) {axis = 0}
      %n i64[*] = Shape.15(%p)
      output %go
      output %twice
      output ` + stacked + `
    }
  }
  output %z
  output %s
`
	}
	x := map[string]*ir.Tensor{"x": numbers([]int64{5, 6}, 2)}
	got, err := Graph(irtest.Parse(t, text("%n")), x)
	require.NoError(t, err)
	require.Equal(t, []int64{16}, got[0].Shape)
	wants(t, got[1], []int64{2, 4, 8}, 3, 1)
	_, err = Graph(irtest.Parse(t, text("%twice")), x)
	require.ErrorContains(t, err, `node Loop "loop": output "twice" of its body has shape [4] in one iteration and [8] in another`)
}

// TestScan runs over rows or columns, forward and backward, and stacks in all ways.
func TestScan(t *testing.T) {
	text := func(version int, attrs, operands string) string {
		op := "Scan.16"
		if version == 8 {
			op = "Scan.8"
		}
		return `
  input %v ?[*]
  input %x ?[*]
  %z ?[*], %s ?[*] = ` + op + `(` + operands + `) {body = region 0, num_scan_inputs = 1` + attrs + `} "scan" regions {
    graph "body" opset 17 {
      input %p ?[*]
      input %e ?[*]
      %r ?[*] = Add.14(%p, %e)
      output %r
      output %r
    }
  }
  output %z
  output %s
`
	}
	run := func(t *testing.T, text string, v, x *ir.Tensor) ([]*ir.Tensor, error) {
		g := irtest.Parse(t, text)
		g.Inputs[0].Type, g.Inputs[1].Type = ir.I64, ir.I64
		return Graph(g, map[string]*ir.Tensor{"v": v, "x": x})
	}
	matrix := numbers([]int64{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct {
		name, attrs string
		start       []int64
		last, stack []int64
		shape       []int64
	}{
		{"rows", "", []int64{10, 20, 30}, []int64{15, 27, 39}, []int64{11, 22, 33, 15, 27, 39}, []int64{2, 3}},
		{"rows from the last", ", scan_input_directions = [1]", []int64{10, 20, 30}, []int64{15, 27, 39}, []int64{14, 25, 36, 15, 27, 39}, []int64{2, 3}},
		{"stacked from the last", ", scan_output_directions = [1]", []int64{10, 20, 30}, []int64{15, 27, 39}, []int64{15, 27, 39, 11, 22, 33}, []int64{2, 3}},
		{"stacked as columns", ", scan_output_axes = [-1]", []int64{10, 20, 30}, []int64{15, 27, 39}, []int64{11, 15, 22, 27, 33, 39}, []int64{3, 2}},
		{"columns", ", scan_input_axes = [1]", []int64{10, 20}, []int64{16, 35}, []int64{11, 24, 13, 29, 16, 35}, []int64{3, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := run(t, text(16, c.attrs, "%v, %x"), numbers(c.start, int64(len(c.start))), matrix)
			require.NoError(t, err)
			wants(t, got[0], c.last, int64(len(c.last)))
			wants(t, got[1], c.stack, c.shape...)
		})
	}
	t.Run("batch", func(t *testing.T) {
		got, err := run(t, text(8, ", directions = [1]", "_, %v, %x"), numbers([]int64{10, 20}, 2), matrix)
		require.NoError(t, err)
		wants(t, got[0], []int64{16, 35}, 2)
		wants(t, got[1], []int64{13, 15, 16, 26, 31, 35}, 2, 3)
	})
	t.Run("nothing", func(t *testing.T) {
		_, err := run(t, text(16, "", "%v, %x"), number(1), numbers(nil, 0))
		require.ErrorContains(t, err, `node Scan "scan": result 1: the body never ran, so the shape of its output "r" is unknown`)
	})
	t.Run("an axis that is none", func(t *testing.T) {
		_, err := run(t, text(16, ", scan_input_axes = [2]", "%v, %x"), number(1), matrix)
		require.ErrorContains(t, err, `node Scan "scan": operand 1: axis 2 to scan along; the rank is 2`)
	})
}
