package hostile

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// controlCases are branches and loops whose types, shapes, numbers of results and names do not fit, or fit at the ends.
func controlCases(m *maker) error {
	m.branches()
	m.loops()
	m.scans()
	for _, depth := range []int{1, 2, 4, 8, 12} {
		m.nested(depth)
	}
	return nil
}

// graphOf is a graph of inputs and nodes, with outputs by their names.
func graphOf(inputs []*onnxpb.ValueInfoProto, outputs []string, nodes ...*onnxpb.NodeProto) *onnxpb.GraphProto {
	g := onnxtest.Model(inputs, nodes...).Graph
	g.Output = nil
	for _, o := range outputs {
		g.Output = append(g.Output, onnxtest.Output(o))
	}
	return g
}

func boolInput(name string) *onnxpb.ValueInfoProto {
	return onnxtest.Input(name, onnxpb.TensorProto_BOOL)
}

func truthOf(b bool) *ir.Tensor { return intTensor(ir.Bool, []int64{}, boolInt(b)) }

// branches of an If that compute x's negative, and others that do not fit.
func (m *maker) branches() {
	wrong := wrongBranches()
	for _, name := range sortedKeys(wrong) {
		m.refused("If: "+name, ifModel(negBranch(), wrong[name]), "n_y | n_r")
		m.refused("If, the other way: "+name, ifModel(wrong[name], negBranch()), "n_y | n_r")
	}
	m.branchShapes()
	m.branchNames()
	m.conditions()
	m.branchesTaken()
}

// ifInputs are a vector and a condition.
func ifInputs() []*onnxpb.ValueInfoProto { return append(onnxtest.Floats("x", 3), boolInput("c")) }

// ifModel is an If of two branches.
func ifModel(then, otherwise *onnxpb.GraphProto) *onnxpb.ModelProto {
	return onnxtest.Model(ifInputs(), onnxtest.Op("If", "c", "y", "then_branch", then, "else_branch", otherwise))
}

// negBranch is the branch that fits.
func negBranch() *onnxpb.GraphProto { return graphOf(nil, []string{"r"}, onnxtest.Op("Neg", "x", "r")) }

// wrongBranches are branches that do not fit beside negBranch, or at all.
func wrongBranches() map[string]*onnxpb.GraphProto {
	return map[string]*onnxpb.GraphProto{
		"another type":         graphOf(nil, []string{"r"}, onnxtest.Op("Cast", "x", "r", "to", 7)),
		"more results":         graphOf(nil, []string{"r", "s"}, onnxtest.Op("Abs", "x", "r"), onnxtest.Op("Neg", "x", "s")),
		"no results":           graphOf(nil, nil, onnxtest.Op("Abs", "x", "r")),
		"an input":             graphOf(onnxtest.Floats("i", 3), []string{"r"}, onnxtest.Op("Abs", "i", "r")),
		"a name of no value":   graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "nothing", "r")),
		"a result of no value": graphOf(nil, []string{"nothing"}, onnxtest.Op("Abs", "x", "r")),
		"an unknown operator":  graphOf(nil, []string{"r"}, onnxtest.Op("Frobnicate", "x", "r")),
		"the If's own result":  graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "y", "r")),
		"operands of types":    graphOf(nil, []string{"r"}, onnxtest.Op("Cast", "x", "i", "to", 7), onnxtest.Op("Add", "x i", "r")),
		"an attribute":         graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "x", "r", "frobnicate", 1)),
		"an operand too many":  graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "x x", "r")),
		"a name twice":         graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "x", "r"), onnxtest.Op("Neg", "x", "r")),
	}
}

// branchShapes are branches of other shapes.
func (m *maker) branchShapes() {
	x := f32(1, -2, 3)
	// Other shapes: the run's branch decides.
	flat := graphOf(nil, []string{"r"}, onnxtest.Op("Concat", "x x", "r", "axis", 0))
	m.open("If: another length", ifModel(negBranch(), flat), []string{"n_y"}, run(is(f32(-1, 2, -3)), "x", x, "c", truthOf(true)), run(is(f32(1, -2, 3, 1, -2, 3)), "x", x, "c", truthOf(false)))
	lifted := graphOf(nil, []string{"r"}, onnxtest.Op("Constant", "", "a", "value_ints", []int64{0}), onnxtest.Op("Unsqueeze", "x a", "r"))
	m.open("If: another rank", ifModel(negBranch(), lifted), []string{"n_y"}, run(is(f32(-1, 2, -3)), "x", x, "c", truthOf(true)))
	empty := graphOf(nil, []string{"r"}, onnxtest.Op("Constant", "", "a", "value_ints", []int64{0}), onnxtest.Op("Expand", "z a", "r"))
	empty.Initializer = []*onnxpb.TensorProto{onnxtest.Tensor("z", f32(1))}
	m.open("If: an empty result", ifModel(negBranch(), empty), []string{"n_y"}, run(is(f32()), "x", x, "c", truthOf(false)))
	// A branch whose shapes do not fit is wrong only in the runs that take it, as in ONNX Runtime.
	misfit := graphOf(nil, []string{"r"}, onnxtest.Op("Reshape", "x s", "r"), onnxtest.Vector("s", 4))
	for _, c := range []bool{true, false} {
		then, otherwise := misfit, negBranch()
		if !c {
			then, otherwise = otherwise, then
		}
		m.status(fmt.Sprintf("If: shapes that do not fit in one branch, %v", c), ifModel(then, otherwise), BadValue, []string{"n_y"}, values("x", x, "c", truthOf(c))...).
			then(run(is(f32(-1, 2, -3)), "x", x, "c", truthOf(!c)))
	}
}

// branchNames are names within branches, and of what is around them.
func (m *maker) branchNames() {
	x := f32(1, -2, 3)
	// Names within a branch hide nothing and may be those of the other branch.
	for _, c := range []bool{true, false} {
		want := f32(1, -2, 3)
		if c {
			want = f32(-1, 2, -3)
		}
		m.right(fmt.Sprintf("If: one name in both branches, %v", c), ifModel(negBranch(), graphOf(nil, []string{"r"}, onnxtest.Op("Identity", "x", "r"))), run(is(want), "x", x, "c", truthOf(c)))
		direct := graphOf(nil, []string{"x"})
		m.open(fmt.Sprintf("If: a captured value is the result, %v", c), ifModel(negBranch(), direct), []string{"n_y"}, run(is(want), "x", x, "c", truthOf(c)))
		constant := onnxtest.With(ifModel(negBranch(), graphOf(nil, []string{"r"}, onnxtest.Op("Abs", "x", "r"))), onnxtest.Tensor("c", truthOf(c)))
		constant.Graph.Input = constant.Graph.Input[:1]
		if !c {
			want = f32(1, 2, 3)
		}
		m.right(fmt.Sprintf("If: a constant condition, %v", c), constant, run(is(want), "x", x))
	}
	hiding := graphOf(nil, []string{"x"}, onnxtest.Op("Neg", "x", "x"))
	m.refused("If: a result hides an outer name", ifModel(negBranch(), hiding), "n_x", "uses its own result")
}

// conditions that are none, and branches that are not there.
func (m *maker) conditions() {
	wrong := onnxtest.Model(append(onnxtest.Floats("x", 3), onnxtest.Input("c", onnxpb.TensorProto_INT64)), onnxtest.Op("If", "c", "y", "then_branch", negBranch(), "else_branch", negBranch()))
	m.refused("If: a condition that is no bool", wrong, "n_y")
	m.refused("If without an else_branch", onnxtest.Model(ifInputs(), onnxtest.Op("If", "c", "y", "then_branch", negBranch())), "n_y", "else_branch")
	m.refused("If without branches", onnxtest.Model(ifInputs(), onnxtest.Op("If", "c", "y")), "n_y", "branch")
}

// branchesTaken: a branch that is wrong at run time counts only where it is taken.
func (m *maker) branchesTaken() {
	x := f32(1, -2, 3)
	picks := append(ifInputs(), onnxtest.Input("i", onnxpb.TensorProto_INT64, 1))
	pick := onnxtest.Model(picks, onnxtest.Op("If", "c", "y", "then_branch", graphOf(nil, []string{"r"}, onnxtest.Op("Gather", "x i", "r")), "else_branch",
		graphOf(nil, []string{"r"}, onnxtest.Op("ReduceMax", "x", "r"))))
	m.status("If: a bad index in the branch that is taken", pick, BadValue, []string{"n_r"}, values("x", x, "c", truthOf(true), "i", i64(9))...)
	m.right("If: a bad index in the branch that is not taken", pick, run(is(f32(3)), "x", x, "c", truthOf(false), "i", i64(9)))
}

// scans add the rows of a matrix up.
func (m *maker) scans() {
	body := func(op string) *onnxpb.GraphProto {
		return graphOf([]*onnxpb.ValueInfoProto{onnxtest.Floats("s", 2)[0], onnxtest.Floats("r", 2)[0]}, []string{"t", "u"}, onnxtest.Op(op, "s r", "t"), onnxtest.Op("Identity", "t", "u"))
	}
	model := func(rows int64, b *onnxpb.GraphProto, attrs ...any) *onnxpb.ModelProto {
		node := onnxtest.Op("Scan", "x z", "y", append([]any{"body", b}, attrs...)...)
		node.Output = []string{"y", "all"}
		out := onnxtest.Model(append(onnxtest.Floats("x", 2), onnxtest.Input("z", onnxpb.TensorProto_FLOAT, rows, 2)), node)
		out.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y"), onnxtest.Output("all")}
		return out
	}
	for _, rows := range []int64{0, 1, 3} {
		var zs, all []float64
		sum := 1.0
		for k := range rows {
			zs = append(zs, float64(k), float64(k))
			sum += float64(k)
			all = append(all, sum, sum)
		}
		z := tensor(ir.F32, []int64{rows, 2}, zs...)
		r := Run{Inputs: values("x", f32(1, 1), "z", z), Want: []Want{is(f32(sum, sum)), is(tensor(ir.F32, []int64{rows, 2}, all...))}}
		m.right(fmt.Sprintf("Scan of %d rows", rows), model(rows, body("Add"), "num_scan_inputs", 1), r)
		symbolic := model(rows, body("Add"), "num_scan_inputs", 1)
		symbolic.Graph.Input[1] = onnxtest.Input("z", onnxpb.TensorProto_FLOAT, "R", 2)
		m.right(fmt.Sprintf("Scan of %d rows, a symbol", rows), symbolic, r).with("--dim=R=0..8")
	}
	for _, n := range extremes {
		m.refused(fmt.Sprintf("Scan: num_scan_inputs %d", n), model(3, body("Add"), "num_scan_inputs", n), "n_y")
		m.refused(fmt.Sprintf("Scan: scan_input_axes %d", n), model(3, body("Add"), "num_scan_inputs", 1, "scan_input_axes", []int64{n}), "n_y")
		m.refused(fmt.Sprintf("Scan: scan_output_axes %d", n), model(3, body("Add"), "num_scan_inputs", 1, "scan_output_axes", []int64{n}), "n_y")
		m.refused(fmt.Sprintf("Scan: scan_input_directions %d", n), model(3, body("Add"), "num_scan_inputs", 1, "scan_input_directions", []int64{n}), "n_y")
	}
	m.refused("Scan without a body", onnxtest.Model(onnxtest.Floats("x", 2, 2), onnxtest.Op("Scan", "x", "y", "num_scan_inputs", 1)), "n_y", "body")
	m.refused("Scan without num_scan_inputs", model(3, body("Add")), "n_y", "num_scan_inputs")
	m.refused("Scan: more directions than inputs", model(3, body("Add"), "num_scan_inputs", 1, "scan_input_directions", []int64{0, 0}), "n_y")
	m.refused("Scan: a state of another type", model(3, graphOf([]*onnxpb.ValueInfoProto{onnxtest.Floats("s", 2)[0], onnxtest.Floats("r", 2)[0]}, []string{"t", "u"},
		onnxtest.Op("Cast", "s", "t", "to", 11), onnxtest.Op("Identity", "r", "u")), "num_scan_inputs", 1), "n_y")
	m.refused("Scan: a state of another shape", model(3, graphOf([]*onnxpb.ValueInfoProto{onnxtest.Floats("s", 2)[0], onnxtest.Floats("r", 2)[0]}, []string{"t", "u"},
		onnxtest.Op("Concat", "s r", "t", "axis", 0), onnxtest.Op("Identity", "r", "u")), "num_scan_inputs", 1), "n_y")
	m.refused("Scan: too few results", model(3, graphOf([]*onnxpb.ValueInfoProto{onnxtest.Floats("s", 2)[0], onnxtest.Floats("r", 2)[0]}, []string{"t"}, onnxtest.Op("Add", "s r", "t")), "num_scan_inputs", 1), "n_y")
	m.refused("Scan: too few inputs", model(3, graphOf([]*onnxpb.ValueInfoProto{onnxtest.Floats("s", 2)[0]}, []string{"t", "u"}, onnxtest.Op("Neg", "s", "t"), onnxtest.Op("Abs", "s", "u")), "num_scan_inputs", 1), "n_y")
}

// nested are branches within loops within branches.
func (m *maker) nested(depth int) {
	g := graphOf(nil, []string{"r0"}, onnxtest.Op("Neg", "x", "r0"))
	for k := range depth {
		inner, outer := fmt.Sprint("r", k), fmt.Sprint("r", k+1)
		if k%2 == 0 {
			abs := graphOf(nil, []string{inner + "e"}, onnxtest.Op("Abs", "x", inner+"e"))
			g = graphOf(nil, []string{outer}, onnxtest.Op("If", "c", outer, "then_branch", g, "else_branch", abs))
			continue
		}
		in := []*onnxpb.ValueInfoProto{onnxtest.Input(fmt.Sprint("i", k), onnxpb.TensorProto_INT64), boolInput(fmt.Sprint("go", k)), onnxtest.Floats(fmt.Sprint("s", k), 3)[0]}
		g.Input = in
		g.Output = append([]*onnxpb.ValueInfoProto{onnxtest.Output(fmt.Sprint("go", k))}, g.Output...)
		g = graphOf(nil, []string{outer}, onnxtest.Op("Loop", "two  x", outer, "body", g))
	}
	model := onnxtest.Model(append(onnxtest.Floats("x", 3), boolInput("c")))
	g.Input, g.Initializer = model.Graph.Input, []*onnxpb.TensorProto{onnxtest.Tensor("two", scalarInt(2))}
	model.Graph = g
	x := f32(1, -2, 3)
	m.right(fmt.Sprintf("nested %d times", depth), model, run(is(f32(-1, 2, -3)), "x", x, "c", truthOf(true)))
}
