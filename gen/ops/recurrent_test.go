package ops

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recurrentNode is a recurrent operator of hidden size 3 on sequences of T steps of 2 numbers.
func recurrentNode(op string, gates, directions int64, at ir.Attrs, more ...*ir.Value) *ir.Node {
	in := []*ir.Value{f32("T", "B", 2), weight(directions, gates*3, 2), weight(directions, gates*3, 3)}
	results := 2
	if op == "LSTM" {
		results = 3
	}
	return example{n: node(op, at, append(in, more...)...)}.outputs(results).n
}

// quantizedLSTM is one of hidden size 3 in both directions.
func quantizedLSTM(scale, zero *ir.Value) *ir.Node {
	return microsoft("DynamicQuantizeLSTM", attrs("direction", "bidirectional"), f32("T", "B", 5), val(ir.I8, 2, 5, 12), val(ir.I8, 2, 3, 12),
		weight(2, 24), nil, nil, nil, nil, scale, zero, weight(2, 12), val(ir.I8, 2, 12))
}

func linearNode(rule string, q, k, v *ir.Value, more ...*ir.Value) *ir.Node {
	at := attrs("q_num_heads", 4, "kv_num_heads", 2, "update_rule", rule)
	return example{n: node("LinearAttention", at, append([]*ir.Value{q, k, v}, more...)...)}.outputs(2).n
}

func recurrentExamples() []example {
	return []example{
		{n: recurrentNode("RNN", 1, 1, nil)},
		{n: recurrentNode("GRU", 3, 1, nil)},
		{n: recurrentNode("LSTM", 4, 1, nil)},
		{n: linearNode("linear", f32("B", "T", 16), f32("B", "T", 8), f32("B", "T", 6))},
	}
}

// TestExpansions shows what compositions stand for: the product with the inputs' weights is
// outside of the scan, for all steps at once.
func TestExpansions(t *testing.T) {
	lens, state := val(ir.I32, "B"), func(d int) *ir.Value { return f32(d, "B", 3) }
	var b strings.Builder
	for _, x := range []struct {
		what string
		n    *ir.Node
	}{
		{"RNN, backward, with a bias and another activation", recurrentNode("RNN", 1, 1,
			attrs("direction", "reverse", "activations", []string{"HardSigmoid"}, "activation_beta", []float32{0.25}, "clip", 2.0), weight(1, 6))},
		{"GRU, both directions", recurrentNode("GRU", 3, 2, attrs("direction", "bidirectional"))},
		{"GRU whose reset gate acts on the product", recurrentNode("GRU", 3, 1, attrs("linear_before_reset", 1), weight(1, 18))},
		{"LSTM with lengths, states and peepholes", recurrentNode("LSTM", 4, 1, nil, weight(1, 24), lens, state(1), state(1), weight(1, 9))},
		{"LSTM of half types whose last cell alone is wanted", halfCell()},
		{"LinearAttention with both rules and a state", linearNode("gated_delta", f32("B", "T", 16), f32("B", "T", 8), f32("B", "T", 6),
			f32("B", 2, 4, 3), f32("B", "T", 2), f32("B", "T", 1))},
	} {
		e, err := Expand(x.n, nil)
		require.NoError(t, err)
		require.Empty(t, e.Checks, x.what)
		e.Graph.Symbols = []ir.Symbol{{Name: "T", Lo: 1, Hi: 9}, {Name: "B", Lo: 1, Hi: 9}}
		require.NoError(t, ir.Verify(e.Graph))
		b.WriteString("# " + x.what + "\n")
		require.NoError(t, ir.Dump(&b, e.Graph))
		b.WriteString("\n")
	}
	const file = "testdata/expansions.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test ./gen/ops -run TestExpansions -update")
}

// halfCell has no operand and result but those it needs.
func halfCell() *ir.Node {
	half := func(dims ...any) *ir.Value { return val(ir.F16, dims...) }
	n := node("LSTM", attrs("layout", 1, "input_forget", 1), half("B", "T", 2), half(1, 12, 2), half(1, 12, 3))
	n.Outputs = []*ir.Value{nil, nil, {Name: "c"}}
	return n
}

func TestRecurrentChecks(t *testing.T) {
	n := recurrentNode("LSTM", 4, 1, attrs("hidden_size", 3), weight(1, 24), val(ir.I32, "L"), f32("D", "B", 3), f32(1, "B", "H"))
	e, err := Expand(n, nil)
	require.NoError(t, err)
	require.Equal(t, "L == B, D == 1, H == 3", checksText(&Meaning{Checks: e.Checks}))
}

// withGraph gives a node a region that takes its last operand.
func withGraph(n *ir.Node) *ir.Node {
	n.Captures, n.Regions = 1, []*ir.Graph{region(1, 1)}
	return n
}

func TestRecurrentErrors(t *testing.T) {
	rnn := func(at ir.Attrs, more ...*ir.Value) *ir.Node { return recurrentNode("RNN", 1, 1, at, more...) }
	acts := func(names ...string) []any { return []any{"activations", names} }
	with := func(kv []any, more ...any) ir.Attrs { return attrs(append(kv, more...)...) }
	q, k, v := f32("B", "T", 16), f32("B", "T", 8), f32("B", "T", 6)
	heads := func(q, kv int) *ir.Node {
		n := linearNode("linear", f32("B", "T", 16), k, v)
		n.Attrs = attrs("q_num_heads", q, "kv_num_heads", kv, "update_rule", "linear")
		return n
	}
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{rnn(attrs("direction", "backward")), `attribute direction is "backward"; supported are ["forward" "reverse" "bidirectional"]`},
		{rnn(attrs("direction", "bidirectional")), "W: dimension 0 of operand 1: found 1 and 2"},
		{rnn(attrs("layout", 2)), "attribute layout is 2; supported are 0 and 1"},
		{rnn(attrs("clip", -1.0)), "attribute clip is -1; want at least 0"},
		{rnn(attrs("hidden_size", 0)), "attribute hidden_size is 0; want at least 1"},
		{rnn(attrs("hidden_size", 4)), "the numbers of a state in R and attribute hidden_size: found 3 and 4"},
		{rnn(with(acts("Tanh", "Tanh"))), "attribute activations names 2 functions; want 1 for each of 1 directions"},
		{rnn(with(acts("Gelu"))), `attribute activations names "Gelu"; supported are ["Relu" "Tanh"`},
		{rnn(with(acts("ScaledTanh"))), "attribute activation_alpha has no number for ScaledTanh, which has no default"},
		{rnn(with(acts("ScaledTanh"), "activation_alpha", []float32{1})), "attribute activation_beta has no number for ScaledTanh"},
		{rnn(with(acts("Elu"), "activation_alpha", []float32{1, 2})), `attributes activation_alpha and activation_beta have 1 and 0 numbers too many for the activations ["Elu"]`},
		{rnn(with(acts("Tanh"), "activation_beta", []float32{1})), "have 0 and 1 numbers too many"},
		{withGraph(rnn(nil, weight(1, 6), nil, nil, f32(2), f32(3))), "the node has 1 graphs; the operator runs none"},
		{rnn(nil, weight(1, 7)), "B: dimension 1 of operand 3: found 7 and 6"},
		{rnn(nil, weight(6)), "B: operand 3 has rank 1; want rank 2"},
		{rnn(nil, nil, i64("B")), "operand 4 (sequence_lens, \"x4\") has type i64; supported are i32"},
		{rnn(nil, nil, nil, f32(1, "B", 4)), "initial_h: dimension 2 of operand 5: found 4 and 3"},
		{node("RNN", nil, f32("T", 2), weight(1, 3, 2), weight(1, 3, 3)), "operands X, W and R have ranks 2, 3 and 3; want rank 3"},
		{recurrentNode("GRU", 3, 1, attrs("linear_before_reset", 2)), "attribute linear_before_reset is 2"},
		{recurrentNode("LSTM", 4, 1, attrs("input_forget", -1)), "attribute input_forget is -1"},
		{recurrentNode("LSTM", 4, 1, nil, nil, nil, nil, nil, weight(1, 12)), "P: dimension 1 of operand 7: found 12 and 9"},
		{linearNode("half", q, k, v), `attribute update_rule is "half"; supported are ["gated_delta" "linear" "gated" "delta"]`},
		{linearNode("gated", q, k, v), `attribute update_rule is "gated", which needs operand 4 (decay)`},
		{linearNode("linear", q, k, v, nil, nil, f32("B", "T", 2)), `attribute update_rule is "linear", which has no use for operand 5 (beta)`},
		{linearNode("delta", q, k, v, nil, nil, f32("B", "T", 3)), "dimension 2 of operand 5: found 3 and 2"},
		{linearNode("delta", q, k, v, nil, nil, f32("B", "T", "H")), "whether dimension 2 (H) of operand 5 (beta) is 2 or 1"},
		{linearNode("gated", q, k, v, nil, f32("B", "T", 4)), "dimension 2 of operand 4: found 4 and 2"},
		{linearNode("linear", f32("B", 16), k, v), "operand 0 has rank 2; want rank 3"},
		{linearNode("linear", f32("B", "T", 8), k, v), "sizes of a head of query and key: found 2 and 4"},
		{heads(4, 3), "attributes q_num_heads and kv_num_heads are 4 and 3; want both at least 1, and the first a multiple"},
		{heads(16, 16), "the number of heads must divide the last dimension of operand 1: found 0 and 8"},
	} {
		_, err := Expand(c.n, nil)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "node "+c.n.Op+` "n": `)
	}
}
