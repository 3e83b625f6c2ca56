package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tools runs commands of rules_dnn in a directory of a user's module. It checks that they find
// their own files and the user's.
func tools(t *testing.T, w *workspace) {
	folder := &workspace{root: w.root, dir: filepath.Join(w.dir, "a"), base: w.base}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"compare", []string{"@rules_dnn//tools/compare", "--", "../relu.onnx", "--dims=N=2", "--reference=interpreter"}, "y"},
		{"mca", []string{"@rules_dnn//tools/mca", "--", "--help"}, "usage: mca MODEL.onnx"},
		{"choice", []string{"@rules_dnn//tools/choice", "--", "--chip=x86_64_v3", "../relu.onnx"}, "relu.onnx: "},
		{"fill", []string{"@rules_dnn//tools/fill", "--", "../relu.onnx", "filled.onnx"}, ""},
		{"tune's help", []string{"@rules_dnn//:dnnc", "--", "tune", "--help"}, "--run_under=COMMAND"},
	} {
		out, said, err := folder.try("run", c.args...)
		require.NoError(t, err, "%s\n%s%s", c.name, out, said)
		assert.Contains(t, out+said, c.want, c.name)
	}
	filled := filepath.Join(folder.dir, "filled.onnx")
	assert.FileExists(t, filled)
	require.NoError(t, os.Remove(filled))
}

// oneStandardLibrary checks that the compiler and the commands share one build of Go's standard
// library, for all platforms and modes.
func oneStandardLibrary(t *testing.T, w *workspace) {
	const query = "mnemonic(GoStdlib, deps(//:static) + deps(//:relu.tune) + deps(@rules_dnn//:add) + deps(@rules_dnn//:dnnc) + deps(@rules_dnn//tools/compare))"
	for _, flags := range [][]string{nil, {"--compilation_mode=opt"}, {"--platforms=@rules_dnn//platforms:linux_arm64"}} {
		var found struct{ Actions []struct{ Mnemonic string } }
		out := w.bazel(t, "aquery", append(flags, "--output=jsonproto", "--include_artifacts=false", query)...)
		require.NoError(t, json.Unmarshal([]byte(out), &found))
		assert.Len(t, found.Actions, 1, flags)
	}
}

// measureTarget measures a model with a target. It checks the error without an emulator, and the
// result with one.
func measureTarget(t *testing.T, w *workspace) {
	const emulator = "qemu-aarch64 -L /usr/aarch64-linux-gnu"
	_, said, err := w.try("run", "//:relu_arm64_bench")
	require.Error(t, err)
	assert.Contains(t, said, "//:relu_arm64 for the platform ")
	assert.Contains(t, said, "is built for AARCH64, and does not run on this machine")
	assert.Contains(t, said, "--run_under='"+emulator+"'")
	if _, err := exec.LookPath("qemu-aarch64"); err != nil {
		t.Skip("qemu-aarch64 is not installed")
	}
	out, said, err := w.try("run", "//:relu_arm64_bench", "--", "--run_under="+emulator, "--dims=N=3", "--runs=2", "--seconds=0", "--probe-seconds=0", "--probe-bytes=1000000")
	require.NoError(t, err, out+said)
	assert.Contains(t, said, " in "+emulator+": an emulator's times do not apply to a processor\n")
	assert.Contains(t, out, "for arm64")
	assert.Contains(t, out, "N=3")

	record := filepath.Join(w.dir, "relu_arm64.tune.json")
	t.Cleanup(func() { os.Remove(record) })
	out = w.bazel(t, "run", "//:relu_arm64.tune", "--", "--run_under="+emulator, "--dims=N=3", "--rounds=1", "--seconds=0")
	assert.Contains(t, out, "measuring kernels of //:relu_arm64 for the platform ")
	assert.True(t, strings.HasSuffix(strings.TrimSpace(out), "wrote "+record), out)
}
