package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/safetensors"
	"rules_dnn/gen/onnx"
)

// runs gives what the interpreter says of a model for random images.
func runs(t *testing.T, model string, images int64, external ...string) []float64 {
	t.Helper()
	f, err := openFile(model, "")
	require.NoError(t, err)
	files, err := openExternal(external)
	require.NoError(t, err)
	g, err := onnx.Read(f, files, onnx.Options{})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 5))
	in := g.Inputs[0]
	shape := []int64{images}
	for _, d := range in.Shape[1:] {
		n, ok := d.Const()
		require.True(t, ok)
		shape = append(shape, n)
	}
	n, err := ir.Len(shape)
	require.NoError(t, err)
	values := make([]float64, n)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	out, err := interp.Graph(g, map[string]*ir.Tensor{in.Name: edit.FloatTensor(ir.F32, values, shape...)})
	require.NoError(t, err)
	got, err := edit.Floats(out[0])
	require.NoError(t, err)
	return got
}

func readMasks(t *testing.T, name string) *masks.Set {
	f, err := openFile(name, "")
	require.NoError(t, err)
	s, err := masks.Read(f)
	require.NoError(t, err)
	return s
}

// TestPruneShrinks: the application's network without its empty channels computes what the masked one does, by smaller weights, whose
// masks are those of the shrunk network.
func TestPruneShrinks(t *testing.T) {
	src := pruneResnet(t, `{"connectivity": 12, "share": 16}`, "--warnings=none")
	mustRun(t, "prune", "--src="+src, "--settings=settings.json", "--shrink", "--out=small.onnx", "--out-masks=small.masks", "--out-report=small.json", "--warnings=none")
	r := readReport(t, "small.json")
	require.Greater(t, r.Channels, 20)
	require.InDeltaSlice(t, runs(t, "pruned.onnx", 2), runs(t, "small.onnx", 2), 1e-4)
	before, err := os.Stat("pruned.onnx")
	require.NoError(t, err)
	after, err := os.Stat("small.onnx")
	require.NoError(t, err)
	require.Less(t, after.Size(), before.Size()*9/10)

	// The shrunk network and its masks belong together.
	out := mustRun(t, "prune", "--src=small.onnx", "--masks=small.masks", "--out=again.onnx")
	require.Empty(t, out, "nothing that the masks drop is left")
	require.Len(t, readMasks(t, "small.masks").Layers, len(readMasks(t, "net.masks").Layers))
	mustRun(t, graphArgs("small.onnx", "--dim=N=1..64")...)
}

// normalised writes a model of convolutions and BatchNormalizations: the first one's weights are large in one channel.
func normalised(t *testing.T) {
	g := irtest.Parse(t, "symbol N 1..64\ninput %x f32[N, 3, 8, 8]\n%y f32[N, 3, 8, 8] = Relu.14(%x) \"r\"\noutput %y\n")
	x := g.Outputs[0]
	r := rand.New(rand.NewPCG(4, 4))
	constant := func(name string, low float64, shape ...int64) *ir.Value {
		n, err := ir.Len(shape)
		require.NoError(t, err)
		values := make([]float64, n)
		for i := range values {
			values[i] = low + r.Float64()
		}
		return ir.ConstValue(name, edit.FloatTensor(ir.F32, values, shape...))
	}
	for i, channels := range []int64{3, 8, 8} {
		name := fmt.Sprint("l", i)
		conv := &ir.Node{Op: "Conv", Version: 11, Name: name, Inputs: []*ir.Value{x, constant(name+"w", -0.5, 8, channels, 3, 3)}, Attrs: ir.Attrs{"pads": []int64{1, 1, 1, 1}}}
		y := &ir.Value{Name: name + "y", Type: ir.F32, Def: conv}
		conv.Outputs = []*ir.Value{y}
		bn := &ir.Node{Op: "BatchNormalization", Version: 15, Name: name + "bn", Attrs: ir.Attrs{}, Inputs: []*ir.Value{y,
			constant(name+"s", 0.5, 8), constant(name+"b", -0.5, 8), constant(name+"m", 0, 8), constant(name+"v", 0.5, 8)}}
		x = &ir.Value{Name: name + "z", Type: ir.F32, Def: bn}
		bn.Outputs = []*ir.Value{x}
		g.Nodes = append(g.Nodes, conv, bn)
	}
	g.Outputs[0] = x
	f, err := os.Create("model.onnx")
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
}

// TestPruneRecalibrates: statistics are those of the pruned network, in the model's file and where it shrinks, too.
func TestPruneRecalibrates(t *testing.T) {
	t.Chdir(t.TempDir())
	normalised(t)
	values := make([]float64, 16*3*64)
	r := rand.New(rand.NewPCG(1, 6))
	for i := range values {
		values[i] = r.NormFloat64()
	}
	var b bytes.Buffer
	require.NoError(t, safetensors.Write(&b, &safetensors.File{Tensors: []safetensors.Tensor{{Name: "x", Tensor: edit.FloatTensor(ir.F32, values, 16, 3, 8, 8)}}}))
	require.NoError(t, os.WriteFile("inputs", b.Bytes(), 0o644))
	args := []string{"prune", "--src=model.onnx", settings(t, `{"connectivity": 2}`), "--warnings=none", "--out-report=report.json"}
	mustRun(t, append(args, "--out=plain.onnx")...)
	mustRun(t, append(args, "--out=out.onnx", "--calibration=inputs")...)
	require.Equal(t, 3, readReport(t, "report.json").Recalibrated)
	files := tree(t)
	require.Equal(t, len(files["plain.onnx"]), len(files["out.onnx"]))
	changed := 0
	for i := range files["out.onnx"] {
		if files["out.onnx"][i] != files["plain.onnx"][i] {
			changed++
		}
	}
	require.LessOrEqual(t, changed, 3*2*8*4, "nothing but three means and variances")
	require.Greater(t, changed, 3*2*8)
	mustRun(t, append(args, "--out=small.onnx", "--calibration=inputs", "--shrink")...)
	require.InDeltaSlice(t, runs(t, "out.onnx", 3), runs(t, "small.onnx", 3), 1e-4)

	_, err := dnnc("prune", "--src="+absolute(t, "model.onnx"), "--settings=settings.json", "--out=x.onnx", "--calibration=settings.json")
	require.ErrorContains(t, err, "settings.json: reading safetensors: ")
}

// TestPruneSensitivity: with labelled inputs a policy reads what each layer alone loses, and the report and the page have it. Numbers that the settings give come first.
func TestPruneSensitivity(t *testing.T) {
	t.Chdir(t.TempDir())
	classifier(t)
	writeSamples(t, "images.safetensors", 1, 0, 2, 1)
	require.NoError(t, os.WriteFile("policy.star", []byte("def policy(layer):\n    return settings(connectivity = 2 if layer.sensitivity == 7 else 4)\n"), 0o644))
	args := []string{"prune", "--src=model.onnx", settings(t, `{"connectivity": 3, "exempt_first": false, "sensitivity": {"first": 7}}`), "--warnings=none", "--out=out.onnx", "--policy=policy.star"}
	mustRun(t, append(args, "--samples=images.safetensors", "--out-report=report.json", "--out-page=page.html")...)
	r := readReport(t, "report.json")
	require.EqualValues(t, 4, r.Sensitivity.Inputs)
	require.Len(t, r.Sensitivity.Layers, 2)
	require.Equal(t, map[string]float64{"first": 7, "second": r.Sensitivity.Layer("second").Lost}, r.Options.Sensitivity)
	require.NotZero(t, r.Sensitivity.Layer("second").Lost)
	require.EqualValues(t, 12, r.Layers[0].KeptKernels, "half of 24: the policy saw 7")
	require.EqualValues(t, 6, r.Layers[1].KeptKernels, "a quarter of 24")
	files := tree(t)
	require.Contains(t, string(files["page.html"]), "On 4 labelled inputs")
	mustRun(t, append(args, "--samples=images.safetensors", "--out-report=report.json", "--out-page=page.html")...)
	require.Equal(t, files, tree(t), "the same inputs, the same bytes")

	writeSamples(t, "unlabelled.safetensors")
	for _, c := range []struct{ samples, settings, want string }{
		{"unlabelled.safetensors", "--settings=settings.json", `unlabelled.safetensors: sensitivity needs labelled inputs; add a tensor "labels" of integers, the class of each row of the model's first output`},
		{"settings.json", "--settings=settings.json", "settings.json: reading safetensors: "},
		{"images.safetensors", "--masks=m", "--samples=images.safetensors: only --settings uses samples; leave them out with --masks"},
	} {
		_, err := dnnc("prune", "--src=model.onnx", c.settings, "--out=x.onnx", "--samples="+c.samples)
		require.ErrorContains(t, err, c.want)
	}
}

// classifier writes a model of two convolutions and the means of three channels.
func classifier(t *testing.T) {
	g := irtest.Parse(t, "symbol N 1..64\ninput %x f32[N, 3, 8, 8]\n%y f32[N, 3, 8, 8] = Relu.14(%x) \"r\"\noutput %y\n")
	x := g.Outputs[0]
	r := rand.New(rand.NewPCG(5, 4))
	add := func(op string, version int, attrs ir.Attrs, in ...*ir.Value) {
		n := &ir.Node{Op: op, Version: version, Name: op + x.Name, Inputs: append([]*ir.Value{x}, in...), Attrs: attrs}
		x = &ir.Value{Name: x.Name + "y", Type: ir.F32, Def: n}
		n.Outputs = []*ir.Value{x}
		g.Nodes = append(g.Nodes, n)
	}
	for _, l := range []struct {
		name  string
		shape []int64
	}{{"first", []int64{8, 3, 3, 3}}, {"second", []int64{3, 8, 3, 3}}} {
		values := make([]float64, 216)
		for i := range values {
			values[i] = r.Float64() - 0.5
		}
		add("Conv", 11, ir.Attrs{"pads": []int64{1, 1, 1, 1}}, ir.ConstValue(l.name, edit.FloatTensor(ir.F32, values, l.shape...)))
	}
	add("GlobalAveragePool", 1, ir.Attrs{})
	add("Flatten", 13, ir.Attrs{})
	g.Outputs[0] = x
	f, err := os.Create("model.onnx")
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
}

// TestPruneShrinksExternal: a model with external data keeps one file of it.
func TestPruneShrinksExternal(t *testing.T) {
	t.Chdir(t.TempDir())
	small(t)
	args := []string{"prune", "--src=model.onnx", "--external=sub/weights.bin=weights.bin", settings(t, `{"connectivity": 16, "share": 4}`), "--shrink", "--warnings=none", "--out=out.onnx"}
	_, err := dnnc(args...)
	require.ErrorContains(t, err, "want one --out-external, found 0")
	mustRun(t, append(args, "--out-external=sub/weights.bin=out.bin", "--out-report=report.json")...)
	require.NotZero(t, readReport(t, "report.json").Channels)
	mustRun(t, append(args[:4:4], "--warnings=none", "--out=masked.onnx", "--out-external=sub/weights.bin=masked.bin")...)
	require.InDeltaSlice(t, runs(t, "masked.onnx", 1, "sub/weights.bin=masked.bin"), runs(t, "out.onnx", 1, "sub/weights.bin=out.bin"), 1e-4)
}
