package pipeline

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
)

const rangeAtRun = `
  input %start TYPE[]
  input %limit TYPE[1]
  input %delta TYPE[]
  %r ?[*] = Range.11(%start, %limit, %delta)
  %y ?[*] = Add.14(%r, %r)
  output %y
}`

// windowAtRun is how windows begin: a Range of floats whose limit is an integer, which has more readers.
const windowAtRun = `
  const @zero f32[] = {0}
  const @one f32[] = {1}
  input %size i64[]
  %s ?[*] = Cast.13(%size) {to = 1}
  %r ?[*] = Range.11(@zero, %s, @one)
  %y ?[*] = Div.14(%r, %s)
  output %y
}`

// TestRange: ranges whose operands only a run knows, of all types. Nothing comes of a limit on the wrong
// side; what is no number of elements is refused.
func TestRange(t *testing.T) {
	most := map[string]sym.Range{"r_steps_symbols_0": {Hi: 5}}
	of := func(name string, typ ir.DType, operands [3]float64, want ...float64) boundedCase {
		c := boundedCase{bounds: most}
		c.name = fmt.Sprintf("%s of %s", name, typ)
		c.graph = strings.ReplaceAll(rangeAtRun, "TYPE", typ.String())
		tensor := func(shape []int64, xs ...float64) *ir.Tensor {
			if typ.IsFloat() {
				return edit.FloatTensor(typ, xs, shape...)
			}
			is := make([]int64, len(xs))
			for i, x := range xs {
				is[i] = int64(x)
			}
			return edit.IntTensor(typ, is, shape...)
		}
		c.inputs = []*ir.Tensor{tensor(nil, operands[0]), tensor([]int64{1}, operands[1]), tensor(nil, operands[2])}
		if want != nil {
			c.want = []*ir.Tensor{tensor([]int64{int64(len(want))}, want...)}
		}
		return c
	}
	exact := func(name string, start, limit, delta int64, want ...int64) boundedCase {
		c := of(name, ir.I64, [3]float64{})
		c.inputs = []*ir.Tensor{ints(nil, start), vector(limit), ints(nil, delta)}
		if want != nil {
			c.want = []*ir.Tensor{vector(want...)}
		}
		return c
	}
	beyond := of("more than the bound", ir.F32, [3]float64{0, 6, 1})
	beyond.bound = true
	nothing := []float64{}
	nan, inf := math.NaN(), math.Inf(1)
	list := []boundedCase{
		beyond,
		of("a fraction", ir.F32, [3]float64{0, 1, 0.25}, 0, 0.5, 1, 1.5),
		of("a part of a step", ir.F32, [3]float64{0, 1.125, 0.25}, 0, 0.5, 1, 1.5, 2),
		of("NaN", ir.F32, [3]float64{nan, 1, 1}),
		of("to infinity", ir.F64, [3]float64{0, inf, 1}),
		of("from infinity", ir.F16, [3]float64{inf, 1, 1}, nothing...),
		of("no step", ir.F32, [3]float64{0, 1, 0}),
		of("no step down", ir.F64, [3]float64{1, 0, 0}),
		of("too many", ir.F32, [3]float64{0, 1e10, 1}),
		exact("no step", 0, 1, 0),
		exact("all integers", math.MinInt64, math.MaxInt64, 1),
		exact("in large steps", math.MinInt64, math.MaxInt64, math.MaxInt64, 0, -2, -4),
		exact("down in the largest step", math.MaxInt64, math.MinInt64, math.MinInt64, -2, -2),
		exact("at the end", math.MaxInt64-1, math.MaxInt64, 7, -4),
		{opaqueCase{name: "window", graph: windowAtRun, inputs: []*ir.Tensor{ints(nil, 4)}, want: []*ir.Tensor{line(0, 0.25, 0.5, 0.75)}}, most},
		{opaqueCase{name: "window of less than nothing", graph: windowAtRun, inputs: []*ir.Tensor{ints(nil, -4)}, want: []*ir.Tensor{line()}}, most},
	}
	for _, typ := range ops.Lookup("Range").Inputs[0].Types {
		list = append(list,
			of("up", typ, [3]float64{1, 8, 3}, 2, 8, 14),
			of("down", typ, [3]float64{3, -3, -2}, 6, 2, -2),
			of("one", typ, [3]float64{3, 4, 5}, 6),
			of("none", typ, [3]float64{3, 3, 1}, nothing...))
	}
	runBounded(t, list)
}
