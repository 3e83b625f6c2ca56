package ops

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// region is a graph of that many inputs, the first of which, or a constant, is each output.
func region(inputs, outputs int) *ir.Graph {
	g := &ir.Graph{Name: "region", Opset: 17}
	for range inputs {
		g.Inputs = append(g.Inputs, f32("N"))
	}
	for range outputs {
		if inputs == 0 {
			g.Outputs = append(g.Outputs, weight(1))
		} else {
			g.Outputs = append(g.Outputs, g.Inputs[0])
		}
	}
	return g
}

// controlNode is a node whose attributes of these names are its regions.
func controlNode(n *ir.Node, regions map[string]*ir.Graph) *ir.Node {
	if n.Attrs == nil {
		n.Attrs = ir.Attrs{}
	}
	for _, name := range []string{"body", "then_branch", "else_branch"} {
		if r := regions[name]; r != nil {
			n.Attrs[name] = ir.RegionRef(len(n.Regions))
			n.Regions = append(n.Regions, r)
		}
	}
	return n
}

func ifNode() *ir.Node {
	return controlNode(node("If", nil, val(ir.Bool)), map[string]*ir.Graph{"then_branch": region(0, 1), "else_branch": region(0, 1)})
}

func loopNode(body *ir.Graph, operands ...*ir.Value) *ir.Node {
	return controlNode(node("Loop", nil, operands...), map[string]*ir.Graph{"body": body})
}

func scanNode(body *ir.Graph, at ir.Attrs, operands ...*ir.Value) *ir.Node {
	return controlNode(node("Scan", at, operands...), map[string]*ir.Graph{"body": body})
}

func controlExamples() []example {
	return []example{
		{n: ifNode()},
		{n: loopNode(region(3, 2), i64(), nil, f32("N"))},
		example{n: scanNode(region(2, 2), attrs("num_scan_inputs", 1), f32("N"), f32(5, "N"))}.outputs(2),
	}
}

// TestCapturesAreNoOperands: a definition knows nothing of captures.
func TestCapturesAreNoOperands(t *testing.T) {
	n := ifNode()
	n.Inputs, n.Captures = append(n.Inputs, f32("N"), i64()), 2
	for _, r := range n.Regions {
		r.Inputs = []*ir.Value{f32("N"), i64()}
	}
	s, err := IfOf(n)
	require.NoError(t, err)
	require.Same(t, n.Regions[0], s.Branch(true))
	require.Same(t, n.Regions[1], s.Branch(false))
	n.Captures = 1
	_, err = IfOf(n)
	require.ErrorContains(t, err, `node If "n": 2 operands, definition 25 of the operator has at most 1`)
}

func TestLoopOf(t *testing.T) {
	n := loopNode(region(4, 4), nil, val(ir.Bool), f32("N"), i64())
	n = example{n: n}.outputs(3).n
	s, err := LoopOf(n)
	require.NoError(t, err)
	require.Nil(t, s.Max)
	require.NotNil(t, s.Cond)
	require.Len(t, s.Carried, 2)

	s, err = LoopOf(loopNode(region(2, 2), i64()))
	require.NoError(t, err, "a loop may carry nothing")
	require.Nil(t, s.Cond)
	require.Empty(t, s.Carried)
}

func TestScanOf(t *testing.T) {
	n := scanNode(region(3, 2), attrs("num_scan_inputs", 2, "scan_input_axes", ints(1, -1), "scan_input_directions", ints(0, 1)),
		f32("N"), f32("N", 5), f32("N", 5))
	n = example{n: n}.outputs(2).n
	s, err := ScanOf(n)
	require.NoError(t, err)
	require.Equal(t, []ScanAxis{{1, false}, {-1, true}}, s.In)
	require.Equal(t, []ScanAxis{{0, false}}, s.Out)
	require.Equal(t, []int{1, 2}, []int{len(s.States), len(s.Scanned)})

	n = scanNode(region(1, 1), attrs("num_scan_inputs", 1), nil, f32(2, 5))
	n.Version = 8
	s, err = ScanOf(n)
	require.NoError(t, err)
	require.True(t, s.Batch)
}

func TestControlErrors(t *testing.T) {
	one := attrs("num_scan_inputs", 1)
	old := func(n *ir.Node) *ir.Node { n.Version = 8; return n }
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("If", nil, val(ir.Bool)), `attribute "then_branch" is absent, but required`},
		{controlNode(node("If", nil, f32()), map[string]*ir.Graph{"then_branch": region(0, 1), "else_branch": region(0, 1)}), "has type f32; supported are bool"},
		{controlNode(node("If", attrs("else_branch", ir.RegionRef(7)), val(ir.Bool)), map[string]*ir.Graph{"then_branch": region(0, 1)}), "attribute else_branch names no region"},
		{twoResults(ifNode()), "attribute then_branch: the graph has 1 outputs; the node's operands and results need 2"},
		{loopNode(region(2, 2), i64(), nil, f32(1)), "attribute body: the graph has 2 inputs; Loop passes it 3"},
		{loopNode(region(3, 2), i64(), nil, nil), "operand 2 (v_initial) is absent"},
		{loopNode(region(3, 2), i64(), nil, f32(1), nil), "operand 3 is absent, but required"},
		{loopNode(region(4, 2), i64(), nil, f32(1), f32(1)), "1 results for 2 values that the loop carries"},
		{loopNode(region(3, 2), f32(), nil, f32(1)), "operand 0 (M, \"x0\") has type f32; supported are i64"},
		{scanNode(region(1, 1), attrs("num_scan_inputs", 0), f32(1)), "attribute num_scan_inputs is 0"},
		{scanNode(region(1, 1), attrs("num_scan_inputs", 2), f32(1)), "attribute num_scan_inputs is 2; want at least 1, and at most the node's 1 operands"},
		{scanNode(region(1, 1), attrs("num_scan_inputs", 1, "scan_input_axes", ints(0, 0)), f32(1)), "attribute scan_input_axes has 2 numbers; want 1"},
		{scanNode(region(1, 1), attrs("num_scan_inputs", 1, "scan_output_directions", ints(2)), f32(1)), "attribute scan_output_directions is [2]; every number must be 0 (forward) or 1"},
		{scanNode(region(3, 1), one, f32(1), f32(1), f32(1)), "1 results for 2 states"},
		{old(scanNode(region(1, 1), attrs("num_scan_inputs", 1), i64(1), f32(1, 1))), "operand 0 (sequence_lens) is present, which is not supported in opset 8"},
	} {
		var err error
		switch c.n.Op {
		case "If":
			_, err = IfOf(c.n)
		case "Loop":
			_, err = LoopOf(c.n)
		default:
			_, err = ScanOf(c.n)
		}
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "node "+c.n.Op+` "n": `)
	}
}

// TestSpecsDoNotPanic breaks control nodes in every way that the text form could.
func TestSpecsDoNotPanic(t *testing.T) {
	for _, x := range controlExamples() {
		for drop := range 4 {
			for captures := range 3 {
				n := *x.n
				n.Inputs = slices.Clone(n.Inputs[:max(0, len(n.Inputs)-drop)])
				n.Captures = min(captures, len(n.Inputs))
				n.Outputs = n.Outputs[:max(0, len(n.Outputs)-drop)]
				require.NotPanics(t, func() {
					for _, of := range []func(*ir.Node) error{
						func(n *ir.Node) error { _, err := IfOf(n); return err },
						func(n *ir.Node) error { _, err := LoopOf(n); return err },
						func(n *ir.Node) error { _, err := ScanOf(n); return err },
					} {
						_ = of(&n)
					}
				})
			}
		}
	}
}

func TestScanAxis(t *testing.T) {
	axis, err := ScanAxis{Axis: -1}.Of(3)
	require.NoError(t, err)
	require.Equal(t, 2, axis)
	for _, x := range []int64{3, -4, -1 << 63, 1<<63 - 1} {
		_, err := ScanAxis{Axis: x}.Of(3)
		require.ErrorContains(t, err, "the rank is 3")
	}
}
