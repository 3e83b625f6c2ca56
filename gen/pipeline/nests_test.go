package pipeline

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/run"
)

// nestCase is a graph of one input x of one result, and what its kernels must have and must not have.
type nestCase struct {
	name, graph string
	shapes      [][]int64
	has, hasNot []string // regular expressions
}

// groupNorm is how exporters write GroupNormalization, and an activation behind it.
const groupNorm = `
  symbol H 1..64
  symbol W 1..64
  const @to i64[3] = {0, 4, -1}
  const @one f32[4] = {1, 2, 3, 4}
  const @zero f32[4] = {0, -1, 0.5, 2}
  const @scale f32[CHANNELS, 1, 1] = {SCALE}
  input %x f32[1, CHANNELS, H, W]
  %r ?[*] = Reshape.14(%x, @to)
  %n ?[*] = InstanceNormalization.6(%r, @one, @zero)
  %s ?[*] = Shape.15(%x)
  %b ?[*] = Reshape.14(%n, %s)
  %m ?[*] = Mul.14(%b, @scale)
  %y ?[*] = Sigmoid.13(%m)
  output %y
}`

func nestCases() []nestCase {
	return []nestCase{
		{
			name: "rows of symbols are not divided", graph: filled(groupNorm, 16), shapes: [][]int64{{1, 16, 5, 7}, {1, 16, 1, 1}, {1, 16, 16, 33}},
			hasNot: []string{`[/%] \(?H\b`, `[/%] \(?W\b`, `[/%] \(4 \* H`},
		},
		{
			name: "rows of a mean of two axes", shapes: [][]int64{{1, 64, 14, 14}}, graph: `
  input %x f32[1, 64, 14, 14]
  %y ?[*] = ReduceMean.13(%x) {axes = [2, 3], keepdims = 0}
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 4\)`, `rs < 12;`},
		},
		{
			name: "columns of a mean", shapes: [][]int64{{512, 64}}, graph: `
  input %x f32[512, 64]
  %y ?[*] = ReduceMean.13(%x) {axes = [0], keepdims = 0}
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 8\)`, `q < 8; q \+= 4`},
		},
		{
			name: "a normalisation over all channels", shapes: [][]int64{{1, 64, 64, 64}}, graph: `
  const @one f32[1] = {1}
  const @zero f32[1] = {0.5}
  const @rows i64[3] = {1, 1, -1}
  const @back i64[4] = {1, 64, 64, 64}
  input %x f32[1, 64, 64, 64]
  %r ?[*] = Reshape.14(%x, @rows)
  %n ?[*] = InstanceNormalization.6(%r, @one, @zero)
  %y ?[*] = Reshape.14(%n, @back)
  output %y
}`, has: []string{`Block0, 64\);\n.*Block1, 1\);\n.*Block2, 64\);\n.*Block3, 1\);\n.*Block4, 64\)`},
		},
		{
			name: "a mean without its axes in blocks", shapes: [][]int64{{1, 16, 41, 41}}, graph: meanOfBlocks,
			has: []string{`p1_mod < 4; p1_mod \+= 4`, `s0run < 2;`, `s0next < 4;`}, hasNot: []string{"layout row-major"},
		},
		{
			name: "a resize by an odd fraction", shapes: [][]int64{{1, 2, 20, 40}}, graph: `
  const @sizes i64[4] = {1, 2, 7, 14}
  input %x f32[1, 2, 20, 40]
  %y ?[*] = Resize.13(%x, _, _, @sizes) {mode = "linear"}
  output %y
}`, has: []string{`p3_div < 2;`}, hasNot: []string{`[/%] 14\b`},
		},
		{
			name: "a convolution to one channel", shapes: [][]int64{{2, 2, 9, 37}}, graph: `
  const @w f32[1, 2, 3, 3] = {1, 0.5, -1, 0.25, 2, 0.125, -0.5, 1.5, -0.25, 0.75, -2, 1, 0.5, -1.5, 0.25, 1, -0.125, 0.5}
  const @b f32[1] = {0.5}
  input %x f32[2, 2, 9, 37]
  %c ?[*] = Conv.11(%x, @w, @b) {pads = [1, 1, 1, 1]}
  %y ?[*] = Relu.14(%c)
  output %y
}`, has: []string{`p3_step < 35; p3_step \+= 4`, `r1_count = `}, hasNot: []string{`p3 [+-] .* < 37 \?`, `acc\[`},
		},
		{
			name: "a convolution to one channel with strides", shapes: [][]int64{{1, 1, 11, 64}}, graph: `
  const @w f32[1, 1, 2, 4] = {1, 0.5, -1, 0.25, 2, 0.125, -0.5, 1.5}
  input %x f32[1, 1, 11, 64]
  %y ?[*] = Conv.11(%x, @w) {pads = [1, 2, 0, 1], strides = [2, 2]}
  output %y
}`, has: []string{`r1_count = `}, hasNot: []string{`p3 .* < 64 \?`},
		},
		{
			name: "places that channels share", shapes: [][]int64{{1, 6, 5, 7}}, graph: `
  const @grid f32[1, 3, 5, 2] = {-1, -1, -0.5, 0.25, 0, 0, 2, 0.5, 1, 1, 0.3, -0.7, -3, 9, 0.9, 0.9, -0.99, 0.1, 0.5, -1.1, 0, 1, 1, 0, -1, 1, 0.6, 0.6, -0.2, -0.4}
  input %x f32[1, 6, 5, 7]
  %y ?[*] = GridSample.16(%x, @grid)
  output %y
}`, has: []string{`p1_div < 2;`}, hasNot: []string{`\? a4\[`},
		},
		{
			name: "a scan of neighbours", shapes: [][]int64{{6, 5, 37}}, graph: `
  const @axis i64[1] = {1}
  input %x f32[6, 5, 37]
  %y ?[*] = CumSum.14(%x, @axis)
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 6\)`, `u1 < 4;(?s:.)*p2 \+= 4`},
		},
		{
			name: "a scan of more neighbours than a task's", shapes: [][]int64{{5, 3, 300}}, graph: `
  const @axis i64[1] = {0}
  input %x f32[5, 3, 300]
  %y ?[*] = CumSum.14(%x, @axis) {exclusive = 1, reverse = 1}
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 4\)`},
		},
		{
			name: "a scan of whole rows from the end", shapes: [][]int64{{2, 2, 5, 3, 101}}, graph: `
  const @axis i64[1] = {2}
  input %x f32[2, 2, 5, 3, 101]
  %y ?[*] = CumSum.14(%x, @axis) {exclusive = 1, reverse = 1}
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 4\)`, `tc < 75;`},
		},
		{
			name: "a scan of rows in registers, the last ones one by one", shapes: [][]int64{{19, 7}}, graph: `
  const @axis i64[1] = {1}
  input %x f32[19, 7]
  %y ?[*] = CumSum.14(%x, @axis) {reverse = 1}
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 5\)`, `acc3 = `},
		},
		{
			name: "a scan of rows of any length", shapes: [][]int64{{3, 4, 7}, {3, 4, 1}}, graph: `
  symbol W 1..64
  const @axis i64[1] = {2}
  input %x f32[3, 4, W]
  %y ?[*] = CumSum.14(%x, @axis) {reverse = 1}
  output %y
}`, has: []string{`dnn_parallel\(c, 0, Block0, 12\)`, `float acc0 = `},
		},
		{
			name: "a normalisation that is made larger", shapes: [][]int64{{1, 3, 8, 32}}, graph: `
  const @one f32[3] = {1, 2, 3}
  const @zero f32[3] = {0, -1, 0.5}
  const @scales f32[4] = {1, 1, 2, 2}
  input %x f32[1, 3, 8, 32]
  %n ?[*] = InstanceNormalization.6(%x, @one, @zero)
  %y ?[*] = Resize.13(%n, _, @scales) {coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor"}
  output %y
}`, hasNot: []string{`p3 / 2`},
		},
	}
}

// meanOfBlocks is a convolution, whose result lies in blocks of channels, and the means of its channels.
var meanOfBlocks = `
  const @w f32[16, 16, 3, 3] = {` + strings.TrimSuffix(strings.Repeat("0.5, -0.25, 0.125, ", 768), ", ") + `}
  input %x f32[1, 16, 41, 41]
  %c ?[*] = Conv.11(%x, @w)
  %y ?[*] = ReduceMean.13(%c) {axes = [2, 3], keepdims = 0}
  output %y
}`

// filled replaces the number of channels, and makes as many scales.
func filled(graph string, channels int) string {
	scales := make([]string, channels)
	for i := range scales {
		scales[i] = fmt.Sprint(i%5 - 2)
	}
	return strings.NewReplacer("CHANNELS", fmt.Sprint(channels), "SCALE", strings.Join(scales, ", ")).Replace(graph)
}

// TestNests: nests that are cut and turned compute what they did, in the interpreter of loops and in C++, and have the
// loops that they are cut into.
func TestNests(t *testing.T) {
	var cases []cpptest.Case
	var want []*ir.Tensor
	for _, c := range slices.Concat(nestCases(), poolCases(), movedCases()) {
		if !strings.HasPrefix(c.graph, "graph") {
			c.graph = "graph \"g\" opset 17 {" + c.graph
		}
		s := compile(t, c.graph)
		text := kernels(t, s)
		for _, step := range s.Program.Calls() {
			loop.Names(step.Kernel, func(name string) { assert.False(t, sym.IsSymbol(name), "%s: a symbol may be called %q", c.name, name) })
		}
		for _, r := range c.has {
			assert.Regexp(t, r, text, c.name)
		}
		for _, r := range c.hasNot {
			assert.NotRegexp(t, r, text, c.name)
		}
		for _, shape := range c.shapes {
			x := steps(shape)
			reference, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": x})
			require.NoError(t, err, c.name)
			looped, err := run.Program(s.Program, []*ir.Tensor{x})
			require.NoError(t, err, c.name)
			near(t, c.name+", loops", reference[0], looped[0])
			dims := map[string]int64{}
			for _, y := range s.Program.Symbols {
				dims[y.Name] = map[string]int64{"H": shape[2], "W": shape[len(shape)-1]}[y.Name]
			}
			cases, want = append(cases, cpptest.Case{Name: c.name, Program: s.Program, Dims: dims, Inputs: []*ir.Tensor{x}}), append(want, reference[0])
		}
	}
	for i, got := range cpptest.Run(t, "../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		near(t, cases[i].Name+", C++", want[i], got.Outputs[0])
	}
}

// near compares elements that sums in another order may change.
func near(t *testing.T, name string, want, got *ir.Tensor) {
	t.Helper()
	require.Equal(t, want.Shape, got.Shape, name)
	for i := 0; i < len(want.Data); i += 4 {
		w := math.Float32frombits(binary.LittleEndian.Uint32(want.Data[i:]))
		g := math.Float32frombits(binary.LittleEndian.Uint32(got.Data[i:]))
		require.InDelta(t, w, g, 1e-5, "%s, element %d", name, i/4)
	}
}
