package hostile

import (
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// rangeCases are Ranges of floats up to a dimension, as exporters write grids of dynamic sizes, those whose numbers lie
// far apart, and loops that data stop before a dimension does.
func rangeCases(m *maker) error {
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.I64, ir.I32} {
		m.rangesToWidth(t)
	}
	for _, t := range []ir.DType{ir.F32, ir.F64} {
		m.farRanges(t)
	}
	m.grids()
	m.boundedLoops()
	return nil
}

// widthNodes make w, of type t, of the second dimension of x.
func widthNodes(t ir.DType) []*onnxpb.NodeProto {
	return []*onnxpb.NodeProto{onnxtest.Op("Shape", "x", "s"), onnxtest.Op("Gather", "s one", "g"), onnxtest.Op("Cast", "g", "w", "to", int(onnxtest.Types[t]))}
}

// ranged is a Range of numbers as ONNX Runtime counts them, and computes each.
func ranged(t ir.DType, start, limit, delta float64) *ir.Tensor {
	var y []float64
	for i := 0.0; i < math.Ceil((limit-start)/delta); i++ {
		if t == ir.F32 {
			y = append(y, float64(float32(start)+float32(float32(i)*float32(delta))))
		} else {
			y = append(y, start+float64(i*delta))
		}
	}
	return tensor(t, []int64{int64(len(y))}, y...)
}

// rangesToWidth are Ranges that end, or begin, at what follows from a width, and at most there. Nothing else bounds them.
func (m *maker) rangesToWidth(t ir.DType) {
	tenth := 0.1
	if t == ir.F32 {
		tenth = float64(float32(0.1))
	}
	for _, c := range []struct {
		name                string
		nodes               []*onnxpb.NodeProto
		start, limit, delta string // w: the width, e: what the nodes make of it; numbers are constants
		end                 func(w float64) float64
		float               bool
	}{
		{"a width", nil, "0", "w", "1", func(w float64) float64 { return w }, false},
		{"a width in steps of 2", nil, "0", "w", "2", func(w float64) float64 { return w }, false},
		{"a width from -3", nil, "-3", "w", "1", func(w float64) float64 { return w }, false},
		{"a width in halves", nil, "0", "w", "0.5", func(w float64) float64 { return w }, true},
		{"a width in tenths", nil, "0", "w", "0.1", func(w float64) float64 { return w }, true},
		{"a width from a half", nil, "0.5", "w", "1", func(w float64) float64 { return w }, true},
		{"down from a width", nil, "w", "0", "-1", func(float64) float64 { return 0 }, false},
		{"twice a width", []*onnxpb.NodeProto{onnxtest.Op("Mul", "w two", "e")}, "0", "e", "1", func(w float64) float64 { return 2 * w }, false},
		{"a width less 1", []*onnxpb.NodeProto{onnxtest.Op("Sub", "w unit", "e")}, "0", "e", "1", func(w float64) float64 { return w - 1 }, false},
		{"an eighth of a width", []*onnxpb.NodeProto{onnxtest.Op("Div", "w eight", "d"), onnxtest.Op("Floor", "d", "e")}, "0", "e", "1", func(w float64) float64 { return math.Floor(w / 8) }, true},
		{"a seventh of a width", []*onnxpb.NodeProto{onnxtest.Op("Div", "w seven", "d"), onnxtest.Op("Ceil", "d", "e")}, "0", "e", "1", func(w float64) float64 { return math.Ceil(w / 7) }, true},
		{"a width, or data", []*onnxpb.NodeProto{onnxtest.Op("Min", "w n", "e")}, "0", "e", "1", func(w float64) float64 { return min(w, 5) }, false},
		{"data, or a width, less 2", []*onnxpb.NodeProto{onnxtest.Op("Min", "n w", "d"), onnxtest.Op("Sub", "d two", "e")}, "0", "e", "1", func(w float64) float64 { return min(w, 5) - 2 }, false},
		{"clipped data", []*onnxpb.NodeProto{onnxtest.Op("Max", "n unit", "d"), onnxtest.Op("Min", "d w", "b"), onnxtest.Op("Mul", "b two", "e")}, "0", "e", "1", func(w float64) float64 { return 2 * min(w, 5) }, false},
	} {
		if c.float && !t.IsFloat() {
			continue
		}
		for _, flags := range [][]string{nil, {"--dim=W=1..64"}} {
			model := onnxtest.Model(append(onnxtest.Floats("x", 1, "W"), onnxtest.Input("n", onnxtest.Types[t])), append(widthNodes(t), c.nodes...)...)
			constants := map[string]float64{"-3": -3, "0": 0, "1": 1, "2": 2, "0.5": 0.5, "0.1": tenth, "-1": -1}
			onnxtest.With(model, onnxtest.Tensor("one", scalarInt(1)), onnxtest.Tensor("two", scalar(t, 2)), onnxtest.Tensor("unit", scalar(t, 1)),
				onnxtest.Tensor("eight", scalar(t, 8)), onnxtest.Tensor("seven", scalar(t, 7)))
			for _, k := range []string{"-3", "0", "1", "2", "0.5", "0.1", "-1"} {
				if v := constants[k]; t.IsFloat() || v == math.Trunc(v) {
					onnxtest.With(model, onnxtest.Tensor(k, scalar(t, v)))
				}
			}
			model.Graph.Node = append(model.Graph.Node, onnxtest.Op("Range", c.start+" "+c.limit+" "+c.delta, "y"))
			// What reads the width only for the Range is there in every case, or inputs would differ.
			model.Graph.Node = append(model.Graph.Node, onnxtest.Op("Neg", "n", "z"))
			model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y"), onnxtest.Output("z")}
			k := m.add(Right, fmt.Sprintf("%s to %s %v", t, c.name, flags), model).with(flags...)
			for _, w := range []int64{1, 2, 7, 8, 9, 64} {
				start, ok := constants[c.start]
				if !ok {
					start = float64(w)
				}
				want := ranged(t, start, c.end(float64(w)), constants[c.delta])
				k.then(Run{Inputs: values("x", filled(ir.F32, 1, 1, w), "n", scalar(t, 5)), Want: []Want{is(want), is(scalar(t, -5))}})
			}
		}
	}
}

// farRanges are of numbers so far apart that the way from the first to the last is longer than the greatest one.
func (m *maker) farRanges(t ir.DType) {
	big := 3e38
	if t == ir.F64 {
		big = 1.5e308
	}
	round := func(x float64) float64 { return numbersOf(scalar(t, x))[0] }
	for i, r := range [][3]float64{
		{-big, big, big / 3}, {big, -big, -big / 3}, {-big, big, big}, {0, big, big / 2}, {-big, -big / 2, big / 4}, {-big, big, 1.1 * big},
		{1, 4, 1}, {4, 1, 1}, {-2, 2, 0.5},
	} {
		start, limit, delta := round(r[0]), round(r[1]), round(r[2])
		y := []float64{}
		half := math.Ceil((limit/2 - start/2) / (delta / 2))
		for k := range int64(max(half, 0)) {
			way := round(float64(k) * (delta / 2))
			y = append(y, round(2*round(start/2+way)))
		}
		want := tensor(t, []int64{int64(len(y))}, y...)
		model := func() *onnxpb.ModelProto { return onnxtest.Model(nil, onnxtest.Op("Range", "a b c", "y")) }
		fixed := onnxtest.With(model(), onnxtest.Tensor("a", scalar(t, start)), onnxtest.Tensor("b", scalar(t, limit)), onnxtest.Tensor("c", scalar(t, delta)))
		m.right(fmt.Sprintf("%s far apart, constants %d", t, i), fixed, Run{Want: []Want{about(want)}})
		free := model()
		for _, name := range []string{"a", "b", "c"} {
			free.Graph.Input = append(free.Graph.Input, onnxtest.Input(name, onnxtest.Types[t]))
		}
		m.right(fmt.Sprintf("%s far apart, inputs %d", t, i), free,
			Run{Inputs: values("a", scalar(t, start), "b", scalar(t, limit), "c", scalar(t, delta)), Want: []Want{about(want)}}).with("--dim=y_steps_symbols_0=0..64").
			then(Run{Inputs: values("a", scalar(t, start), "b", scalar(t, limit), "c", scalar(t, 0)), Status: BadValue, Words: []string{`Range "n_y"`}})
	}
}

// grids are coordinates of pixels, as PyTorch's exporters write meshgrid and linspace of dynamic sizes.
func (m *maker) grids() {
	grid := onnxtest.Model(onnxtest.Floats("x", 1, "W"), append(widthNodes(ir.F32),
		onnxtest.Op("Range", "zero w unit", "r"), onnxtest.Op("Add", "r half", "h"), onnxtest.Op("Reshape", "h column", "c"), onnxtest.Op("Reshape", "h row", "l"),
		onnxtest.Op("Unsqueeze", "g axes", "v"), onnxtest.Op("Concat", "v v", "to", "axis", 0),
		onnxtest.Op("Expand", "c to", "p"), onnxtest.Op("Expand", "l to", "q"), onnxtest.Op("Sub", "p q", "y"), onnxtest.Op("Mul", "x h", "z"))...)
	onnxtest.With(grid, onnxtest.Tensor("one", scalarInt(1)), onnxtest.Tensor("zero", scalar(ir.F32, 0)), onnxtest.Tensor("unit", scalar(ir.F32, 1)), onnxtest.Tensor("half", scalar(ir.F32, 0.5)),
		onnxtest.Tensor("column", i64(-1, 1)), onnxtest.Tensor("row", i64(1, -1)), onnxtest.Tensor("axes", i64(0)))
	grid.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y"), onnxtest.Output("z")}
	line := onnxtest.Model(onnxtest.Floats("x", 1, "W"), append(widthNodes(ir.F32), onnxtest.Op("Range", "zero w unit", "r"), onnxtest.Op("Sub", "w unit", "d"),
		onnxtest.Op("Div", "two d", "step"), onnxtest.Op("Mul", "r step", "k"), onnxtest.Op("Sub", "k unit", "l"), onnxtest.Op("Add", "x l", "y"))...)
	onnxtest.With(line, onnxtest.Tensor("one", scalarInt(1)), onnxtest.Tensor("zero", scalar(ir.F32, 0)), onnxtest.Tensor("unit", scalar(ir.F32, 1)), onnxtest.Tensor("two", scalar(ir.F32, 2)))
	for _, flags := range [][]string{nil, {"--dim=W=2..64"}} {
		g := m.add(Right, fmt.Sprintf("meshgrid %v", flags), grid).with(flags...)
		l := m.add(Right, fmt.Sprintf("linspace %v", flags), line).with(flags...)
		for _, w := range []int64{2, 5, 33} {
			square, z, y := []float64{}, []float64{}, []float64{}
			step := float64(float32(2) / float32(w-1))
			for i := range w {
				for k := range w {
					square = append(square, float64(i-k))
				}
				z, y = append(z, float64(i)+0.5), append(y, 1+float64(float32(float32(float64(i)*step)-1)))
			}
			in := values("x", filled(ir.F32, 1, 1, w))
			g.then(Run{Inputs: in, Want: []Want{is(tensor(ir.F32, []int64{w, w}, square...)), is(tensor(ir.F32, []int64{1, w}, z...))}})
			l.then(Run{Inputs: in, Want: []Want{{Type: ir.F32, Shape: []int64{1, w}, Elements: is(tensor(ir.F32, []int64{1, w}, y...)).Elements, Relative: 1e-6, Absolute: 1e-6}}})
		}
	}
}

// boundedLoops are loops as long as data say, at most a dimension, as tf2onnx writes recurrent layers of sequences.
func (m *maker) boundedLoops() {
	body := func() *onnxpb.GraphProto {
		return graphOf(bodyInputs(onnxtest.Floats("v", 2)[0]), []string{"go", "w", "w"}, onnxtest.Op("Gather", "x i", "e"), onnxtest.Op("Add", "v e", "w"))
	}
	for _, operands := range []string{"m T", "T m"} {
		m.boundedLoop("a loop of Min of "+operands, body(), onnxtest.Op("Min", operands, "trip"))
	}
	m.boundedLoop("a loop of clipped data", body(), onnxtest.Op("Max", "m none", "more"), onnxtest.Op("Min", "more T", "trip"))
	m.boundedLoop("a loop of the longest of clipped data", body(), onnxtest.Op("Min", "lens T", "each"), onnxtest.Op("ReduceMax", "each", "trip", "keepdims", 0))
}

func (m *maker) boundedLoop(name string, body *onnxpb.GraphProto, trip ...*onnxpb.NodeProto) {
	loop := onnxtest.Op("Loop", "trip yes v0", "vf", "body", body)
	loop.Output = []string{"vf", "y"}
	nodes := append([]*onnxpb.NodeProto{onnxtest.Op("ReduceMax", "lens", "m", "keepdims", 0), onnxtest.Op("Shape", "x", "s"), onnxtest.Op("Gather", "s none", "T")}, trip...)
	model := onnxtest.Model(append(onnxtest.Floats("x", "T", 2), onnxtest.Input("lens", onnxpb.TensorProto_INT64, 2)), append(nodes, loop)...)
	onnxtest.With(model, onnxtest.Tensor("none", scalarInt(0)), onnxtest.Tensor("yes", truthOf(true)), onnxtest.Tensor("v0", f32(0, 0)))
	model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	c := m.add(Right, name, model)
	for _, r := range [][3]int64{{5, 3, 2}, {5, 9, 1}, {1, 1, 1}, {4, 0, -3}, {3, -1, -2}} { // T, and two lengths
		n := max(min(r[0], max(r[1], r[2])), 0)
		y, sum := []float64{}, 0.0
		for i := range n {
			sum += float64(2*i + 1)
			y = append(y, sum, sum+float64(i+1))
		}
		c.then(Run{Inputs: values("x", tensor(ir.F32, []int64{r[0], 2}, numbersOf(seq(2*r[0]))...), "lens", i64(r[1], r[2])), Want: []Want{is(tensor(ir.F32, []int64{n, 2}, y...))}})
	}
}
