package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/tools/check"
)

// tunedBuild is the BUILD file of a model whose kernels are measured.
const tunedBuild = `load("@rules_dnn//rules:defs.bzl", "dnn_model")

dnn_model(
    name = "product",
    src = "product.onnx",
    shards = 1,
)
`

// tune measures a model's kernels once, like a user. It checks that a build with the record
// chooses the record's fastest kernel.
func tune(t *testing.T, w *workspace) {
	dir := filepath.Join(w.dir, "tuned")
	require.NoError(t, os.Mkdir(dir, 0o755))
	writeProduct(t, filepath.Join(dir, "product.onnx"))
	build := filepath.Join(dir, "BUILD")
	require.NoError(t, os.WriteFile(build, []byte(tunedBuild), 0o644))
	record := filepath.Join(dir, "product.tune.json")
	command := func(more ...string) string {
		return w.bazel(t, "run", append([]string{"//tuned:product.tune", "--", "--seconds=0"}, more...)...)
	}

	out := command("--rounds=1")
	assert.Contains(t, out, "round 1 of 1, candidates 1 of 8: ")
	assert.Contains(t, out, "wrote "+record+"\n")
	measured, text := readRecord(t, record)
	require.Len(t, measured.Chips, 1)
	require.Len(t, measured.Chips[0].Blocks, 1)
	kernels := measured.Chips[0].Blocks[0].Kernels
	require.Greater(t, len(kernels), 1)
	for _, k := range kernels {
		assert.Equal(t, 1, k.Rounds, k.Name)
		assert.Positive(t, k.Micros, k.Name)
	}

	out = command("--rounds=1")
	assert.Contains(t, out, "product.tune.json has 1 rounds of all kernels already; --again measures them again\n")
	assert.NotContains(t, out, "round 1 of 1, candidates")
	_, again := readRecord(t, record)
	assert.Equal(t, text, again)
	out = command("--rounds=2")
	assert.NotContains(t, out, "round 1 of 2")
	assert.Contains(t, out, "round 2 of 2, candidates 1 of 8: ")

	// Make each of two kernels the fastest in turn. Estimates would choose at most one of them.
	require.NoError(t, os.WriteFile(build, []byte(tunedBuild[:len(tunedBuild)-2]+"    tuning = \"product.tune.json\",\n)\n"), 0o644))
	for i := range kernels[:2] {
		for k := range kernels {
			kernels[k].Micros = 1000
		}
		kernels[i].Micros = 1
		require.NoError(t, os.WriteFile(record, measured.Text(), 0o644))
		w.bazel(t, "build", "//tuned:product")
		assert.Equal(t, &manifest.Tuning{Key: measured.Chips[0].Blocks[0].Key, What: measured.Chips[0].Blocks[0].What, Kernel: kernels[i].Name, Micros: 1},
			chosen(t, filepath.Join(w.bin(t), "tuned", "product", "product.manifest.json"), measured.Chips[0].Chip))
	}
}

// writeProduct writes a model with one matrix product, which several register tiles can compute.
func writeProduct(t *testing.T, path string) {
	x := &ir.Value{Name: "x", Type: ir.F32, Shape: ir.Dims(24, 32), HasShape: true}
	y := &ir.Value{Name: "y", Type: ir.F32, Shape: ir.Dims(24, 96), HasShape: true}
	y.Def = &ir.Node{Op: "MatMul", Version: 13, Name: "product", Inputs: []*ir.Value{x, ir.ConstValue("w", check.Input(ir.F32, []int64{32, 96}, 1, 1))},
		Outputs: []*ir.Value{y}, Attrs: ir.Attrs{}}
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, &ir.Graph{Name: "product", Opset: 17, Inputs: []*ir.Value{x}, Outputs: []*ir.Value{y}, Nodes: []*ir.Node{y.Def}}))
	require.NoError(t, f.Close())
}

func readRecord(t *testing.T, path string) (*tuning.Record, string) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := tuning.Parse(data)
	require.NoError(t, err)
	return r, string(data)
}

// chosen returns the manifest's tuning of the only block of a model, for a chip.
func chosen(t *testing.T, path, chip string) *manifest.Tuning {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal(data, &m))
	require.Len(t, m.Blocks, 1)
	for _, v := range m.Variants {
		if v.Chip == chip {
			require.Len(t, v.Tuning, 1)
			return v.Tuning[0]
		}
	}
	require.Equal(t, chip, m.Chip)
	return m.Blocks[0].Tuning
}
