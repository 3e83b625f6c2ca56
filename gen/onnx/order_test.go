package onnx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

func nodeNames(g *ir.Graph) (list []string) {
	for _, n := range g.Nodes {
		list = append(list, n.Name)
	}
	return list
}

// TestOrder reads nodes that stand before those whose results they use.
func TestOrder(t *testing.T) {
	relu := func(in, out string) *onnxpb.NodeProto { return node("Relu", names(in), names(out)) }
	for _, c := range []struct {
		name  string
		nodes []*onnxpb.NodeProto
		want  []string
	}{
		{"in order", []*onnxpb.NodeProto{relu("x", "b"), relu("x", "a"), node("Add", names("a", "b"), names("y"))}, names("n_b", "n_a", "n_y")},
		{"reversed", []*onnxpb.NodeProto{relu("b", "y"), relu("a", "b"), relu("x", "a")}, names("n_a", "n_b", "n_y")},
		{"others keep their place", []*onnxpb.NodeProto{relu("x", "c"), relu("late", "a"), relu("x", "d"), relu("x", "late"), node("Sum", names("c", "a", "d"), names("y"))},
			names("n_c", "n_late", "n_a", "n_d", "n_y")},
		{"a constant", []*onnxpb.NodeProto{node("Add", names("x", "k"), names("y")), node("Constant", nil, names("k"), "value_float", float32(1))}, names("n_y")},
		{"used twice", []*onnxpb.NodeProto{node("Add", names("a", "a"), names("y")), relu("x", "a")}, names("n_a", "n_y")},
		{"one of two results", []*onnxpb.NodeProto{node("Add", names("a", "b"), names("y")), node("Split", names("x"), names("a", "b"))}, names("n_a", "n_y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := mustRead(t, modelOf(names("x"), names("y"), c.nodes...))
			require.Equal(t, c.want, nodeNames(g))
			roundTrips(t, g)
		})
	}
}

// TestOrderOfSubgraphs: what a branch uses of the graphs around it comes before the If, at any depth, and
// a branch's own nodes are sorted too.
func TestOrderOfSubgraphs(t *testing.T) {
	inner := graphOf(nil, names("r"), node("Add", names("q", "late"), names("r")), node("Neg", names("late"), names("q")))
	same := graphOf(nil, names("late2")) // an output may be a value of the graph around
	outer := graphOf(nil, names("s"), node("If", names("cond"), names("s"), "then_branch", inner, "else_branch", same))
	m := modelOf(names("x"), names("y"),
		node("If", names("cond"), names("y"), "then_branch", outer, "else_branch", outer),
		node("Relu", names("x"), names("late")), node("Abs", names("x"), names("late2")))
	m.Graph.Input = append(m.Graph.Input, info("cond", onnxpb.TensorProto_BOOL))
	g := mustRead(t, m)
	require.Equal(t, names("n_late", "n_late2", "n_y"), nodeNames(g))
	require.Equal(t, names("n_q", "n_r"), nodeNames(g.Nodes[2].Regions[0].Nodes[0].Region("then_branch")))
	roundTrips(t, g)
}

// TestOrderOfNames: a name of the subgraph is not the one of the graph around.
func TestOrderOfNames(t *testing.T) {
	body := graphOf(nil, nil, node("Add", names("v", "late"), names("w")), node("Identity", names("c"), names("c2")))
	body.Input = []*onnxpb.ValueInfoProto{info("i", onnxpb.TensorProto_INT64), info("c", onnxpb.TensorProto_BOOL), info("v", onnxpb.TensorProto_FLOAT)}
	body.Output = []*onnxpb.ValueInfoProto{info("c2", onnxpb.TensorProto_BOOL), info("w", onnxpb.TensorProto_FLOAT)}
	m := modelOf(names("x"), names("y"),
		node("Neg", names("loop"), names("v")), // another v, which needs the loop
		node("Loop", names("trips", "", "x"), names("loop"), "body", body),
		node("Relu", names("x"), names("late")), node("Abs", names("v"), names("y")))
	m.Graph.Initializer = []*onnxpb.TensorProto{raw("trips", onnxpb.TensorProto_INT64, le(int64(3)))}
	require.Equal(t, names("n_late", "n_loop", "n_v", "n_y"), nodeNames(mustRead(t, m)))
}

func TestOrderOfFunctions(t *testing.T) {
	f := function("my", "F", names("a"), names("b"), node("Neg", names("t"), names("b")), node("Relu", names("a"), names("t")))
	m := modelOf(names("x"), names("y"),
		inDomain("my", node("F", names("z"), names("y"))), inDomain("my", node("F", names("x"), names("z"))))
	m.OpsetImport = opsets("", 17, "my", 1)
	m.Functions = []*onnxpb.FunctionProto{f}
	require.Equal(t, names("n_z/n_t", "n_z/n_b", "n_y/n_t", "n_y/n_b"), nodeNames(mustRead(t, m)))
}

// TestCycles: only cycles are refused, by the names of the nodes of one.
func TestCycles(t *testing.T) {
	relu := func(in, out string) *onnxpb.NodeProto { return node("Relu", names(in), names(out)) }
	nameless := relu("y", "z")
	nameless.Name = nil
	branch := graphOf(nil, names("r"), node("Neg", names("y"), names("r")))
	own := graphOf(nil, names("a"), relu("b", "a"), relu("a", "b"))
	for _, c := range []struct {
		name  string
		nodes []*onnxpb.NodeProto
		want  string
	}{
		{"itself", []*onnxpb.NodeProto{relu("y", "y")}, `node "Relu" "n_y" uses its own result`},
		{"two", []*onnxpb.NodeProto{relu("x", "a"), relu("z", "y"), nameless}, `the nodes "Relu" "n_y", "Relu" (result "z") form a cycle`},
		{"behind a chain", []*onnxpb.NodeProto{relu("a", "y"), relu("b", "a"), relu("c", "b"), relu("b", "c")}, `the nodes "Relu" "n_b", "Relu" "n_c" form a cycle`},
		{"through a branch", []*onnxpb.NodeProto{node("If", names("x"), names("z"), "then_branch", branch, "else_branch", branch), relu("z", "y")},
			`the nodes "If" "n_z", "Relu" "n_y" form a cycle`},
		{"in a branch", []*onnxpb.NodeProto{node("If", names("x"), names("y"), "then_branch", own, "else_branch", own)},
			`node "If" "n_y", attribute "then_branch": the nodes "Relu" "n_a", "Relu" "n_b" form a cycle`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(t, modelOf(names("x"), names("y"), c.nodes...), Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
	t.Run("in a function", func(t *testing.T) {
		m := modelOf(names("x"), names("y"), inDomain("my", node("F", names("x"), names("y"))))
		m.Functions = []*onnxpb.FunctionProto{function("my", "F", names("x"), names("a"), relu("b", "a"), relu("a", "b"))}
		_, err := read(t, m, Options{})
		require.ErrorContains(t, err, `function "F": the nodes "Relu" "n_a", "Relu" "n_b" form a cycle`)
	})
}

// TestOrderOfMany reads a chain of 100,000 nodes forward, backward and shuffled; more than linear time would be minutes.
func TestOrderOfMany(t *testing.T) {
	const count = 100_000
	var nodes []*onnxpb.NodeProto
	for i := range count {
		nodes = append(nodes, node("Relu", names(fmt.Sprint("v", i)), names(fmt.Sprint("v", i+1))))
	}
	m := modelOf(names("v0"), names(fmt.Sprint("v", count)), nodes...)
	want := nodeNames(mustRead(t, m))
	require.Len(t, want, count)
	slices.Reverse(m.Graph.Node)
	start := time.Now()
	require.Equal(t, want, nodeNames(mustRead(t, m)))
	rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, k int) { m.Graph.Node[i], m.Graph.Node[k] = m.Graph.Node[k], m.Graph.Node[i] })
	require.Equal(t, want, nodeNames(mustRead(t, m)))
	require.Less(t, time.Since(start), time.Minute)
	m.Graph.Node = append(m.Graph.Node, node("Relu", names("c0"), names("c9999")))
	for i := range 9999 {
		m.Graph.Node = append(m.Graph.Node, node("Relu", names(fmt.Sprint("c", i+1)), names(fmt.Sprint("c", i))))
	}
	_, err := read(t, m, Options{})
	require.ErrorContains(t, err, "and 9950 more form a cycle")
	require.Less(t, len(err.Error()), 5000)
}
