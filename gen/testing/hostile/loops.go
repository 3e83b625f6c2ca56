package hostile

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// loopModel is a Loop over one carried vector.
func loopModel(body *onnxpb.GraphProto, operands string, outputs ...string) *onnxpb.ModelProto {
	inputs := []*onnxpb.ValueInfoProto{onnxtest.Input("m", onnxpb.TensorProto_INT64), boolInput("c"), onnxtest.Floats("x", 3)[0]}
	node := onnxtest.Op("Loop", operands, outputs[0], "body", body)
	node.Output = outputs
	model := onnxtest.Model(inputs, node)
	return onnxtest.With(model, onnxtest.Tensor("one", f32(1)))
}

func bodyInputs(more ...*onnxpb.ValueInfoProto) []*onnxpb.ValueInfoProto {
	return append([]*onnxpb.ValueInfoProto{onnxtest.Input("i", onnxpb.TensorProto_INT64), boolInput("go")}, more...)
}

func (m *maker) loops() {
	m.loopTrips()
	m.loopStacks()
	m.loopsOfTypes()
	m.loopsAtRun()
}

// carried is the vector that loops carry, and increment what adds one to it.
func carried() *onnxpb.ValueInfoProto { return onnxtest.Floats("s", 3)[0] }

func increment() *onnxpb.NodeProto { return onnxtest.Op("Add", "s one", "t") }

// countBody adds one in each iteration.
func countBody() *onnxpb.GraphProto {
	return graphOf(bodyInputs(carried()), []string{"go", "t"}, increment())
}

// loopTrips are loops of numbers of iterations and conditions.
func (m *maker) loopTrips() {
	s, next, body := carried(), increment(), countBody()
	x := f32(1, 2, 3)
	for _, trips := range []int64{-5, 0, 1, 3, 100} {
		n := float64(max(trips, 0))
		m.right(fmt.Sprintf("Loop of %d", trips), loopModel(body, "m c x", "y"), run(is(f32(1+n, 2+n, 3+n)), "m", scalarInt(trips), "c", truthOf(true), "x", x))
		m.right(fmt.Sprintf("Loop of %d, a condition that is false", trips), loopModel(body, "m c x", "y"), run(is(x), "m", scalarInt(trips), "c", truthOf(false), "x", x))
	}
	stop := graphOf(bodyInputs(s), []string{"stop", "t"}, next, onnxtest.Op("Less", "i k", "stop"))
	stop.Initializer = []*onnxpb.TensorProto{onnxtest.Tensor("k", scalarInt(6))}
	m.right("Loop without a number, ended by its condition", loopModel(stop, " c x", "y"), run(is(f32(8, 9, 10)), "m", scalarInt(0), "c", truthOf(true), "x", x))
	m.right("Loop without a condition", loopModel(body, "m  x", "y"), run(is(f32(5, 6, 7)), "m", scalarInt(4), "c", truthOf(false), "x", x))
	m.refused("Loop without both, whose condition ONNX ignores", loopModel(stop, "  x", "y"), "n_y", "never end")
	m.right("Loop that shifts what it carries", loopModel(graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Identity", "s", "t")), "m c x", "y"), run(is(x), "m", scalarInt(9), "c", truthOf(true), "x", x))
}

// loopStacks are loops that stack results.
func (m *maker) loopStacks() {
	x := f32(1, 2, 3)
	stacked := graphOf(bodyInputs(carried()), []string{"go", "t", "u"}, increment(), onnxtest.Op("Identity", "t", "u"))
	for _, trips := range []int64{0, 2} {
		var rows []float64
		for k := range trips {
			rows = append(rows, 2+float64(k), 3+float64(k), 4+float64(k))
		}
		constant := loopModel(stacked, "k c x", "y", "all")
		constant.Graph.Initializer = append(constant.Graph.Initializer, onnxtest.Tensor("k", scalarInt(trips)))
		constant.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("all")}
		m.right(fmt.Sprintf("Loop that stacks %d results", trips), constant, run(is(tensor(ir.F32, []int64{trips, 3}, rows...)), "m", scalarInt(0), "c", truthOf(true), "x", x))
	}
	unbounded := loopModel(stacked, "m c x", "y", "all")
	unbounded.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("all")}
	m.open("Loop that stacks what nothing bounds", unbounded, []string{"n_y", "bound"}, run(is(tensor(ir.F32, []int64{1, 3}, 2, 3, 4)), "m", scalarInt(1), "c", truthOf(true), "x", x))
}

// wrongBodies are bodies whose inputs and results do not fit.
func wrongBodies() map[string]*onnxpb.GraphProto {
	s, next := carried(), increment()
	return map[string]*onnxpb.GraphProto{
		"a carried value of another type":    graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Cast", "s", "t", "to", 11)),
		"a condition of another type":        graphOf(bodyInputs(s), []string{"i", "t"}, next),
		"a condition of more elements":       graphOf(bodyInputs(s), []string{"many", "t"}, next, onnxtest.Op("IsNaN", "s", "many")),
		"no condition":                       graphOf(bodyInputs(s), []string{"t"}, next),
		"too few results":                    graphOf(bodyInputs(s), []string{"go"}, next),
		"no results":                         graphOf(bodyInputs(s), nil, next),
		"too few inputs":                     graphOf(bodyInputs(), []string{"go", "x"}),
		"no inputs":                          graphOf(nil, []string{"c", "x"}),
		"too many inputs":                    graphOf(bodyInputs(s, onnxtest.Floats("more", 3)[0]), []string{"go", "t"}, next),
		"an input twice":                     graphOf(bodyInputs(onnxtest.Input("i", onnxpb.TensorProto_FLOAT, 3)), []string{"go", "i"}),
		"an iteration number of floats":      graphOf([]*onnxpb.ValueInfoProto{onnxtest.Input("i", onnxpb.TensorProto_FLOAT), boolInput("go"), s}, []string{"go", "t"}, next),
		"another type is declared":           graphOf(bodyInputs(onnxtest.Input("s", onnxpb.TensorProto_DOUBLE, 3)), []string{"go", "t"}, onnxtest.Op("Neg", "s", "t")),
		"an unknown operator":                graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Frobnicate", "s", "t")),
		"a name of no value":                 graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Add", "s nothing", "t")),
		"the Loop's own result":              graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Add", "s y", "t")),
		"a carried value of another rank":    graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Constant", "", "a", "value_ints", []int64{0}), onnxtest.Op("Unsqueeze", "s a", "t")),
		"shapes that do not fit in the body": graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Concat", "s s", "d", "axis", 0), onnxtest.Op("Add", "s d", "t")),
	}
}

// loopsOfTypes are loops whose bodies or operands are of other types, shapes and numbers.
func (m *maker) loopsOfTypes() {
	wrong, body := wrongBodies(), countBody()
	for _, name := range sortedKeys(wrong) {
		m.refused("Loop: "+name, loopModel(wrong[name], "m c x", "y"), "n_y | n_t | n_many")
	}
	m.refused("Loop without a body", onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Loop", "  x", "y")), "n_y", "body")
	m.refused("Loop: more results than the body has", loopModel(body, "m c x", "y", "z", "u"), "n_y")
	m.refused("Loop: a number of floats", loopModel(body, "x c x", "y"), "n_y")
	m.refused("Loop: a condition of floats", loopModel(body, "m x x", "y"), "n_y")
}

// loopsAtRun are loops that grow, never end or fail in a later iteration.
func (m *maker) loopsAtRun() {
	s, next := carried(), increment()
	x := f32(1, 2, 3)
	grows := loopModel(graphOf(bodyInputs(onnxtest.Floats("s", "L")[0]), []string{"go", "t"}, onnxtest.Op("Concat", "s s", "t", "axis", 0)), "m c x", "y")
	m.open("Loop: a carried value that doubles", grows, []string{"n_y | n_t", "bound"})
	endless := loopModel(graphOf(bodyInputs(s), []string{"yes", "t"}, next, onnxtest.Op("Or", "go go", "yes")), " c x", "y")
	m.open("Loop without end", endless, []string{"n_y"}, run(is(x), "m", scalarInt(0), "c", truthOf(false), "x", x))
	bad := loopModel(graphOf(bodyInputs(s), []string{"go", "t"}, onnxtest.Op("Gather", "s at", "u"), onnxtest.Op("Add", "s u", "t"), onnxtest.Op("Constant", "", "one_more", "value_ints", []int64{1}),
		onnxtest.Op("Add", "i one_more", "at")), "m c x", "y")
	bad.Graph.Node[0].Attribute[0].G.Node = []*onnxpb.NodeProto{onnxtest.Op("Constant", "", "one_more", "value_ints", []int64{1}), onnxtest.Op("Add", "i one_more", "at"),
		onnxtest.Op("Gather", "s at", "u"), onnxtest.Op("Add", "s u", "t")}
	m.status("Loop: an index that leaves its axis in the third iteration", bad, BadValue, []string{"n_u"}, values("m", scalarInt(5), "c", truthOf(true), "x", x)...).
		then(run(is(f32(3, 4, 5)), "m", scalarInt(1), "c", truthOf(true), "x", x))
}
