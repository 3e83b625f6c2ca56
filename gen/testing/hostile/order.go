package hostile

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// orderCases are nodes out of topological order, which are sorted, and cycles, which are refused.
func orderCases(m *maker) error {
	r := rand.New(rand.NewPCG(m.seed, 11))
	for i := range 60 {
		m.shuffled(r, i)
	}
	for n := 1; n <= 12; n++ {
		m.cycles(n)
	}
	m.orderWithin()
	return nil
}

// shuffled is a graph of nodes that each read two earlier results, in another order.
func (m *maker) shuffled(r *rand.Rand, i int) {
	n := 2 + r.IntN(20)
	results := [][]float64{{1, -2, 3}}
	names := []string{"x"}
	var nodes []*onnxpb.NodeProto
	for k := range n {
		a, b := r.IntN(len(names)), r.IntN(len(names))
		op, f := "Sub", func(x, y float64) float64 { return x - y }
		if r.IntN(2) == 0 {
			op, f = "Max", func(x, y float64) float64 { return max(x, y) }
		}
		var out []float64
		for e := range results[a] {
			out = append(out, f(results[a][e], results[b][e]))
		}
		name := fmt.Sprint("v", k)
		nodes = append(nodes, onnxtest.Op(op, names[a]+" "+names[b], name))
		results, names = append(results, out), append(names, name)
	}
	last := names[len(names)-1]
	switch i % 3 {
	case 0:
		slices.Reverse(nodes)
	default:
		r.Shuffle(len(nodes), func(a, b int) { nodes[a], nodes[b] = nodes[b], nodes[a] })
	}
	model := onnxtest.Model(onnxtest.Floats("x", 3), nodes...)
	model.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output(last)}
	m.right(fmt.Sprintf("%d nodes, order %d", n, i), model, run(is(f32(results[len(results)-1]...)), "x", f32(1, -2, 3)))
}

// cycles of n nodes, alone and behind others, in order and not.
func (m *maker) cycles(n int) {
	var nodes []*onnxpb.NodeProto
	for k := range n {
		nodes = append(nodes, onnxtest.Op("Add", fmt.Sprintf("x c%d", (k+n-1)%n), fmt.Sprint("c", k)))
	}
	before := onnxtest.Op("Relu", "x", "b")
	after := onnxtest.Op("Neg", "c0", "y")
	words := []string{"cycle | not defined before | uses its own result"}
	m.refused(fmt.Sprintf("a cycle of %d", n), onnxtest.Model(onnxtest.Floats("x", 3), slices.Concat(nodes, []*onnxpb.NodeProto{after})...), append(words, "n_")...)
	m.refused(fmt.Sprintf("a cycle of %d, not in order", n), onnxtest.Model(onnxtest.Floats("x", 3), slices.Concat([]*onnxpb.NodeProto{after}, nodes, []*onnxpb.NodeProto{before})...), append(words, "n_")...)
	unread := onnxtest.Model(onnxtest.Floats("x", 3), slices.Concat(nodes, []*onnxpb.NodeProto{before})...)
	m.refused(fmt.Sprintf("a cycle of %d that nothing reads", n), unread, append(words, "n_")...)
}

// orderWithin are orders in branches, loops and functions, and of what they capture.
func (m *maker) orderWithin() {
	branch := func(nodes ...*onnxpb.NodeProto) *onnxpb.GraphProto {
		g := onnxtest.Model(nil, nodes...).Graph
		g.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("r")}
		return g
	}
	x, yes := f32(1, -2, 3), intTensor(ir.Bool, []int64{}, 1)
	inputs := append(onnxtest.Floats("x", 3), onnxtest.Input("c", onnxpb.TensorProto_BOOL))
	first, second := onnxtest.Op("Neg", "x", "q"), onnxtest.Op("Relu", "q", "r")
	m.right("in a branch", onnxtest.Model(inputs, onnxtest.Op("If", "c", "y", "then_branch", branch(second, first), "else_branch", branch(first, second))), run(is(f32(0, 2, 0)), "x", x, "c", yes))
	outer := onnxtest.Model(inputs, onnxtest.Op("If", "c", "y", "then_branch", branch(onnxtest.Op("Relu", "late", "r")), "else_branch", branch(onnxtest.Op("Abs", "late", "r"))),
		onnxtest.Op("Neg", "x", "late"))
	outer.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	m.right("what a branch captures", outer, run(is(f32(0, 2, 0)), "x", x, "c", yes))
	f := onnxtest.Function("F", "a", "r", onnxtest.Op("Relu", "q", "r"), onnxtest.Op("Neg", "a", "q"))
	m.right("in a function", onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Call("F", "x", "y")), f), run(is(f32(0, 2, 0)), "x", x))
	cyclic := onnxtest.Function("F", "a", "r", onnxtest.Op("Relu", "q", "r"), onnxtest.Op("Neg", "r", "q"))
	m.refused("a cycle in a function", onnxtest.WithFunctions(onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Call("F", "x", "y")), cyclic), "cycle | not defined before")
	m.refused("a cycle in a branch", onnxtest.Model(inputs, onnxtest.Op("If", "c", "y", "then_branch", branch(onnxtest.Op("Neg", "r", "q"), second), "else_branch", branch(first, second))),
		"cycle | not defined before")
	through := onnxtest.Model(inputs, onnxtest.Op("If", "c", "a", "then_branch", branch(onnxtest.Op("Relu", "late", "r")), "else_branch", branch(onnxtest.Op("Abs", "late", "r"))),
		onnxtest.Op("Neg", "a", "late"))
	m.refused("a cycle through a branch", through, "cycle | not defined before")
	constant := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Add", "x k", "y"), onnxtest.Op("Constant", "", "k", "value_floats", []float32{1, 2, 3}))
	constant.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	m.right("a constant that is last", constant, run(is(f32(2, 0, 6)), "x", x))
	alias := onnxtest.Model(onnxtest.Floats("x", 3), onnxtest.Op("Neg", "i", "y"), onnxtest.Op("Identity", "x", "i"))
	alias.Graph.Output = []*onnxpb.ValueInfoProto{onnxtest.Output("y")}
	m.right("an Identity that is last", alias, run(is(f32(-1, 2, -3)), "x", x))
}
