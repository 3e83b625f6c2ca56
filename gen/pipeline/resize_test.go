package pipeline

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops/opaque"
)

const scalesAtRun = `
  symbol N 0..9
  input %x f32[1, N]
  input %scales f32[COUNT]
  %y ?[*] = RESIZE
  output %y
}`

// TestResize: scales that only the run knows are the fractions that constant ones are, and dimensions
// that the user bounds come of them.
func TestResize(t *testing.T) {
	of := func(count, resize string) string {
		return strings.NewReplacer("COUNT", count, "RESIZE", resize).Replace(scalesAtRun)
	}
	old := of("2", "Resize.10(%x, %scales)")
	upsample := of("2", `Upsample.9(%x, %scales) {mode = "linear"}`)
	axis := of("1", `Resize.18(%x, _, %scales) {axes = [-1], mode = "linear", coordinate_transformation_mode = "half_pixel"}`)
	aligned := of("2", `Resize.13(%x, _, %scales) {mode = "linear", coordinate_transformation_mode = "align_corners"}`)
	row := func(xs ...float32) *ir.Tensor { return floats([]int64{1, int64(len(xs))}, xs...) }
	two := floats([]int64{2, 6}, 0, 0, 4, 4, 8, 8, 0, 0, 4, 4, 8, 8)
	none := floats([]int64{1, 0})
	n := func(x int64) map[string]int64 { return map[string]int64{"N": x} }
	bounds := map[string]sym.Range{"y_Div_symbols_0": {Hi: 9}, "y_Div_symbols_1": {Hi: 9}}
	nan := float32(math.NaN())
	list := []opaqueCase{
		{name: "grows in both", graph: old, dims: n(3), inputs: []*ir.Tensor{row(0, 4, 8), line(2, 2)}, want: []*ir.Tensor{two}},
		{name: "shrinks", graph: old, dims: n(5), inputs: []*ir.Tensor{row(0, 1, 2, 3, 4), line(1, 0.6)}, want: []*ir.Tensor{row(0, 2, 4)}},
		{name: "to nothing", graph: old, dims: n(3), inputs: []*ir.Tensor{row(1, 2, 3), line(1, 0.25)}, want: []*ir.Tensor{none}},
		{name: "of nothing", graph: old, dims: n(0), inputs: []*ir.Tensor{none, line(1, 3)}, want: []*ir.Tensor{none}},
		{name: "stays", graph: old, dims: n(3), inputs: []*ir.Tensor{row(1, 2, 3), line(1, 1)}, want: []*ir.Tensor{row(1, 2, 3)}},
		{name: "linear", graph: upsample, dims: n(2), inputs: []*ir.Tensor{row(0, 4), line(1, 2)}, want: []*ir.Tensor{row(0, 2, 4, 4)}},
		{name: "an axis", graph: axis, dims: n(2), inputs: []*ir.Tensor{row(0, 8), line(2)}, want: []*ir.Tensor{row(0, 2, 6, 8)}},
		{name: "an axis by less", graph: axis, dims: n(4), inputs: []*ir.Tensor{row(0, 8, 16, 24), line(0.5)}, want: []*ir.Tensor{row(4, 20)}},
		{name: "corners", graph: aligned, dims: n(2), inputs: []*ir.Tensor{row(0, 8), line(1, 2.5)}, want: []*ir.Tensor{row(0, 2, 4, 6, 8)}},
		{name: "to one corner", graph: aligned, dims: n(2), inputs: []*ir.Tensor{row(3, 8), line(1, 0.5)}, want: []*ir.Tensor{row(3)}},
		{name: "no scale", graph: old, dims: n(2), inputs: []*ir.Tensor{row(0, 4), line(1, 0)}},
		{name: "no number", graph: old, dims: n(2), inputs: []*ir.Tensor{row(0, 4), line(1, nan)}},
		{name: "too great a scale", graph: old, dims: n(2), inputs: []*ir.Tensor{row(0, 4), line(1, 5000)}},
		{name: "beyond the bound", graph: old, dims: n(2), inputs: []*ir.Tensor{row(0, 4), line(1, 5)}, bound: true},
	}
	bounded := make([]boundedCase, len(list))
	for i, c := range list {
		bounded[i] = boundedCase{c, bounds}
		if c.graph == axis {
			bounded[i].bounds = map[string]sym.Range{"y_Div_symbols_0": {Hi: 9}}
		}
	}
	runBounded(t, bounded)
}

// TestFractions: the C++ function finds the fractions that the Go function does, and these round to the scales.
func TestFractions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	scales := []float32{1, opaque.MinScale, opaque.MaxScale, math.Nextafter32(1, 2), math.Nextafter32(1, 0), 0.6, 1.0 / 3}
	for range 4000 {
		scales = append(scales, float32(math.Exp2(24*r.Float64()-12)), float32(1+r.IntN(999))/float32(1+r.IntN(999)))
	}
	s := compile(t, strings.ReplaceAll(`graph "g" opset 17 {
  input %x f32[COUNT]
  %y ?[*] = fractions.1(%x)
  output %y
}`, "COUNT", "8007"))
	in := line(scales...)
	want, err := interp.Graph(s.Graph, map[string]*ir.Tensor{"x": in})
	require.NoError(t, err)
	got := cpptest.Run(t, "../..", []cpptest.Case{{Name: "fractions", Program: s.Program, Inputs: []*ir.Tensor{in}}}, "-O1")
	require.Zero(t, got[0].Status)
	require.Equal(t, want[0].Data, got[0].Outputs[0].Data)
	xs, err := want[0].Ints()
	require.NoError(t, err)
	for i, s := range scales {
		require.Equal(t, s, float32(float64(xs[i])/float64(xs[len(scales)+i])))
	}
}
