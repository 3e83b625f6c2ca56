package recalibrate

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/safetensors"
)

// network has two BatchNormalizations, one after the other.
func network(t testing.TB, batch string) *ir.Graph {
	symbols := ""
	if batch == "N" {
		symbols = "symbol N 1..100\n"
	}
	g := irtest.Parse(t, symbols+"input %x f32["+batch+", 3, 4, 4]\n%y f32["+batch+", 3, 4, 4] = Relu.14(%x) \"r\"\noutput %y\n")
	x := g.Outputs[0]
	add := func(op string, version int, in ...*ir.Value) {
		n := &ir.Node{Op: op, Version: version, Name: op + x.Name, Inputs: append([]*ir.Value{x}, in...), Attrs: ir.Attrs{}}
		x = &ir.Value{Name: x.Name + "y", Type: ir.F32, Def: n}
		n.Outputs = []*ir.Value{x}
		g.Nodes = append(g.Nodes, n)
	}
	r := rand.New(rand.NewPCG(1, 1))
	constant := func(name string, positive bool, shape ...int64) *ir.Value {
		n, _ := ir.Len(shape)
		values := make([]float64, n)
		for i := range values {
			if values[i] = r.NormFloat64(); positive {
				values[i] = math.Abs(values[i]) + 1
			}
		}
		return ir.ConstValue(name, edit.FloatTensor(ir.F32, values, shape...))
	}
	bn := func(name string, n int64) {
		add("BatchNormalization", 15, constant(name+"s", true, n), constant(name+"b", false, n), constant(name+"m", false, n), constant(name+"v", true, n))
	}
	bn("a", 3)
	add("Conv", 11, constant("w", false, 5, 3, 3, 3))
	bn("b", 5)
	g.Outputs[0] = x
	return g
}

// file is inputs in a file.
func file(t testing.TB, tensors map[string]*ir.Tensor) *ir.File {
	f := &safetensors.File{}
	for _, name := range []string{"x", "z"} {
		if x := tensors[name]; x != nil {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name, Tensor: x})
		}
	}
	var b bytes.Buffer
	require.NoError(t, safetensors.Write(&b, f))
	return &ir.File{R: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
}

func images(n int64) *ir.Tensor {
	r := rand.New(rand.NewPCG(2, 2))
	values := make([]float64, n*48)
	for i := range values {
		values[i] = 3*r.NormFloat64() + 1
	}
	return edit.FloatTensor(ir.F32, values, n, 3, 4, 4)
}

// TestNormalised: of the inputs that it is given, each BatchNormalization's results have the mean and the variance that its scale and bias
// say, whatever the statistics were; those before it have theirs already.
func TestNormalised(t *testing.T) {
	for _, batch := range []string{"1", "4", "N"} {
		g := network(t, batch)
		inputs, err := samples.Read(g, file(t, map[string]*ir.Tensor{"x": images(20)}))
		require.NoError(t, err)
		require.Len(t, inputs, map[string]int{"1": 20, "4": 5, "N": 3}[batch])
		changed, err := Run(g, inputs)
		require.NoError(t, err)
		require.Len(t, changed, 4)
		for _, name := range []string{"am", "av", "bm", "bv"} {
			require.Contains(t, changed, name)
		}
		last := g.Outputs[0].Def
		scale, err := edit.Floats(last.Inputs[1].Const)
		require.NoError(t, err)
		bias, err := edit.Floats(last.Inputs[2].Const)
		require.NoError(t, err)
		sum, square, count := make([]float64, 5), make([]float64, 5), 0.0
		for _, in := range inputs {
			out, err := interp.Graph(g, in)
			require.NoError(t, err)
			y, err := edit.Floats(out[0])
			require.NoError(t, err)
			for i, v := range y {
				c := i / 4 % 5
				sum[c] += v
				square[c] += v * v
				if c == 0 {
					count++
				}
			}
		}
		for c := range sum {
			mean := sum[c] / count
			require.InDelta(t, bias[c], mean, 1e-4)
			require.InDelta(t, scale[c], math.Sqrt(square[c]/count-mean*mean), 1e-3*scale[c])
		}
	}
}

// TestRefused: inputs of other shapes, and networks without statistics of their own.
func TestRefused(t *testing.T) {
	for want, tensors := range map[string]map[string]*ir.Tensor{
		"the file has no tensor \"x\"":         {"z": images(4)},
		"the file has 2 tensors":               {"x": images(4), "z": images(4)},
		"want a multiple of 4":                 {"x": images(5)},
		"type f16; the model wants f32":        {"x": {Type: ir.F16, Shape: []int64{4, 3, 4, 4}, Data: make([]byte, 384)}},
		"or a multiple of the first dimension": {"x": edit.FloatTensor(ir.F32, make([]float64, 4*48), 4, 3, 2, 8)},
		"the model wants [4 3 4 4]":            {"x": edit.FloatTensor(ir.F32, make([]float64, 48), 48)},
		"it has no elements":                   {"x": edit.FloatTensor(ir.F32, nil, 0, 3, 4, 4)},
	} {
		_, err := samples.Read(network(t, "4"), file(t, tensors))
		require.ErrorContains(t, err, want)
	}
	run := func(change func(g *ir.Graph)) error {
		g := network(t, "4")
		inputs, err := samples.Read(g, file(t, map[string]*ir.Tensor{"x": images(4)}))
		require.NoError(t, err)
		change(g)
		_, err = Run(g, inputs)
		return err
	}
	require.NoError(t, run(func(*ir.Graph) {}))
	require.ErrorContains(t, run(func(g *ir.Graph) { g.Nodes = g.Nodes[:1]; g.Outputs[0] = g.Nodes[0].Outputs[0] }), "no BatchNormalization to recalibrate")
	require.ErrorContains(t, run(func(g *ir.Graph) { g.Nodes[1].Inputs[3] = g.Nodes[1].Inputs[1] }), "so they cannot be recalibrated")
	require.ErrorContains(t, run(func(g *ir.Graph) { g.Nodes[1].Inputs[3] = g.Inputs[0] }), "are not constants of the model")
	require.ErrorContains(t, run(func(g *ir.Graph) {
		w := g.Nodes[2].Inputs[1].Const
		copy(w.Data, []byte{0, 0, 0xc0, 0x7f})
	}), "channel 0 of its operand has values that are not finite")
}
