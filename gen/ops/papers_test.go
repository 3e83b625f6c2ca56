package ops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// The papers' printed tables. Operators that the table of operators does not define
// (yet) are passed over; what is defined must agree.

// printedMappings is table 3.2 of the dissertation (DNNFusion).
var printedMappings = map[MappingType]string{
	OneToOne: "Add, Asin, BatchNormalization, Cast, Ceil, Clip, Concat, Cos, Erf, Exp, Greater, Where, LeakyRelu, Log, Not, PRelu, Reciprocal, " +
		"Relu, Round, Sigmoid, Sin, Slice, Split, Sqrt, Tanh",
	OneToMany:  "Expand, Gather, Resize, Upsample",
	ManyToMany: "AveragePool, Conv, ConvTranspose, CumSum, Einsum, Gemm, InstanceNormalization, MaxPool, ReduceProd, ReduceMean, Softmax",
	Reorganize: "Flatten, Reshape, Squeeze, Unsqueeze",
	Shuffle:    "DepthToSpace, SpaceToDepth, Transpose",
}

func exampleOf(op string) *ir.Node {
	for _, x := range examples() {
		if x.n.Op == op {
			return x.n
		}
	}
	return nil
}

func TestMappingTypesAsPrinted(t *testing.T) {
	for want, names := range printedMappings {
		for _, op := range strings.Split(names, ", ") {
			n := exampleOf(op)
			if n == nil {
				require.Nil(t, Lookup(op), op)
				continue
			}
			m, err := Build(n, nil)
			require.NoError(t, err, op)
			require.Equal(t, want.String(), NodeMapping(n, m).String(), op)
		}
	}
}

// TestMappingFollowsShapes has nodes whose type is another one than their operator's
// typical one.
func TestMappingFollowsShapes(t *testing.T) {
	for _, c := range []struct {
		name string
		n    *ir.Node
		want MappingType
	}{
		{"elementwise with broadcast", node("Add", nil, f32("N", 8), f32(8)), OneToMany},
		{"elementwise with a symbol that may be 1", node("Add", nil, f32("N", 8), f32("M", 8)), OneToMany},
		{"broadcast of a constant", node("Add", nil, f32("N", 8), weight(8)), OneToOne},
		{"expand to the same shape", node("Expand", nil, f32(4, 8), vec(4, 8)), OneToOne},
		{"transpose of an axis of one element", node("Transpose", attrs("perm", ints(1, 0, 2)), f32("N", 1, 8)), Reorganize},
		{"transpose that does nothing", node("Transpose", attrs("perm", ints(0, 1)), f32("N", 8)), OneToOne},
		{"reshape to the same shape", node("Reshape", nil, f32("N", 8), vec(0, -1)), OneToOne},
		{"reshape across symbols", node("Reshape", nil, f32("N", "H", "W", 8), vec(0, -1, 4, 2)), Reorganize},
		{"reshape of a factor", node("Reshape", nil, f32(6, 4), vec(4, 6)), Reorganize},
		{"gather of one constant index", node("Gather", nil, f32(10, 8), num64(3)), Reorganize},
		{"reverse", node("Slice", nil, f32(8), vec(-1), vec(-100), vec(0), vec(-1)), OneToOne},
		{"reflection", node("Pad", attrs("mode", "reflect"), f32(8), vec(2, 2)), OneToMany},
		{"depth to space, CRD", node("DepthToSpace", attrs("blocksize", 2, "mode", "CRD"), f32("N", "C", 4, 6)), Shuffle},
		{"space to depth of symbols", node("SpaceToDepth", attrs("blocksize", 2), f32("N", 3, 4, 6)), Shuffle},
		{"reduction over nothing", node("ReduceSum", attrs("noop_with_empty_axes", 1), f32("N", 8)), OneToOne},
		{"reduction over one element", node("ReduceSum", nil, f32("N", 1), vec(1)), OneToOne},
		{"tile once", node("Tile", nil, f32("N", 8), vec(1, 1)), OneToOne},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Build(c.n, nil)
			require.NoError(t, err)
			require.Equal(t, c.want.String(), NodeMapping(c.n, m).String())
		})
	}
}

// printedDynamism is table 5.2 of the dissertation (SoD2).
var printedDynamism = map[Dynamism]string{
	ShapeDeterminesOutput: "Shape, ConstantOfShape, EyeLike",
	ShapeDeterminesShape:  "Add, AveragePool, Cast, Concat, Conv, Gather, MatMul, MaxPool, ReduceSum, Relu, Round, Sigmoid, Softmax",
	ValueDeterminesShape:  "Expand, GroupNormalization, MaxUnpool, OneHot, Range, Reshape, Resize, Slice, TopK, Upsample",
	ExecutionDetermines:   "If, Loop, NonMaxSuppression, NonZero",
}

// TestDynamismAsPrinted: the paper prints the class of operators whose value operands
// are computed, except for ConstantOfShape and reductions, whose are known.
func TestDynamismAsPrinted(t *testing.T) {
	known := map[string]bool{"ConstantOfShape": true, "ReduceSum": true}
	// No element of an operand of GroupNormalization decides a shape: its definition
	// in the paper's own words puts it one class lower than its table.
	misprints := map[string]Dynamism{"GroupNormalization": ShapeDeterminesShape}
	for want, names := range printedDynamism {
		for _, op := range strings.Split(names, ", ") {
			n := exampleOf(op)
			if n == nil {
				require.Nil(t, Lookup(op), op)
				continue
			}
			class := want
			if w, ok := misprints[op]; ok {
				class = w
			}
			if !known[op] {
				forget(n)
			}
			d, err := DynamismOf(n, nil)
			require.NoError(t, err, op)
			require.Equal(t, class.String(), d.String(), op)
		}
	}
}

// forget makes a node's structural operands values that are computed at run time.
func forget(n *ir.Node) {
	for i, p := range (&Ctx{Row: Lookup(n.Op), Version: 1 << 20}).params() {
		if v := n.Input(i); v != nil && p.Structural {
			n.Inputs[i] = &ir.Value{Name: v.Name, Type: v.Type, Shape: v.Shape, HasShape: true}
		}
	}
}

// TestDynamismFalls: constants and followed elements make an operator less dynamic.
func TestDynamismFalls(t *testing.T) {
	n := exampleOf("Reshape")
	d, err := DynamismOf(n, nil)
	require.NoError(t, err)
	require.Equal(t, ShapeDeterminesShape, d)
	forget(n)
	n.Inputs[1].Elems = f32("N", 8, 120).Shape
	d, err = DynamismOf(n, nil)
	require.NoError(t, err)
	require.Equal(t, ShapeDeterminesShape, d)
}

// TestLayoutClassesAsPrinted is SmartMem's table 3 and the Slice of its text.
func TestLayoutClassesAsPrinted(t *testing.T) {
	for class, names := range map[string]string{
		"ILD & Variable": "Conv, MatMul, LayerNormalization, Softmax",
		"ILD & Fixed":    "Reshape, Transpose, DepthToSpace, SpaceToDepth",
		"ILI & Variable": "Add, Relu, Exp, Sigmoid, Cast",
		"ILI & Fixed":    "Slice",
	} {
		for _, op := range strings.Split(names, ", ") {
			n := exampleOf(op)
			m, err := Build(n, nil)
			require.NoError(t, err, op)
			require.Equal(t, class, LayoutClassOf(n, m).String(), op)
		}
	}
}

func TestCosts(t *testing.T) {
	for _, c := range []struct {
		n           *ir.Node
		flops, macs string
	}{
		{node("Add", nil, f32("N", 8), f32("N", 8)), "8*N", "0"},
		{node("Add", nil, i64("N", 8), i64("N", 8)), "0", "0"},
		{node("MatMul", nil, f32(2, 3), f32(3, 5)), "60", "30"},
		{node("Gemm", nil, f32(2, 3), weight(3, 5), weight(5)), "70", "30"},
		{node("Conv", nil, f32("N", 4, 5, 5), weight(8, 4, 3, 3)), "5184*N", "2592*N"},
		{node("ReduceSum", nil, f32(4, 6), vec(1)), "24", "0"},
		{node("Transpose", nil, f32(4, 6)), "0", "0"},
	} {
		m, err := Build(c.n, nil)
		require.NoError(t, err)
		require.Equal(t, c.flops, FLOPs(m).String(), c.n.Op)
		require.Equal(t, c.macs, MACs(m).String(), c.n.Op)
	}
}
