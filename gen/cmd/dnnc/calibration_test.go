package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/ir/safetensors"
	"rules_dnn/gen/onnx"
)

// writeInputs writes a safetensors file of inputs x of four numbers.
func writeInputs(t *testing.T, name string, values ...float64) {
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, safetensors.Write(f, &safetensors.File{Tensors: []safetensors.Tensor{{Name: "x", Tensor: edit.FloatTensor(ir.F32, values, int64(len(values)/4), 4)}}}))
	require.NoError(t, f.Close())
}

// TestCalibration: inputs show which values leave the range of f16. These stay f32, which a warning and the manifest say, with the range.
func TestCalibration(t *testing.T) {
	chip := factsFile(t, "x86_64_v3")
	t.Chdir(t.TempDir())
	g := irtest.Parse(t, `const @w f32[4, 2] = {100, 1, 100, 2, 100, 3, 100, 4}
input %x f32[1, 4]
%r f32[1, 4] = Relu.14(%x) "relu"
%a f32[1, 2] = MatMul.13(%r, @w) "product"
%y f32[1, 2] = Softmax.13(%a) "softmax"
output %y
`)
	f, err := os.Create("model.onnx")
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
	mustRun(t, graphArgs("model.onnx")...)
	writeInputs(t, "small.safetensors", 1, 2, 3, 4, 5, 6, 7, 8)
	writeInputs(t, "large.safetensors", 1, 2, 3, 4, 500, 600, 700, 800)

	compiled := func(calibration string) (string, manifest.Manifest) {
		out := mustRun(t, compileArgs("model.onnx", chip, "--precision=fp16", "--calibration="+calibration)...)
		text, err := os.ReadFile("net.manifest.json")
		require.NoError(t, err)
		var m manifest.Manifest
		require.NoError(t, json.Unmarshal(text, &m))
		return out, m
	}
	out, m := compiled("small.safetensors")
	assert.NotContains(t, out, "range")
	assert.Empty(t, m.Precision.F32)
	out, m = compiled("large.safetensors")
	const why = `"a" reaches 2.6e+05 on the calibration's inputs; the maximum of f16 is 65504`
	assert.Contains(t, out, `model.onnx: warning (range): MatMul "product" stays f32: `+why+"\n")
	assert.Equal(t, []manifest.Kept{{Node: `MatMul "product"`, Why: why}, {Node: `Softmax "softmax"`, Why: `it is computed with "a", which stays f32`}}, m.Precision.F32)
	assert.Equal(t, []manifest.Warning{{Kind: "range", Text: `MatMul "product" stays f32: ` + why}}, m.Warnings)

	for _, c := range []struct {
		more []string
		want string
	}{
		{[]string{"--calibration=small.safetensors"}, "add --precision=fp16"},
		{[]string{"--calibration=small.safetensors", "--precision=bf16"}, "add --precision=fp16"},
		{[]string{"--calibration=none.safetensors", "--precision=fp16"}, "none.safetensors"},
		{[]string{"--calibration=model.onnx", "--precision=fp16"}, "model.onnx"},
		{[]string{"--calibration=large.safetensors", "--precision=fp16", "--warnings=error"}, "warnings are errors here"},
	} {
		_, err := dnnc(compileArgs("model.onnx", chip, c.more...)...)
		assert.ErrorContains(t, err, c.want)
	}
}
