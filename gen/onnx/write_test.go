package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/onnx/onnxpb"
)

// zeros stands for weights whose values do not matter.
type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) { clear(b); return len(b), nil }

// hide replaces the large constants by numbered files of zeros, so that texts of
// graphs with different files are comparable.
func hide(g *ir.Graph) {
	n := 0
	seen := map[*ir.Tensor]bool{}
	tensor := func(t *ir.Tensor) {
		if t == nil || seen[t] || t.Len() <= ir.InlineElems {
			return
		}
		seen[t] = true
		n++
		size := t.Len() * int64(t.Type.Size())
		t.Data, t.Src = nil, &ir.Source{File: &ir.File{Name: fmt.Sprint(n), R: zeros{}, Size: size}, Length: size}
	}
	var visit func(g *ir.Graph)
	visit = func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for _, v := range n.Inputs {
				if v != nil {
					tensor(v.Const)
				}
			}
			for _, name := range n.Attrs.Names() {
				tensor(n.Tensor(name))
			}
			for _, r := range n.Regions {
				visit(r)
			}
		}
		for _, v := range g.Outputs {
			tensor(v.Const)
		}
	}
	visit(g)
}

// roundTrips checks that a graph survives its text form and ONNX. Its large constants are lost.
func roundTrips(t *testing.T, g *ir.Graph) {
	hide(g)
	want := text(t, g)
	files := map[string]*ir.File{}
	for i := range 5000 {
		files[fmt.Sprint(i)] = &ir.File{Name: fmt.Sprint(i), R: zeros{}, Size: 1 << 40}
	}
	back, err := ir.Parse(bytes.NewReader([]byte(want)), files)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(back))
	require.Equal(t, want, text(t, back))

	dims := map[string]Dim{}
	for _, y := range g.Symbols {
		dims[y.Name] = Dim{y.Lo, y.Hi}
	}
	var model bytes.Buffer
	require.NoError(t, WriteExternal(&model, io.Discard, "weights", g))
	external := map[string]*ir.File{"weights": {R: zeros{}, Size: 1 << 40}}
	again, err := Read(bytesFile(model.Bytes()), external, Options{Dims: dims})
	require.NoError(t, err)
	hide(again)
	require.Equal(t, want, text(t, again))
}

// TestWriteWeights checks the weights of both forms, large and small.
func TestWriteWeights(t *testing.T) {
	large := make([]float32, 300)
	for i := range large {
		large[i] = float32(i) / 3
	}
	m := withInit(raw("w", onnxpb.TensorProto_FLOAT, le(large), 300))
	m.Graph.Initializer = append(m.Graph.Initializer, raw("v", onnxpb.TensorProto_FLOAT, le(large), 300), raw("s", onnxpb.TensorProto_INT64, le(int64(5))))
	m.Graph.Node = append(m.Graph.Node, node("Sum", names("v", "y"), names("u")), node("Mul", names("u", "s"), names("t"),
		"tensor", raw("", onnxpb.TensorProto_FLOAT, le(large), 300)))
	g := mustRead(t, m)
	check := func(g *ir.Graph) {
		for _, i := range []int{0, 1} {
			got, err := g.Nodes[i].Inputs[1-i].Const.Bytes()
			require.NoError(t, err)
			require.Equal(t, le(large), got)
		}
		require.Equal(t, le(int64(5)), g.Nodes[2].Inputs[1].Const.Data)
		got, err := g.Nodes[2].Tensor("tensor").Bytes()
		require.NoError(t, err)
		require.Equal(t, le(large), got)
	}
	var one bytes.Buffer
	require.NoError(t, Write(&one, g))
	back, err := Read(bytesFile(one.Bytes()), nil, Options{})
	require.NoError(t, err)
	check(back)

	var two, data bytes.Buffer
	require.NoError(t, WriteExternal(&two, &data, "d/w", g))
	require.Equal(t, 4096+1200, data.Len())
	back, err = Read(bytesFile(two.Bytes()), map[string]*ir.File{"d/w": bytesFile(data.Bytes())}, Options{})
	require.NoError(t, err)
	check(back)
	require.Equal(t, int64(4096), back.Nodes[1].Inputs[0].Const.Src.Offset)
	require.Error(t, WriteExternal(&two, &data, "../w", g))
}

func TestWriteErrors(t *testing.T) {
	relu := func() *ir.Graph {
		return mustRead(t, modelOf(names("x"), names("y"), node("Relu", names("x"), names("y"))))
	}
	for _, c := range []struct {
		damage func(g *ir.Graph)
		want   string
	}{
		{func(g *ir.Graph) { g.Nodes[0].Op = "block" }, "no such operator"},
		{func(g *ir.Graph) { g.Nodes[0].Version = 13 }, "version 13; opset 17 has version 14"},
		{func(g *ir.Graph) { g.Opset = 6 }, "opset 6"},
		{func(g *ir.Graph) { g.Outputs[0].Name = "x" }, `both called "x"`},
		{func(g *ir.Graph) { g.Inputs = nil }, "not defined before its use"},
		{func(g *ir.Graph) { g.Nodes[0].Regions = []*ir.Graph{{}} }, "region 0 is named by no attribute"},
		{func(g *ir.Graph) {
			g.Nodes[0].Regions = []*ir.Graph{{}}
			g.Nodes[0].Attrs = ir.Attrs{"a": ir.RegionRef(0), "b": ir.RegionRef(0)}
		}, "region 0 has two names"},
		{func(g *ir.Graph) {
			g.Nodes[0].Inputs[0] = ir.ConstValue("big", &ir.Tensor{Type: ir.U8, Shape: []int64{1 << 31}, Src: &ir.Source{File: &ir.File{R: zeros{}, Size: 1 << 31}, Length: 1 << 31}})
		}, "at most 2 GB"},
	} {
		g := relu()
		c.damage(g)
		require.ErrorContains(t, Write(io.Discard, g), c.want)
	}
	for n := range 40 {
		g := relu()
		g.Nodes = append(g.Nodes, &ir.Node{Op: "Sum", Version: 13, Inputs: []*ir.Value{ir.ConstValue("w", ir.NewTensor(ir.F32, 100))}})
		require.ErrorIs(t, Write(&failing{n * 10}, g), errFull)
	}
}

var errFull = errors.New("disk full")

// failing is a writer that fails after some bytes.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestWriteNames writes graphs whose names a pass left in disorder.
func TestWriteNames(t *testing.T) {
	g := mustRead(t, modelOf(names("x"), names("y"), node("Relu", names("x"), names("t")), node("Neg", names("t"), names("y"))))
	g.Nodes[0].Outputs[0].Name = "y"
	g.Nodes[0].Inputs = append(g.Nodes[0].Inputs, ir.ConstValue("x", ir.NewTensor(ir.F32)), ir.ConstValue("", ir.NewTensor(ir.F32)))
	g.Outputs[0].Shape = ir.Shape{sym.Mul(sym.Var("N"), sym.Const(2))}
	g.Name = ""
	var b bytes.Buffer
	require.NoError(t, Write(&b, g))
	back, err := Read(bytesFile(b.Bytes()), nil, Options{})
	require.NoError(t, err)
	require.Equal(t, `graph "graph" opset 17 {
  symbol N 1..2147483647
  const @x_2 f32[] = {0}
  const @value f32[] = {0}
  input %x f32[N, 4]
  %y_2 ?[*] = Relu.14(%x, @x_2, @value) "n_t"
  %y f32[2*N] = Neg.13(%y_2) "n_y"
  output %y
}
`, text(t, back))
}
