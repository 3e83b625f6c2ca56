package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/tools/check"
)

func f32(xs ...float32) *ir.Tensor {
	t := ir.NewTensor(ir.F32, int64(len(xs)))
	for i, x := range xs {
		binary.LittleEndian.PutUint32(t.Data[4*i:], math.Float32bits(x))
	}
	return t
}

func u8(xs ...byte) *ir.Tensor {
	t := ir.NewTensor(ir.U8, int64(len(xs)))
	copy(t.Data, xs)
	return t
}

// TestDeviation: a step is rounding where the float lies between two, and nothing else is.
func TestDeviation(t *testing.T) {
	q := quantized{name: "q", from: "x", scale: 0.5}
	for _, c := range []struct {
		name      string
		got, want *ir.Tensor
		from      *ir.Tensor
		ok        bool
	}{
		{"equal", u8(1, 2, 3), u8(1, 2, 3), f32(0.5, 1, 1.5), true},
		{"rounded otherwise", u8(1, 3, 3), u8(1, 2, 3), f32(0.5, 1.25, 1.5), true},
		{"a step that is none", u8(1, 3, 3), u8(1, 2, 3), f32(0.5, 1.1, 1.5), false},
		{"too many of them", u8(2, 3, 3), u8(1, 2, 3), f32(0.75, 1.25, 1.5), false},
		{"many of one number", u8(2, 2, 3), u8(1, 1, 3), f32(0.75, 0.75, 1.5), true},
		{"two steps", u8(1, 4, 3), u8(1, 2, 3), f32(0.5, 1.25, 1.5), false},
		{"below zero", u8(127), u8(126), f32(-0.75), true},
		{"no float", u8(1, 3, 3), u8(1, 2, 3), nil, true},
		{"no float, and too many", u8(2, 3, 3), u8(1, 2, 3), nil, false},
	} {
		d, err := q.compare(c.got, map[string]*ir.Tensor{"q": c.want, "x": c.from})
		require.NoError(t, err)
		assert.Equal(t, c.ok, d.rounding(), "%s: %s", c.name, d)
	}
	for _, got := range []*ir.Tensor{nil, f32(1), u8(1, 2)} {
		_, err := q.compare(got, map[string]*ir.Tensor{"q": u8(1)})
		assert.Error(t, err)
	}
}

// quantizedNetwork writes y = x * w, with x and the product rounded to 8 bits.
func quantizedNetwork(t *testing.T) string {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(2, 5), HasShape: true}
	scalar := func(name string, c *ir.Tensor) *ir.Value {
		c.Shape = nil
		return ir.ConstValue(name, c)
	}
	g := &ir.Graph{Name: "g", Opset: 17, Inputs: []*ir.Value{x}}
	add := func(op string, version int, name string, typ ir.DType, in ...*ir.Value) *ir.Value {
		v := &ir.Value{Name: name, Type: typ}
		v.Def = &ir.Node{Op: op, Version: version, Name: name, Inputs: in, Outputs: []*ir.Value{v}, Attrs: ir.Attrs{}}
		g.Nodes = append(g.Nodes, v.Def)
		return v
	}
	rounded := func(name string, v *ir.Value, scale float32) *ir.Value {
		s, z := scalar(name+".scale", f32(scale)), scalar(name+".zero", u8(128))
		return add("DequantizeLinear", 13, name+".dequantized", ir.F32, add("QuantizeLinear", 13, name+".quantized", ir.U8, v, s, z), s, z)
	}
	product := add("MatMul", 13, "product", ir.F32, rounded("a", x, 0.02), ir.ConstValue("w", check.Input(ir.F32, []int64{5, 3}, 1, 1)))
	y := rounded("b", product, 0.05)
	y.Shape, y.HasShape = ir.Dims(2, 3), true
	g.Outputs = []*ir.Value{y}
	path := filepath.Join(t.TempDir(), "quantized.onnx")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	return path
}

// layersCompiled: a network whose outputs are too far away passes where its layers are right, each
// by itself, and else not.
func layersCompiled(t *testing.T, dnnc, runtime string) {
	o, err := parse([]string{quantizedNetwork(t), "--reference=interpreter", "--dnnc=" + dnnc, "--tolerance=-1"})
	require.NoError(t, err)
	o.runtime = runtime
	work := t.TempDir()
	chips, err := chooseChips(o, work)
	require.NoError(t, err)
	m, err := open(o, work)
	require.NoError(t, err)
	require.True(t, o.plainReference(m))
	require.Equal(t, []string{"a.quantized", "b.quantized"}, []string{m.quantized()[0].name, m.quantized()[1].name})
	ref, err := chooseReference(o, m, work)
	require.NoError(t, err)
	p, err := makeProgram(o, m, chips, work)
	require.NoError(t, err)
	harm := func(map[string]*ir.Tensor) {}
	ref.values = func(path string, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
		f, err := openFile(path)
		if err != nil {
			return nil, err
		}
		full := &model{}
		if full.graph, err = onnx.Read(f, nil, onnx.Options{}); err != nil {
			return nil, err
		}
		out, err := full.interpret(inputs)
		if err == nil {
			harm(out)
		}
		return out, err
	}
	var out strings.Builder
	require.NoError(t, new(outcome).compareRuns(o, m, p, ref, work, &out), out.String())
	assert.Contains(t, out.String(), "(0 quantization steps; 0 of 6 elements differ), 0 of the range")
	assert.Contains(t, out.String(), "too far; its layers tell why")
	assert.Contains(t, out.String(), "layers  2 quantized values, each computed from the reference's own: 2 equal, 0 rounded otherwise in some elements, 0 wrong")
	for i, value := range []string{"b.quantized", "a.quantized"} { // of what the next layer is computed, too
		harm = func(all map[string]*ir.Tensor) {
			if x := all[value]; x != nil {
				x.Data[1] += 2
			}
		}
		out.Reset()
		require.Error(t, new(outcome).compareRuns(o, m, p, ref, work, &out), out.String())
		assert.Contains(t, out.String(), "layer   "+value+": 1 of ", i)
		assert.Contains(t, out.String(), ": WRONG")
		assert.Contains(t, out.String(), "of their range away when "+value+" alone is ours")
	}
	harm = func(map[string]*ir.Tensor) {}
	o.layers, o.tolerance = true, 1 // outputs are near enough, and values are compared all the same
	x := &outcome{}
	out.Reset()
	require.NoError(t, x.compareRuns(o, m, p, ref, work, &out), out.String())
	require.Equal(t, &layered{values: 2}, x.runs[0].layers)
	out.Reset()
	layersRow(&out, "net", x)
	assert.Equal(t, "| net | 2 | 2 | 0 | 0 | 0.0000 % | 0 | 0 | 0 |\n", out.String())
	ref.values = nil
	require.ErrorContains(t, x.compareRuns(o, m, p, ref, work, &out), "--layers: want a model with quantized values")
}
