package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hash is the text of a SHA-256 in a source.
var hash = regexp.MustCompile(`\{ ?((?:0x[0-9a-f]{2}, ){31}0x[0-9a-f]{2}) ?\}`)

// hashes are the two of a stub or a skeleton.
func hashes(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []string
	for _, m := range hash.FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	require.Len(t, out, 2)
	return out
}

const scaled = "symbol N 1..9\nconst @w f32[3] = {1, 2, FACTOR}\ninput %x f32[N, 3]\n%y f32[N, 3] = Mul.14(%x, @w) \"m\"\noutput %y\n"

// TestRemote: a stub for one chip and a skeleton for another know each other, and no other network's or weights'.
func TestRemote(t *testing.T) {
	arm, dsp := factsFile(t, "arm64"), factsFile(t, "hexagon_v68")
	t.Chdir(t.TempDir())
	var all [][]string
	for _, c := range []struct{ factor, dim string }{{"3", "N=1..4"}, {"4", "N=1..4"}, {"3", "N=1..5"}} {
		tiny(t, strings.ReplaceAll(scaled, "FACTOR", c.factor))
		mustRun(t, graphArgs("model.onnx", "--dim="+c.dim)...)
		require.NoError(t, os.RemoveAll("kernels"))
		mustRun(t, compileArgs("model.onnx", arm, "--remote=v68", "--remote=v73")...)
		assert.NoFileExists(t, "kernels/app_net_skeleton.cc")
		stub := hashes(t, "kernels/app_net_api.cc")
		mustRun(t, compileArgs("model.onnx", dsp, "--skeleton", "--out-kernels-c=kernels_c")...)
		assert.Equal(t, stub, hashes(t, "kernels/app_net_skeleton.cc"))
		all = append(all, stub)
	}
	assert.NotEqual(t, all[0], all[1], "other weights")
	assert.NotEqual(t, all[0][0], all[2][0], "another network: other bounds")
}

// TestRemoteRefused: options that contradict each other.
func TestRemoteRefused(t *testing.T) {
	chip, device := factsFile(t, "arm64"), absolute(t, devices+"opencl_buffers.json")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	for want, args := range map[string][]string{
		"dnnc writes either a stub, which calls a skeleton, or a skeleton": {"--remote=v68", "--skeleton"},
		"a model runs on a DSP or on an OpenCL device":                     {"--remote=v68", "--device=" + device, "--out-device-source=net.cl"},
		"the library runs on one chip only":                                {"--skeleton", "--variant=" + chip, "--out-variant=more"},
		"--skeleton and --weights=file":                                    {"--skeleton", "--weights=file", "--out-weights-asm="},
		"the version \"hexagon_v68\" of Hexagon; want v and two digits":    {"--remote=hexagon_v68"},
		"want each once, in ascending order":                               {"--remote=v73", "--remote=v68"},
	} {
		_, err := dnnc(compileArgs("model.onnx", chip, args...)...)
		require.ErrorContains(t, err, want)
		assert.NoFileExists(t, "net.manifest.json")
	}
}
