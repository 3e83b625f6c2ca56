package pipeline

import (
	"math"
	"strings"
	"testing"

	"rules_dnn/gen/ir"
)

const stepsAtRun = `
  const @axes i64[2] = {-1, 0}
  input %x f32[3, 5]
  input %from TYPE[2]
  input %to TYPE[2]
  input %by TYPE[2]
  %s ?[*] = Slice.13(%x, %from, %to, AXES, %by)
  %y ?[*] = Neg.13(%s)
  output %y
}`

const axesAtRun = `
  input %x f32[3, 5]
  input %from i64[1]
  input %to i64[1]
  input %along i32[1]
  %y ?[*] = Slice.13(%x, %from, %to, %along)
  output %y
}`

const backAtRun = `
  const @axes i64[1] = {1}
  const @by i64[1] = {-2}
  symbol N 0..9
  input %x f32[2, N]
  input %from i64[1]
  input %to i64[1]
  %y ?[*] = Slice.13(%x, %from, %to, @axes, @by)
  output %y
}`

// TestSlice: slices whose axes and steps only the run knows, forward and backward, as numpy takes them.
func TestSlice(t *testing.T) {
	x := floats([]int64{3, 5}, 1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25)
	of := func(shape []int64, xs ...float32) []*ir.Tensor { return []*ir.Tensor{floats(shape, xs...)} }
	narrow := func(xs ...int64) *ir.Tensor {
		v := ir.NewTensor(ir.I32, int64(len(xs)))
		for i, x := range xs {
			v.Data[4*i] = byte(x)
			v.Data[4*i+1], v.Data[4*i+2], v.Data[4*i+3] = byte(x>>8), byte(x>>16), byte(x>>24)
		}
		return v
	}
	by := strings.NewReplacer("TYPE", "i64", "AXES", "@axes").Replace(stepsAtRun)
	first := strings.NewReplacer("TYPE", "i64", "AXES, ", "_, ").Replace(stepsAtRun)
	short := strings.NewReplacer("TYPE", "i32", "AXES", "@axes").Replace(stepsAtRun)
	row := floats([]int64{2, 5}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	n := map[string]int64{"N": 5}
	list := []opaqueCase{
		{name: "every other column", graph: by, inputs: []*ir.Tensor{x, vector(1, 0), vector(5, 3), vector(2, 1)}, want: of([]int64{3, 2}, -2, -4, -12, -14, -22, -24)},
		{name: "backward", graph: by, inputs: []*ir.Tensor{x, vector(-1, 2), vector(math.MinInt64, -4), vector(-3, -2)}, want: of([]int64{2, 2}, -25, -22, -5, -2)},
		{name: "beyond the ends", graph: by, inputs: []*ir.Tensor{x, vector(math.MaxInt64, -9), vector(math.MinInt64, 1), vector(-4, 1)}, want: of([]int64{1, 2}, -5, -1)},
		{name: "in the largest steps", graph: by, inputs: []*ir.Tensor{x, vector(4, 0), vector(-9, 9), vector(math.MinInt64, math.MaxInt64)}, want: of([]int64{1, 1}, -5)},
		{name: "nothing", graph: by, inputs: []*ir.Tensor{x, vector(3, 0), vector(1, 3), vector(1, 1)}, want: of([]int64{3, 0})},
		{name: "nothing backward", graph: by, inputs: []*ir.Tensor{x, vector(1, 0), vector(3, 3), vector(-1, 1)}, want: of([]int64{3, 0})},
		{name: "no step", graph: by, inputs: []*ir.Tensor{x, vector(0, 0), vector(5, 3), vector(0, 1)}},
		{name: "first axes", graph: first, inputs: []*ir.Tensor{x, vector(2, 4), vector(-9, 0), vector(-1, -3)}, want: of([]int64{3, 2}, -25, -22, -15, -12, -5, -2)},
		{name: "32 bits", graph: short, inputs: []*ir.Tensor{x, narrow(-1, 0), narrow(-6, 1), narrow(-2, 1)}, want: of([]int64{1, 3}, -5, -3, -1)},
		{name: "rows", graph: axesAtRun, inputs: []*ir.Tensor{x, vector(1), vector(-1), narrow(0)}, want: of([]int64{1, 5}, 11, 12, 13, 14, 15)},
		{name: "columns", graph: axesAtRun, inputs: []*ir.Tensor{x, vector(3), vector(9), narrow(-1)}, want: of([]int64{3, 2}, 4, 5, 14, 15, 24, 25)},
		{name: "no such axis", graph: axesAtRun, inputs: []*ir.Tensor{x, vector(3), vector(9), narrow(2)}},
		{name: "a known step back", graph: backAtRun, dims: n, inputs: []*ir.Tensor{row, vector(-1), vector(0)}, want: of([]int64{2, 2}, 4, 2, 9, 7)},
		{name: "back in nothing", graph: backAtRun, dims: map[string]int64{"N": 0}, inputs: []*ir.Tensor{floats([]int64{2, 0}), vector(-1), vector(-9)}, want: of([]int64{2, 0})},
	}
	bounded := make([]boundedCase, len(list))
	for i, c := range list {
		bounded[i] = boundedCase{c, nil}
	}
	runBounded(t, bounded)
}
