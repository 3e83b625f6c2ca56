package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/quant"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/safetensors"
	"rules_dnn/gen/onnx"
)

// writeSamples writes inputs of normalised's model, with labels where there are some.
func writeSamples(t *testing.T, name string, labels ...int64) {
	r := rand.New(rand.NewPCG(2, 2))
	values := make([]float64, 4*3*64)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	file := &safetensors.File{Tensors: []safetensors.Tensor{{Name: "x", Tensor: edit.FloatTensor(ir.F32, values, 4, 3, 8, 8)}}}
	if len(labels) > 0 {
		file.Tensors = append(file.Tensors, safetensors.Tensor{Name: "labels", Tensor: edit.IntTensor(ir.I64, labels, int64(len(labels)))})
	}
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, safetensors.Write(f, file))
	require.NoError(t, f.Close())
}

// TestQuantize quantizes a model, compiles what comes of it, and has the same bytes when it does so again.
func TestQuantize(t *testing.T) {
	t.Chdir(t.TempDir())
	normalised(t)
	writeSamples(t, "images.safetensors")
	require.NoError(t, os.WriteFile("settings.json", []byte(`{"range": "mse", "activations": "int8"}`), 0o644))
	args := []string{"quantize", "--src=model.onnx", "--calibration=images.safetensors", "--settings=settings.json", "--alone=1", "--out-report=report.json"}
	table := mustRun(t, append(args, "--out=int8.onnx")...)
	require.Contains(t, table, "SQNR, dB")
	require.Empty(t, mustRun(t, append(args, "--out=again.onnx", "--quiet")...))
	first, err := os.ReadFile("int8.onnx")
	require.NoError(t, err)
	again, err := os.ReadFile("again.onnx")
	require.NoError(t, err)
	require.Equal(t, first, again)

	var report quant.Report
	text, err := os.ReadFile("report.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &report))
	require.Greater(t, *report.Outputs[0].SQNR, 25.0)
	for _, n := range report.Nodes {
		require.Equal(t, "i8", n.Type, n.Name)
		require.Equal(t, n.Op == "Relu", n.Alone == nil, "the Relu of the input stays float")
	}
	float, quantized := runs(t, "model.onnx", 2), runs(t, "int8.onnx", 2)
	require.NotEqual(t, float, quantized)
	mustRun(t, graphArgs("int8.onnx", "--dim=N=1..64")...)
}

// TestQuantizeFourBits stores weights in 4 bits: without inputs, and with some to compare on. Kernels read them as they are packed.
func TestQuantizeFourBits(t *testing.T) {
	t.Chdir(t.TempDir())
	g := irtest.Parse(t, "  symbol N 1..64\n  input %x f32[N, 3, 8, 8]\n  const @w f32[8, 64] = {"+strings.Join(slices.Repeat([]string{"0.25, -0.5, 1, 0.125"}, 128), ", ")+
		"}\n  %y f32[N, 3, 8, 64] = MatMul.9(%x, @w) \"product\"\n  output %y\n")
	g.Opset = 12
	f, err := os.Create("model.onnx")
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	writeSamples(t, "images.safetensors")
	require.NoError(t, os.WriteFile("settings.json", []byte(`{"weight_bits": 4, "block_size": 16}`), 0o644))
	args := []string{"quantize", "--src=model.onnx", "--settings=settings.json"}
	require.Empty(t, mustRun(t, append(args, "--out=plain.onnx")...))
	require.Contains(t, mustRun(t, append(args, "--out=four.onnx", "--out-report=report.json")...), "weights of 4 bits")
	table := mustRun(t, append(args, "--out=again.onnx", "--out-report=report.json", "--check=images.safetensors", "--alone=1")...)
	require.Contains(t, table, "output y: SQNR")
	first, err := os.ReadFile("four.onnx")
	require.NoError(t, err)
	for _, name := range []string{"plain.onnx", "again.onnx"} {
		again, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, first, again, name)
	}
	mustRun(t, graphArgs("four.onnx", "--dim=N=1..64")...)

	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--settings=settings.json", "--calibration=images.safetensors"}, "--calibration=images.safetensors: activations stay float with weights of 4 bits"},
		{[]string{"--settings=settings.json", "--alone=1", "--out-report=report.json"}, "--alone=1: there are no inputs; add --check"},
		{nil, "--calibration is missing: scales of activations are chosen from its inputs"},
	} {
		_, err := dnnc(append([]string{"quantize", "--src=model.onnx", "--out=none.onnx"}, c.args...)...)
		require.ErrorContains(t, err, c.want)
		require.NoFileExists(t, "none.onnx")
	}
}

// TestQuantizeErrors are files that do not fit.
func TestQuantizeErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	normalised(t)
	writeSamples(t, "images.safetensors")
	writeSamples(t, "few_labels.safetensors", 1, 2)
	require.NoError(t, os.WriteFile("settings.json", []byte(`{"bits": 3}`), 0o644))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--calibration=none.safetensors"}, "none.safetensors"},
		{[]string{"--calibration=model.onnx"}, "model.onnx"},
		{[]string{"--calibration=images.safetensors", "--settings=settings.json"}, `settings.json: quantization settings: unknown field "bits"`},
		{[]string{"--calibration=images.safetensors", "--alone=-1"}, "--alone=-1: want 0 or more"},
		{[]string{"--calibration=images.safetensors", "--check=few_labels.safetensors", "--out-report=report.json"}, "few_labels.safetensors: 2 labels for 4 images"},
		{[]string{"--calibration=images.safetensors", "--check=images.safetensors"}, "the comparison is in the report; add --out-report"},
		{[]string{"--calibration=images.safetensors", "--out-external=w"}, "--out-external=w: want LOCATION=PATH"},
	} {
		_, err := dnnc(append([]string{"quantize", "--src=model.onnx", "--out=int8.onnx"}, c.args...)...)
		require.ErrorContains(t, err, c.want)
		require.NoFileExists(t, "int8.onnx")
	}
}

// TestQuantizeWhole: operators that the compiler takes apart, and numbers that only a run knows, are in the quantized model as they were.
func TestQuantizeWhole(t *testing.T) {
	t.Chdir(t.TempDir())
	constant := func(name, shape string, n int) string {
		return fmt.Sprintf("  const @%s f32[%s] = {%s}\n", name, shape, strings.Join(slices.Repeat([]string{"0.25, -0.5"}, n/2), ", "))
	}
	conv := constant("w", "4, 3, 3, 3", 108) + `  symbol N 1..64
  input %x f32[N, 3, 8, 8]
  %c f32[N, 4, 8, 8] = Conv.11(%x, @w) {pads = [1, 1, 1, 1]} "conv"
`
	for name, nodes := range map[string]string{
		"GRU": constant("g", "1, 6, 32", 192) + constant("r", "1, 6, 2", 12) + conv + `
  const @to i64[3] = {8, -1, 32}
  %t f32[8, N, 4, 8] = Transpose.13(%c) {perm = [2, 0, 1, 3]}
  %s f32[8, N, 32] = Reshape.14(%t, @to)
  %y f32[8, 1, N, 2] = GRU.14(%s, @g, @r) {hidden_size = 2} "gru"
  output %y
`,
		"Slice": conv + `
  const @zero i64[1] = {0}
  const @axis i64[1] = {2}
  const @whole i64[1] = {-1}
  %f ?[*] = Reshape.14(%x, @whole)
  %m f32[1] = ReduceMax.13(%f)
  %e i64[1] = Cast.13(%m) {to = 7}
  %y f32[N, 4, _, 8] = Slice.13(%c, @zero, %e, @axis) "slice"
  output %y
`,
	} {
		g := irtest.Parse(t, strings.ReplaceAll(nodes, "f32[N, 4, _, 8]", "?[*]"))
		g.Opset = 17
		f, err := os.Create("model.onnx")
		require.NoError(t, err)
		require.NoError(t, onnx.Write(f, g))
		require.NoError(t, f.Close())
		writeSamples(t, "images.safetensors")
		mustRun(t, "quantize", "--src=model.onnx", "--calibration=images.safetensors", "--out=int8.onnx", "--quiet")
		text, err := os.ReadFile("int8.onnx")
		require.NoError(t, err)
		require.Contains(t, string(text), "QuantizeLinear")
		require.Contains(t, string(text), name)
		require.NotContains(t, string(text), "Scan")
		mustRun(t, graphArgs("int8.onnx", "--dim=N=1..64")...)
	}
}
