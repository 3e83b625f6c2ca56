package pipeline

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/run"
)

// alike are rows of few different numbers, so that many are equal, of zeros of both signs, of what is infinite, and, in some rows, of NaN.
func alike(rows, length int64) *ir.Tensor {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(length)))
	numbers := []float64{1, 2, math.Inf(-1), 0, math.Copysign(0, -1), 2, math.Inf(1), math.NaN()}
	t := ir.NewTensor(ir.F32, rows, length)
	for i := range rows * length {
		kinds := 1 + i/length%int64(len(numbers)) // of the first row one, of the next ones more
		if i/length == rows-1 {
			kinds = 3
		}
		x := numbers[r.Int64N(kinds)]
		if i/length == rows-1 { // of the last row none is above the least
			x = math.Inf(-1)
		}
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(float32(x)))
	}
	return t
}

// TestPicks: where the greatest and the least element of a row are does not depend on how many lanes look for them, of whatever length the row is: of
// equal ones it is the first or the last, as the node says, and NaN is before all numbers.
func TestPicks(t *testing.T) {
	var cases []cpptest.Case
	var want []*ir.Tensor
	vectors := 0
	for _, length := range []int64{3, 4, 5, 7, 16, 17, 63, 64, 65, 100} {
		for _, op := range []string{"ArgMax", "ArgMin"} {
			for last := range 2 {
				for _, symbolic := range []bool{false, true} {
					shape := fmt.Sprint(length)
					if symbolic {
						shape = "W"
					}
					name := fmt.Sprintf("%s of [9, %s], %d, last %d", op, shape, length, last)
					s := compile(t, fmt.Sprintf("graph \"g\" opset 17 {\n  symbol W 1..200\n  input %%x f32[9, %s]\n"+
						"  %%y ?[*] = %s.13(%%x) {axis = 1, keepdims = 0, select_last_index = %d}\n  output %%y\n}", shape, op, last))
					if text := kernels(t, s); length > 4 {
						assert.Contains(t, text, "dnn_math::counted<dnn_vec<int32_t, 4>, 1>", name)
						vectors++
					}
					x := alike(9, length)
					reference, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": x})
					require.NoError(t, err, name)
					looped, err := run.Program(s.Program, []*ir.Tensor{x})
					require.NoError(t, err, name)
					require.Equal(t, reference[0].Data, looped[0].Data, "%s, loops", name)
					dims := map[string]int64{}
					if symbolic {
						dims["W"] = length
					}
					cases, want = append(cases, cpptest.Case{Name: name, Program: s.Program, Dims: dims, Inputs: []*ir.Tensor{x}}), append(want, reference[0])
				}
			}
		}
	}
	assert.Equal(t, 8*2*2*2, vectors)
	for i, got := range cpptest.Run(t, "../..", cases, "-O1") {
		require.Zero(t, got.Status, cases[i].Name)
		require.Equal(t, want[i].Data, got.Outputs[0].Data, cases[i].Name)
	}
}

// TestTopK: rows that are looked through by groups of neighbours have the same first elements, in the same order.
func TestTopK(t *testing.T) {
	var cases []cpptest.Case
	var want [][]*ir.Tensor
	for _, k := range []int{1, 3, 40} {
		for largest := range 2 {
			s := compile(t, fmt.Sprintf("graph \"g\" opset 17 {\n  symbol W 40..200\n  const @k i64[1] = {%d}\n  input %%x f32[9, W]\n"+
				"  %%v ?[*], %%i ?[*] = TopK.11(%%x, @k) {axis = 1, largest = %d}\n  output %%v\n  output %%i\n}", k, largest))
			for _, length := range []int64{40, 64, 72, 73, 131, 200} {
				for _, x := range []*ir.Tensor{alike(9, length), steps([]int64{9, length})} {
					reference, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": x})
					require.NoError(t, err)
					name := fmt.Sprintf("%d of %d, largest %d", k, length, largest)
					cases = append(cases, cpptest.Case{Name: name, Program: s.Program, Dims: map[string]int64{"W": length}, Inputs: []*ir.Tensor{x}})
					want = append(want, reference)
				}
			}
		}
	}
	for i, got := range cpptest.Run(t, "../..", cases, "-O2") {
		require.Zero(t, got.Status, cases[i].Name)
		for k, y := range want[i] {
			require.Equal(t, y.Data, got.Outputs[k].Data, "%s, result %d", cases[i].Name, k)
		}
	}
}

// TestTopKOfColumns: columns that are looked through together have the same first elements, in the same order, whether few are kept sorted or many in heaps.
func TestTopKOfColumns(t *testing.T) {
	var cases []cpptest.Case
	var want [][]*ir.Tensor
	for _, typ := range []string{"f32", "f16", "i32"} {
		for _, k := range []int{1, 5, 16, 17, 40} {
			for largest := range 2 {
				s := compile(t, fmt.Sprintf("graph \"g\" opset 17 {\n  symbol W 2..70\n  const @k i64[1] = {%d}\n  input %%x f32[2, 40, W]\n  %%t ?[*] = Cast.13(%%x) {to = %d}\n"+
					"  %%v ?[*], %%i ?[*] = TopK.11(%%t, @k) {axis = 1, largest = %d}\n  output %%v\n  output %%i\n}", k, map[string]int{"f32": 1, "f16": 10, "i32": 6}[typ], largest))
				for _, width := range []int64{2, 31, 32, 33, 70} {
					inputs := []*ir.Tensor{steps([]int64{2, 40, width})}
					if x := alike(2*40, width); typ != "i32" { // of which some are NaN
						x.Shape = []int64{2, 40, width}
						inputs = append(inputs, x)
					}
					for _, x := range inputs {
						reference, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": x})
						require.NoError(t, err)
						cases = append(cases, cpptest.Case{Name: fmt.Sprintf("%d of %d columns, %s, largest %d", k, width, typ, largest), Program: s.Program, Dims: map[string]int64{"W": width}, Inputs: []*ir.Tensor{x}})
						want = append(want, reference)
					}
				}
			}
		}
	}
	for i, got := range cpptest.Run(t, "../..", cases, "-O2") {
		require.Zero(t, got.Status, cases[i].Name)
		for k, y := range want[i] {
			require.Equal(t, y.Data, got.Outputs[k].Data, "%s, result %d", cases[i].Name, k)
		}
	}
}
