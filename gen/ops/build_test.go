package ops

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestTypes builds each example with each element type of its first operand and
// checks that every scalar function takes what it is given.
func TestTypes(t *testing.T) {
	for _, x := range examples() {
		row := Lookup(x.n.Op)
		if len(row.Inputs) == 0 || x.n.Op == "Range" || row.Build == nil {
			continue
		}
		for _, typ := range row.Inputs[0].Types {
			n, ok := retyped(x.n, row, typ)
			if !ok {
				continue
			}
			m, err := Build(n, nil)
			require.NoError(t, err, "%s of %s", x.n.Op, typ)
			for _, s := range m.Stages {
				checkScalars(t, s, fmt.Sprintf("%s of %s", x.n.Op, typ))
			}
		}
	}
}

// retyped gives the node another type of operand 0 and of those that share it.
func retyped(n *ir.Node, row *Row, typ ir.DType) (*ir.Node, bool) {
	out := *n
	out.Inputs = append([]*ir.Value{}, n.Inputs...)
	out.Attrs = ir.Attrs{}
	for k, v := range n.Attrs {
		out.Attrs[k] = v
	}
	if n.Op == "Mod" && typ.IsFloat() {
		out.Attrs["fmod"] = int64(1)
	}
	if n.Op == "BitCast" { // the unsigned type of the same size
		out.Attrs["to"] = map[int]int64{1: 2, 2: 4, 4: 12, 8: 13}[typ.Size()]
	}
	ps := (&Ctx{Row: row, Version: 1 << 20}).params()
	for i, v := range out.Inputs {
		p := ps[min(i, len(ps)-1)]
		if i == 0 && p.Structural {
			return nil, false
		}
		if p.Structural || (i > 0 && (p.Like == "" || p.Like != ps[0].Like)) {
			continue
		}
		out.Inputs[i] = &ir.Value{Name: v.Name, Type: typ, Shape: v.Shape, HasShape: true}
	}
	return &out, true
}

func checkScalars(t *testing.T, s *te.Stage, what string) {
	EachExpr(s, func(e te.Expr) {
		c, ok := e.(te.Call)
		if !ok {
			return
		}
		var args []ir.DType
		for _, a := range c.Args {
			args = append(args, a.DType())
		}
		require.NoError(t, scalar.Check(c.Fn, c.Type, args), what)
	})
	if s.Combine == nil {
		return
	}
	require.Equal(t, len(s.Values), len(s.Combine.Init), what)
	require.Equal(t, len(s.Values), len(s.Combine.Join), what)
	for i, v := range s.Values {
		require.Equal(t, v.DType(), s.Combine.Init[i].DType(), what)
		require.Equal(t, v.DType(), s.Combine.Join[i].DType(), what)
	}
}

// TestVersions builds nodes of old definitions, whose attributes later became operands.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		version int
		n       *ir.Node
		shape   string
	}{
		{1, node("ReduceSum", attrs("axes", ints(-1), "keepdims", 0), f32("N", 8)), "[N]"},
		{13, node("ReduceMean", attrs("axes", ints(0)), f32("N", 8)), "[1 8]"},
		{1, node("Squeeze", attrs("axes", ints(0)), f32(1, "N")), "[N]"},
		{1, node("Unsqueeze", attrs("axes", ints(0, -1)), f32("N")), "[1 N 1]"},
		{1, node("Slice", attrs("starts", ints(1), "ends", ints(math.MaxInt64), "axes", ints(1)), f32("N", 8)), "[N 7]"},
		{2, node("Pad", attrs("pads", ints(0, 1, 0, 2), "value", 1.5), f32("N", 8)), "[N 11]"},
		{6, node("Clip", attrs("min", 0.0, "max", 6.0), f32("N")), "[N]"},
		{2, node("Split", attrs("axis", 1, "split", ints(8)), f32("N", 8)), "[N 8]"},
		{7, node("Dropout", attrs("ratio", 0.5), f32("N")), "[N]"},
		{1, node("Softmax", nil, f32("N", 4, 5)), "[N 4 5]"},
		{8, node("MaxPool", attrs("kernel_shape", ints(2), "storage_order", 1), f32("N", 3, 8)), "[N 3 7]"},
		{7, node("BatchNormalization", attrs("spatial", 1), f32("N", 3), weight(3), weight(3), weight(3), weight(3)), "[N 3]"},
		{7, results(5, node("BatchNormalization", nil, f32("N", 3), weight(3), weight(3), weight(3), weight(3))), "[N 3]"},
	} {
		t.Run(c.n.Op, func(t *testing.T) {
			c.n.Version = c.version
			m, err := Build(c.n, nil)
			require.NoError(t, err)
			require.Equal(t, c.shape, fmt.Sprint(m.Stages[m.Outputs[0].N].Shape()))
		})
	}
}

// TestSoftmaxOfOldDefinitions reduces all axes from the given one on.
func TestSoftmaxOfOldDefinitions(t *testing.T) {
	n := node("Softmax", nil, f32("N", 4, 5))
	n.Version = 11
	m, err := Build(n, nil)
	require.NoError(t, err)
	require.Len(t, m.Stages[0].Axes, 1)
	require.Len(t, m.Stages[0].Reduce, 2)
	n.Version = 13
	m, err = Build(n, nil)
	require.NoError(t, err)
	require.Len(t, m.Stages[0].Axes, 2)
	require.Len(t, m.Stages[0].Reduce, 1)
}

// TestSymbols has shapes of symbols, and the conditions that a run must satisfy.
func TestSymbols(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      *ir.Node
		shape  string
		checks string
	}{
		{"conv", node("Conv", attrs("pads", ints(1, 1, 1, 1), "strides", ints(2, 2)), f32("N", 3, "H", "W"), weight(8, 3, 3, 3)),
			"[N 8 ((H + 1) // (2)) ((W + 1) // (2))]", "H + 2 >= 3, W + 2 >= 3"},
		{"same", node("Conv", attrs("auto_pad", "SAME_UPPER", "strides", ints(2)), f32("N", 3, "H"), weight(8, 3, 3)),
			"[N 8 ((H + 1) // (2))]", ""},
		{"groups", node("Conv", attrs("group", 2), f32("N", 6, 4), f32("M", 3, 1)), "[N M 4]", "2*((M) // (2)) == M"},
		{"groups of channels", node("ConvTranspose", attrs("group", 2), f32("N", "C", 4), f32("C", 3, 1)), "[N 6 4]", "2*((C) // (2)) == C"},
		{"reshape with -1", node("Reshape", nil, f32("N", 3, "H", "W"), vec(0, -1, 3)), "[N H*W 3]", ""},
		{"reshape of a batch", node("Reshape", nil, f32("N", 12), vec(-1, 4)), "[3*N 4]", ""},
		{"reshape that may not divide", node("Reshape", nil, f32("N"), vec(-1, 4)), "[((N) // (4)) 4]", "4*((N) // (4)) == N"},
		{"broadcast", node("Add", nil, f32("N", 8), f32("M", 1)), "[max(M, N)*min(M, min(1, N)) 8]", "N ~ M"},
		{"broadcast with a number", node("Add", nil, f32("N"), f32(8)), "[8]", "N ~ 8"},
		{"broadcast with nothing", node("Add", nil, f32("N"), f32(0)), "[0]", "1 >= N"},
		{"broadcast of nothing", node("Add", nil, f32(0, 3), f32("N", 1)), "[0 3]", "1 >= N"},
		{"matmul", node("MatMul", nil, f32("N", "K"), f32("L", 5)), "[N 5]", "K == L"},
		{"a scale for all or for each", node("DequantizeLinear", attrs("axis", 0), val(ir.U8, "N", 3), f32("M")), "[N 3]", "M ~ N, max(M, N)*min(N, min(1, M)) == N"},
		{"a scale for all or for each block", node("DequantizeLinear", attrs("block_size", 4), val(ir.U8, 17), f32("M")), "[17]", "M ~ 5, max(5, M)*min(1, M) == 5"},
		{"blocks of a matrix", node("DequantizeLinear", attrs("block_size", 4), val(ir.U8, "N", 3), f32(1, 1)), "[N 3]", "1 == N"},
		{"zero points of lines", node("MatMulInteger", nil, val(ir.U8, "N", 4), val(ir.U8, 4, 5), val(ir.U8, "M"), val(ir.U8, "K", 5)), "[N 5]",
			"M ~ N, max(M, N)*min(N, min(1, M)) == N, max(1, K)*min(1, K) == 1"},
		{"heads, of which there may be none", attend(nil, f32("N", "H", 2, 3), f32("N", "H", 4, 3)), "[N H 2 3]", ""},
		{"no heads", attend(nil, f32(1, 0, 2, 3), f32(1, 0, 4, 3)), "[1 0 2 3]", ""},
		{"concat", node("Concat", attrs("axis", 0), f32("N", 3), f32("M", 3)), "[M + N 3]", ""},
		{"slice to the end", node("Slice", nil, f32("N"), vec(1), vec(math.MaxInt64)), "[N - min(1, N)]", ""},
		{"slice from the end", node("Slice", nil, f32("N"), vec(-2), vec(math.MaxInt64)), "[min(2, N)]", ""},
		{"slice from a bound of unknown sign", node("Slice", nil, f32("N"), elems(sym.Sub(sym.Var("M"), sym.Const(3))), vec(math.MaxInt64)),
			"[N - min(N, max(0, M + N*min(1, max(-M + 3, 0)) - 3))]", ""},
		{"reverse", node("Slice", nil, f32("N"), vec(-1), vec(math.MinInt64), vec(0), vec(-1)), "[N]", ""},
		{"split", twoResults(node("Split", nil, f32("N", 3))), "[((N) // (2)) 3]", "2*((N) // (2)) == N"},
		{"flatten", node("Flatten", attrs("axis", 2), f32("N", 3, "H")), "[3*N H]", ""},
		{"size", node("Size", nil, f32("N", 3)), "[]", ""},
		{"an edge to repeat", node("Pad", attrs("mode", "edge"), f32("N", 3), vec(1, 0, 1, 0)), "[N + 2 3]", "N >= 1"},
		{"an axis to reflect", node("Pad", attrs("mode", "reflect"), f32("N"), vec(0, 2)), "[N + 2]", "N >= 1"},
		{"an axis to wrap", node("Pad", attrs("mode", "wrap"), f32("N"), vec(2, -1)), "[N + 1]", "N - 1 >= 1"},
		{"as much cut off as repeated", node("Pad", attrs("mode", "edge"), f32("N"), vec(2, -2)), "[N]", "max(-min(1, N) + 1, N - 2) >= 1"},
		{"nothing to repeat", node("Pad", attrs("mode", "edge"), f32("N"), vec(0, 0)), "[N]", ""},
		{"resize to a size", resized(nil, f32("N"), nil, vec(8)), "[8]", "N >= 1"},
		{"resize to nothing", resized(nil, f32("N", 4), nil, vec(0, 8)), "[0 8]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Build(c.n, nil)
			require.NoError(t, err)
			require.Equal(t, c.shape, fmt.Sprint(m.Stages[m.Outputs[0].N].Shape()))
			require.Equal(t, c.checks, checksText(m))
		})
	}
}

// elems is a vector whose elements are known as expressions.
func elems(xs ...sym.Expr) *ir.Value {
	v := i64(len(xs))
	v.Elems = xs
	return v
}

func checksText(m *Meaning) string {
	s := ""
	for i, k := range m.Checks {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %s %s", k.A, [...]string{"==", "~", ">="}[k.Kind], k.B)
	}
	return s
}

// TestReshapeKeepsAxes: what a reshape leaves alone stays a plain axis.
func TestReshapeKeepsAxes(t *testing.T) {
	for _, c := range []struct {
		n    *ir.Node
		want string
	}{
		{node("Reshape", nil, f32("N", 3, "H", "W"), vec(0, 0, -1)), "[i0 i1 ((i2) // (W)) ((i2) % (W))]"},
		{node("Reshape", nil, f32("N", 64), vec(0, 8, 8)), "[i0 8*i1 + i2]"},
		{node("Reshape", nil, f32(2, 1, 6), vec(4, 3)), "[((i0) // (2)) 0 3*((i0) % (2)) + i1]"},
		{node("Flatten", nil, f32(1, 64, 1, 1)), "[0 i1 0 0]"},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, fmt.Sprint(m.Stages[0].Results[0].(te.Load).Index))
	}
}

// TestBoundsOfIntegers: before opset 11 Clip's bounds are floats, which integers cannot be compared with.
func TestBoundsOfIntegers(t *testing.T) {
	n := node("Clip", attrs("min", 0.0, "max", 6.0), val(ir.I8, 3))
	n.Version = 6
	_, err := Build(n, nil)
	require.ErrorContains(t, err, `node Clip "n": its bounds are attributes, so they are floats, but its input is i8; from opset 12 on, bounds have the input's type`)
}

// TestUnknown: what shape inference may still learn is an *UnknownError that names the node.
func TestUnknown(t *testing.T) {
	computed := func(dims ...any) *ir.Value { return val(ir.I64, dims...) }
	for _, n := range []*ir.Node{
		node("Reshape", nil, f32("N"), computed(2)),
		node("Relu", nil, &ir.Value{Type: ir.F32}),
		node("Relu", nil, &ir.Value{}),
		node("Squeeze", nil, f32("N", 3)),
		node("ReduceSum", nil, f32("N"), computed(1)),
		node("Range", nil, computed(), computed(), computed()),
	} {
		_, err := Build(n, nil)
		var unknown *UnknownError
		require.True(t, errors.As(err, &unknown), "%s: %v", n.Op, err)
		require.ErrorContains(t, err, `node `+n.Op+` "n"`)
	}
}

// TestFacts: bounds of symbols settle what is open without them.
func TestFacts(t *testing.T) {
	facts := sym.Facts{"N": {Lo: 2, Hi: 64}}
	m, err := Build(node("Squeeze", nil, f32("N", 1)), facts)
	require.NoError(t, err)
	require.Equal(t, "[N]", fmt.Sprint(m.Stages[0].Shape()))
	m, err = Build(node("Add", nil, f32("N"), f32("M")), facts)
	require.NoError(t, err)
	require.Equal(t, "[N]", fmt.Sprint(m.Stages[0].Shape()))
}

func twoResults(n *ir.Node) *ir.Node {
	n.Outputs = append(n.Outputs, &ir.Value{Name: "y1"})
	return n
}

// TestBroadcastOfNone: dimensions extend to the other where one is 1, be it 0, and to themselves.
func TestBroadcastOfNone(t *testing.T) {
	m, err := Build(node("Add", nil, f32("N"), f32("M")), nil)
	require.NoError(t, err)
	for _, x := range [][3]int64{{0, 1, 0}, {1, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 5, 5}, {5, 1, 5}, {5, 5, 5}} {
		got, err := m.Stages[0].Shape()[0].Eval(map[string]int64{"N": x[0], "M": x[1]})
		require.NoError(t, err)
		require.Equal(t, x[2], got, "%v", x)
	}
}
