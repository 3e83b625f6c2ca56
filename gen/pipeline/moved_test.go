package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/run"
	"rules_dnn/gen/target/chips/chipstest"
)

// moved is a graph of one node that moves elements of x, with constants before.
func moved(shape, node string, constants ...string) string {
	return "graph \"g\" opset 19 {\n" + strings.Join(constants, "\n") + "\n  input %x f32[" + shape + "]\n  %y ?[*] = " + node + "\n  output %y\n}"
}

// movedCases are nodes whose indices choose, divide or walk across lines: most of them runs in vectors, with its ends beside, or in squares that are turned.
func movedCases() []nestCase {
	pads := func(n ...int) string {
		return "  const @p i64[" + fmt.Sprint(len(n)) + "] = {" + strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ", "), "[]") + "}"
	}
	scales := func(s string) string { return "  const @s f32[4] = {1, 1, " + s + "}" }
	return []nestCase{
		{
			name: "a transpose in registers", shapes: [][]int64{{2, 48, 80}}, graph: moved("2, 48, 80", "Transpose.13(%x) {perm = [0, 2, 1]}"),
			has: []string{`(?s)p2_div < 12.*p1_mod < 40; p1_mod \+= 4.*dnn_store_turned<48>\(y0 .*, t0, t1, t2, t3\)`},
		},
		{
			name: "a transpose whose last square overlaps", shapes: [][]int64{{2, 47, 81}}, graph: moved("2, 47, 81", "Transpose.13(%x) {perm = [0, 2, 1]}"),
			has: []string{`(?s)p2_div < 12.*dnn_store_turned<47>`},
		},
		{
			name: "columns shorter than vectors are long", shapes: [][]int64{{1, 3, 35}}, graph: moved("1, 3, 35", "Transpose.13(%x) {perm = [0, 2, 1]}"),
			has: []string{`dnn_store_turned<3>\(y0 .*, t0, t1\)`},
		},
		{
			name: "a transpose to the last axis and a sum", shapes: [][]int64{{4, 6, 40}}, graph: "graph \"g\" opset 19 {\n  const @c f32[6] = {1, 2, 3, 4, 5, 6}\n" +
				"  input %x f32[4, 6, 40]\n  %t ?[*] = Transpose.13(%x) {perm = [0, 2, 1]}\n  %y ?[*] = Add.14(%t, @c)\n  output %y\n}",
			has: []string{`dnn_store_turned<6>\(y0 .*, t\d+, t\d+, t\d+, t\d+\)`},
		},
		{
			name: "mirrored", shapes: [][]int64{{2, 5, 40}}, graph: moved("2, 5, 40", `Pad.13(%x, @p) {mode = "reflect"}`, pads(0, 1, 3, 0, 2, 5)),
			has: []string{`p2 < 3;`, `p2 < 40; p2 \+= 4`, `p2 < 5;`}, hasNot: []string{`p2 - 3`},
		},
		{
			name: "clamped", shapes: [][]int64{{2, 5, 40}}, graph: moved("2, 5, 40", `Pad.13(%x, @p) {mode = "edge"}`, pads(0, 1, 3, 0, 2, 50)),
			has: []string{`p2 < 40; p2 \+= 4`, `p2_step < 50; p2_step \+= 4`},
		},
		{
			name: "zeros around", shapes: [][]int64{{2, 5, 40}}, graph: moved("2, 5, 40", "Pad.13(%x, @p)", pads(0, 1, 1, 0, 2, 1)),
			has: []string{`p2 < 40; p2 \+= 4`}, hasNot: []string{`p2 - 1`},
		},
		{
			name: "around again", shapes: [][]int64{{2, 40}}, graph: moved("2, 40", `Pad.19(%x, @p) {mode = "wrap"}`, pads(0, 9, 0, 50)),
			has: []string{`p1 < 40; p1 \+= 4`},
		},
		{
			name: "two of one row", shapes: [][]int64{{3, 33}}, graph: "graph \"g\" opset 19 {\n  input %x f32[3, 33]\n  %s ?[*] = Relu.14(%x)\n" +
				"  %y ?[*] = Concat.13(%x, %s) {axis = 1}\n  output %y\n}",
		},
		{
			name: "twice as many by two weights", shapes: [][]int64{{1, 2, 6, 20}}, graph: moved("1, 2, 6, 20", `Resize.13(%x, _, @s) {mode = "linear"}`, scales("2, 2")),
			has: []string{`p3_div_step < 19;(?s:.)*dnn_store_turned<2>\(y0 .*, t\d+, t\d+\)`},
		},
		{
			name: "eight times as many but one", shapes: [][]int64{{1, 2, 6, 20}}, graph: moved("1, 2, 6, 20", `Resize.13(%x, _, _, @z) {mode = "linear", coordinate_transformation_mode = "align_corners"}`, "  const @z i64[4] = {1, 2, 21, 77}"),
			has: []string{`p3_div_step < 19;(?s:.)*dnn_store_turned<4>\(y0 .*, t\d+, t\d+, t\d+, t\d+\)`},
		},
		{
			name: "three of each", shapes: [][]int64{{1, 2, 6, 20}}, graph: moved("1, 2, 6, 20", `Resize.13(%x, _, @s) {mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"}`, scales("1, 3")),
			has: []string{`p3_div < 20; p3_div \+= 4`, `dnn_store_apart<3>`},
		},
		{
			name: "no multiple", shapes: [][]int64{{1, 2, 6, 20}}, graph: moved("1, 2, 6, 20", `Resize.13(%x, _, @s) {mode = "linear"}`, scales("1.7, 1.7")),
			hasNot: []string{`_div`},
		},
		{
			name: "rows of sums, of which results by a fraction read", shapes: [][]int64{{1, 2, 30, 40}}, graph: moved("1, 2, 30, 40", `Resize.13(%x, _, _, @z) {mode = "linear"}`, "  const @z i64[4] = {1, 2, 14, 14}"),
			has: []string{`(?s)float s0row\[40\].*w0c_95 < 40; w0c_95 \+= 4.*= s0row\[20 \* p3_div\]`},
		},
		{
			name: "rows of sums of bytes", shapes: [][]int64{{1, 2, 30, 41}}, graph: "graph \"g\" opset 19 {\n  input %x f32[1, 2, 30, 41]\n  const @z i64[4] = {1, 2, 50, 30}\n" +
				"  %u ?[*] = Cast.19(%x) {to = 2}\n  %y ?[*] = Resize.13(%u, _, _, @z) {mode = \"linear\"}\n  %f ?[*] = Cast.19(%y) {to = 1}\n  output %f\n}",
		},
		{
			name: "channels that become pixels", shapes: [][]int64{{1, 8, 6, 20}}, graph: moved("1, 8, 6, 20", "DepthToSpace.13(%x) {blocksize = 2}"),
			has: []string{`dnn_store_turned<2>\(y0 .*, t0, t1\)`},
		},
		{
			name: "one division a row", shapes: [][]int64{{9, 197}}, graph: moved("9, 197", "Softmax.13(%x)"),
			has: []string{`1\.0f / `}, hasNot: []string{`dnn_store\(y0 .* / `, `y0\[.* / `},
		},
		{
			name: "sums of rows whose axis stays", shapes: [][]int64{{40, 197}}, graph: moved("40, 197", "ReduceMean.13(%x) {axes = [-1]}"),
			has: []string{`rs < 12;`},
		},
		{
			name: "a sum of everything whose axes stay", shapes: [][]int64{{4, 197}}, graph: moved("4, 197", "ReduceL2.13(%x) {axes = [0, 1]}"),
			has: []string{`rs < 49;`},
		},
	}
}

// TestMovedInLongVectors: what moves elements does so in vectors of any length.
func TestMovedInLongVectors(t *testing.T) {
	for _, name := range []string{"x86_64_v3", "x86_64_v4"} {
		chip := chipstest.Target(t, name)
		for _, c := range movedCases() {
			s := parse(t, c.graph)
			s.Target = chip
			for _, passes := range [][]Pass{GraphPasses, CompilePasses} {
				_, err := Run(passes, s, Options{})
				require.NoError(t, err)
			}
			for _, call := range s.Program.Calls() {
				assert.NoError(t, loop.Verify(call.Kernel), c.name)
			}
			for _, shape := range c.shapes {
				x := steps(shape)
				want, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": x})
				require.NoError(t, err, c.name)
				got, err := run.Program(s.Program, []*ir.Tensor{x})
				require.NoError(t, err, c.name)
				near(t, c.name+", "+name, want[0], got[0])
			}
		}
	}
}
