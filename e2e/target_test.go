package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// target builds a model for another platform. It checks that Bazel prints the paths of the files,
// and that binaries for this machine cannot link the model.
func target(t *testing.T, w *workspace) {
	said := w.said(t, "build", "//:relu_arm64")
	dir := filepath.Join(w.bin(t), "relu_arm64")
	for _, name := range []string{"librelu_arm64.a", "relu_arm64.h", "relu_arm64.manifest.json"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.NotZero(t, info.Size(), name)
		assert.Contains(t, said, "relu_arm64/"+name+"\n")
	}
	for _, name := range []string{"//:needs_arm64", "//:only_links_arm64"} {
		_, refused, err := w.try("build", name)
		require.Error(t, err, name)
		assert.Contains(t, refused, "//:relu_arm64 is made for the platform ", name)
		assert.Contains(t, refused, "//platforms:linux_arm64, its target, and cannot be linked for ", name)
		assert.Contains(t, refused, "link a dnn_model without target, which is built for the platform of the binary", name)
	}
	w.bazel(t, "build", "--platforms=@rules_dnn//platforms:linux_arm64", "//:needs_arm64")
}

// archives links two models into one program without Bazel, from the directories of their
// headers. Each archive has the runtime, and the linker takes it from the first.
func archives(t *testing.T, w *workspace) {
	w.bazel(t, "build", "//:relu_here", "//:other_here")
	bin := w.bin(t)
	dirs := map[string]string{"relu": filepath.Join(bin, "relu_here"), "other": filepath.Join(bin, "other_here")}
	relu, other := filepath.Join(dirs["relu"], "librelu_here.a"), filepath.Join(dirs["other"], "libother_here.a")
	program := filepath.Join(t.TempDir(), "two")
	for _, order := range [][]string{{relu, other}, {other, relu}} {
		command := append([]string{"g++", "-std=c++17", "-o", program, filepath.Join(w.dir, "two.cc"), "-I", dirs["relu"], "-I", dirs["other"]}, order...)
		run(t, "", append(command, "-pthread")...)
		assert.Equal(t, "relu 0.5 0 1.5 5\nother 0 0.25 3 1.5", run(t, "", program))
	}

	// The runtime's members are the same in both archives, so either one may be linked.
	members := strings.Fields(run(t, "", "ar", "t", relu))
	shared := 0
	for _, name := range members {
		if strings.HasPrefix(name, "dnn_") {
			shared++
			assert.Equal(t, run(t, "", "ar", "p", relu, name), run(t, "", "ar", "p", other, name), name)
		}
	}
	assert.Greater(t, shared, 5, members)
	// A program needs each member only once.
	without := filepath.Join(t.TempDir(), "without.a")
	copyLinked(t, relu, without)
	link := func(second string) ([]byte, error) {
		return exec.Command("g++", "-std=c++17", "-o", program, filepath.Join(w.dir, "two.cc"), "-I", dirs["relu"], "-I", dirs["other"], without, second, "-pthread").CombinedOutput()
	}
	for _, name := range members {
		if strings.HasPrefix(name, "dnn_") {
			run(t, "", "ar", "d", without, name)
		}
	}
	out, err := link(other)
	require.NoError(t, err, string(out))
	neither := filepath.Join(t.TempDir(), "neither.a")
	copyLinked(t, other, neither)
	run(t, "", "ar", "d", neither, "dnn_status.pic.o")
	out, err = link(neither)
	require.Error(t, err)
	assert.Contains(t, string(out), "rules_dnn::v1::StatusMessage")
}

// copyLinked copies the target of a link, so that a test can change it.
func copyLinked(t *testing.T, from, to string) {
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o644))
}

// noToolchain checks two errors: for a module that registers no toolchain for its platform, and
// for one that registers the clang toolchain on a machine without clang.
func noToolchain(t *testing.T, w *workspace) {
	_, refused, err := w.try("build", "--nobuild", "--platforms=//:linux_riscv64", "//:relu")
	require.Error(t, err)
	assert.Contains(t, refused, "no C++ toolchain builds for the platform ")
	assert.Contains(t, refused, "//:linux_riscv64")

	_, refused, err = w.try("build", "--nobuild", "--repo_env=PATH=/nowhere", "//:relu_arm64")
	require.Error(t, err)
	assert.Contains(t, refused, "@rules_dnn//toolchains/cc:linux_arm64 needs clang that builds C++ programs for aarch64-linux-gnu")
	assert.Contains(t, refused, "clang, ld.lld, llvm-ar or ar: not on PATH")
	assert.Contains(t, refused, "apt install clang lld llvm g++-aarch64-linux-gnu")
}

// warnings checks the warning for a slow network, and that a flag makes it an error.
func warnings(t *testing.T, w *workspace) {
	const baseline = "relu.onnx: warning (baseline): the chip x86_64 has only the vectors of baseline x86-64"
	sources := []string{"--output_groups=sources", "//:relu_for_baseline"}
	assert.NotContains(t, w.said(t, "build", sources...), "warning (", "without -c opt a build is not for use")
	opt := append([]string{"--compilation_mode=opt"}, sources...)
	assert.NotContains(t, w.said(t, "build", append(opt[:2:2], "//:relu")...), "warning (", "the library has kernels for other processors, too")
	assert.Contains(t, w.said(t, "build", opt...), baseline)
	_, refused, err := w.try("build", append([]string{"--@rules_dnn//rules:warnings=error"}, opt...)...)
	require.Error(t, err)
	assert.Contains(t, refused, baseline)
	assert.Contains(t, refused, "warnings are errors here")
	w.bazel(t, "build", append([]string{"--@rules_dnn//rules:warnings=error", "--platforms=@rules_dnn//platforms:linux_x86_64_v3"}, opt...)...)
}
