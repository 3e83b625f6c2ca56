package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ranked multiplies by a constant, and has an operator that is a function of the runtime.
const ranked = `
	symbol N 1..9
	const @w f32[8] = {1, 2, 3, 4, 5, 6, 7, 8}
	input %x f32[N, 8]
	const @k i64[1] = {3}
	%m f32[N, 8] = Mul.14(%x, @w) "scale"
	%y f32[N, 3], %i i64[N, 3] = TopK.11(%m, @k) "top"
	output %y
	output %i
	`

func names(t *testing.T, folder string) []string {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestDSP: kernels for a DSP are C in a folder of their own, but those that are functions of the runtime; vectors, and so weights and buffers, have 128 bytes.
func TestDSP(t *testing.T) {
	chip, other := factsFile(t, "hexagon_v66"), factsFile(t, "x86_64")
	device := absolute(t, repository+"/platforms/devices/opencl_buffers.json")
	t.Chdir(t.TempDir())
	tiny(t, ranked)
	mustRun(t, graphArgs("model.onnx", "--dim=N=1..9")...)
	mustRun(t, compileArgs("model.onnx", chip, "--out-kernels-c=c", "--shards=2")...)
	assert.Equal(t, []string{"app_net_kernels.h", "app_net_kernels_0.c", "app_net_kernels_1.c"}, names(t, "c"))
	assert.Equal(t, []string{"app_net_api.cc", "app_net_internal.h", "app_net_kernels.h", "app_net_kernels_opaque.cc", "app_net_profile.cc", "app_net_program.cc"}, names(t, "kernels"))
	files := tree(t)
	assert.Equal(t, files["c/app_net_kernels.h"], files["kernels/app_net_kernels.h"])
	assert.Contains(t, files["kernels/app_net_kernels_opaque.cc"], "dnn_opaque::TopK<")
	assert.Contains(t, files["kernels/app_net_internal.h"], "static_assert(rules_dnn::kAlignment == 128")
	assert.Contains(t, files["net.h"], "Buffers are aligned to 128 bytes")
	assert.Contains(t, files["net.h"], "The library starts no threads: more than 1 requires parallel_for.")
	assert.Contains(t, files["net.weights.S"], ".balign 128\n")
	assert.Contains(t, files["net.weights.S"], `.incbin "net.weights", 128`)
	assert.Equal(t, "DNNWTS01", files["net.weights"][:8])
	assert.Zero(t, len(files["net.weights"])%128)

	// Fewer shards, and no operator of the runtime: nothing of the last run is left.
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx", "--dim=N=1..9")...)
	mustRun(t, compileArgs("model.onnx", chip, "--out-kernels-c=c", "--shards=1")...)
	assert.Equal(t, []string{"app_net_kernels.h", "app_net_kernels_0.c"}, names(t, "c"))
	assert.NotContains(t, names(t, "kernels"), "app_net_kernels_opaque.cc")

	for _, c := range []struct {
		chip, says string
		args       []string
	}{
		{chip, "the kernels for hexagon_v66 are C, and need other compiler options than the C++ of the host program; name a folder for them with --out-kernels-c", nil},
		{other, "--out-kernels-c=c: the kernels for x86_64 are C++ and go to --out-kernels", []string{"--out-kernels-c=c"}},
		{chip, "--out-kernels=kernels and --out-kernels-c=./kernels are the same folder", []string{"--out-kernels-c=./kernels"}},
		{chip, "there is no OpenCL library on hexagon_v66", []string{"--out-kernels-c=c", "--out-device-source=net.cl", "--device=" + device}},
	} {
		_, err := dnnc(compileArgs("model.onnx", c.chip, c.args...)...)
		require.ErrorContains(t, err, c.says)
	}
}
