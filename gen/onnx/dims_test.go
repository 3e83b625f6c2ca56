package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx/onnxpb"
)

func TestParseDim(t *testing.T) {
	for _, c := range []struct {
		s, name string
		d       Dim
		err     string
	}{
		{"N=4", "N", Dim{4, 4}, ""}, {"N=1..64", "N", Dim{1, 64}, ""}, {"a=b=0..", "a=b", Dim{0, sym.MaxDim}, ""},
		{"N", "", Dim{}, "want NAME=NUMBER"}, {"=4", "", Dim{}, "want NAME=NUMBER"}, {"N=", "", Dim{}, "want"}, {"N=x", "", Dim{}, "want"},
		{"N=..4", "", Dim{}, "want"}, {"N=4..3", "N", Dim{4, 3}, "low <= high"}, {"N=-3000000000..4", "N", Dim{-3000000000, 4}, "low <= high"}, {"N=1..3000000000", "N", Dim{1, 3000000000}, "to 2147483647"},
	} {
		name, d, err := ParseDim(c.s)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.s)
			continue
		}
		require.NoError(t, err, c.s)
		require.Equal(t, c.name, name)
		require.Equal(t, c.d, d)
	}
}

func TestDims(t *testing.T) {
	m := modelOf(nil, names("y"), node("Relu", names("x"), names("y")))
	m.Graph.Input = append(m.Graph.Input,
		info("x", onnxpb.TensorProto_FLOAT, "batch size", nil, -1, 3, "i0", "batch.size", ""),
		info("z", onnxpb.TensorProto_FLOAT, "batch size", "batch_size"))
	m.Graph.Output[0] = info("y", onnxpb.TensorProto_FLOAT, "batch size", "2*batch_size_3", 7)
	shapes := func(opt map[string]Dim) (string, error) {
		g, err := read(t, m, Options{Dims: opt})
		if err != nil {
			return "", err
		}
		out := ""
		for _, v := range append(append([]*ir.Value{}, g.Inputs...), g.Outputs...) {
			for _, d := range v.Shape {
				out += d.String() + " "
			}
			out += "| "
		}
		for _, y := range g.Symbols {
			if y.Lo != 1 || y.Hi != sym.MaxDim {
				out += y.Name + " "
			}
		}
		return out, Unused(g)
	}
	for _, c := range []struct {
		opt  map[string]Dim
		want string
	}{
		{nil, "batch_size x_d1 x_d2 3 d_i0 batch_size_2 x_d6 | batch_size batch_size_3 | | "},
		{map[string]Dim{"batch size": {4, 4}}, "4 x_d1 x_d2 3 d_i0 batch_size_2 x_d6 | 4 batch_size_3 | | "},
		{map[string]Dim{"batch_size": {5, 5}}, "5 x_d1 x_d2 3 d_i0 batch_size_2 x_d6 | 5 5 | | "},
		{map[string]Dim{"x_d1": {2, 2}, "d_i0": {0, 9}}, "batch_size 2 x_d2 3 d_i0 batch_size_2 x_d6 | batch_size batch_size_3 | | d_i0 "},
	} {
		got, err := shapes(c.opt)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := shapes(map[string]Dim{"M": {1, 1}, "K": {2, 2}})
	require.ErrorContains(t, err, `no dimension is called "K", "M": the symbolic dimensions are "batch_size", "x_d1"`)
	g, err := read(t, withInit(raw("w", onnxpb.TensorProto_FLOAT, le(float32(1)))), Options{Dims: map[string]Dim{"M": {1, 1}}})
	require.NoError(t, err)
	require.ErrorContains(t, Unused(g), `no dimension is called "M": the symbolic dimensions are "N"`)
	g.Symbols = append(g.Symbols, ir.Symbol{Name: "M", Computed: true})
	require.NoError(t, Unused(g), "a node computes it")
	computes := &ir.Graph{Nodes: []*ir.Node{{Op: "If", Computes: []string{"L", "M"}}}}
	g.Nodes = append(g.Nodes, &ir.Node{Op: "Loop", Regions: []*ir.Graph{computes}})
	require.ErrorContains(t, Unused(g), `the dimension "M" cannot be bounded, because each branch of an If computes it`)
	static := modelOf(nil, names("y"), node("Relu", names("x"), names("y")))
	static.Graph.Input = append(static.Graph.Input, info("x", onnxpb.TensorProto_FLOAT, 1))
	g, err = read(t, static, Options{Dims: map[string]Dim{"M": {1, 1}}})
	require.NoError(t, err)
	require.ErrorContains(t, Unused(g), `no dimension is called "M": all dimensions are constants`)
	_, err = shapes(map[string]Dim{"M": {2, 1}})
	require.ErrorContains(t, err, "low <= high")
	m.Graph.Input[0] = info("x", onnxpb.TensorProto_FLOAT, -2)
	_, err = shapes(nil)
	require.ErrorContains(t, err, `input "x": dimension 0 is -2`)
}

// TestAnonymousDims: what exporters write for each dimension that they do not know ties none to another.
func TestAnonymousDims(t *testing.T) {
	for name, tied := range map[string]bool{"?": false, "None": false, "-1": false, "*": false, "_": false, "N": true, "0": true, "_1": true, "画像": true} {
		m := modelOf(nil, names("y"), node("Relu", names("x"), names("y")))
		m.Graph.Input = []*onnxpb.ValueInfoProto{info("x", onnxpb.TensorProto_FLOAT, 1, name, name)}
		m.Graph.Output[0] = info("y", onnxpb.TensorProto_FLOAT, 1, name, name)
		g, err := read(t, m, Options{})
		require.NoError(t, err, name)
		x := g.Inputs[0].Shape
		require.Equal(t, tied, x[1].Equal(x[2]), name)
		if !tied {
			require.Equal(t, ir.Shape{sym.Const(1), sym.Var("x_d1"), sym.Var("x_d2")}, x, name)
		}

		g, err = read(t, m, Options{Dims: map[string]Dim{name: {2, 2}}})
		require.NoError(t, err, name)
		require.NoError(t, Unused(g), name)
		require.Equal(t, ir.Shape{sym.Const(1), sym.Const(2), sym.Const(2)}, g.Inputs[0].Shape, "a bound of the name is one of all that are called so: %s", name)
	}
}

func TestInputSymbols(t *testing.T) {
	m := modelOf(names("w"), names("y"), node("Relu", names("x"), names("y")))
	m.Graph.Input = []*onnxpb.ValueInfoProto{
		info("w", onnxpb.TensorProto_FLOAT, "K"),
		info("x", onnxpb.TensorProto_FLOAT, "batch size", nil, 3, "i0", "batch.size"),
		info("z", onnxpb.TensorProto_FLOAT, "batch size", "batch_size"),
	}
	m.Graph.Initializer = append(m.Graph.Initializer, raw("w", onnxpb.TensorProto_FLOAT, make([]byte, 8), 2))
	symbols, err := InputSymbols(bytesFile(marshal(t, m)))
	require.NoError(t, err)
	require.Equal(t, []InputSymbol{
		{"batch_size", "batch size"}, {"x_d1", "x_d1"}, {"d_i0", "i0"}, {"batch_size_2", "batch.size"}, {"batch_size_3", "batch_size"},
	}, symbols)
	g := mustRead(t, m)
	require.Len(t, g.Symbols, len(symbols))
	for i, s := range g.Symbols {
		require.Equal(t, s.Name, symbols[i].Name)
		_, err := read(t, m, Options{Dims: map[string]Dim{symbols[i].Key: {2, 3}}})
		require.NoError(t, err)
	}
	_, err = InputSymbols(bytesFile([]byte("x")))
	require.ErrorContains(t, err, "is the file an ONNX model?")
}

func TestOutputShapes(t *testing.T) {
	for _, c := range []struct {
		dims []any
		want string
	}{
		{[]any{"N", 4}, "f32[N, 4]"}, {[]any{"2*N + 1"}, "f32[2*N + 1]"}, {[]any{"M"}, "f32[*]"}, {[]any{nil}, "f32[*]"}, {[]any{-1}, "f32[*]"}, {[]any{"N M"}, "f32[*]"}, {nil, "f32[]"},
	} {
		m := modelOf(names("x"), names("y"), node("Relu", names("x"), names("y")))
		m.Graph.Output[0] = info("y", onnxpb.TensorProto_FLOAT, c.dims...)
		require.Contains(t, text(t, mustRead(t, m)), "%y "+c.want+" = ")
	}
}
