package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snippets are README.md's files: blocks of code whose first line names one.
func snippets(t *testing.T) map[string]string {
	text, err := os.ReadFile(filepath.Join(rulesRoot(t), "README.md"))
	require.NoError(t, err)
	out := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```\\w+ (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		require.NotContains(t, out, m[1], "twice in README.md")
		out[m[1]] = m[2]
	}
	return out
}

// where rules_dnn is, by README.md.
const thirdParty = `"third_party/rules_dnn"`

// TestReadme is a newcomer's first hour: README.md's files, and nothing else.
func TestReadme(t *testing.T) {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("runs Bazel; use bazel test //e2e:e2e_test")
	}
	files := snippets(t)
	dir := filepath.Join(os.Getenv("TEST_TMPDIR"), "readme")
	require.NoError(t, os.RemoveAll(dir))
	w := open(t, dir)
	require.Contains(t, files["MODULE.bazel"], thirdParty)
	module := strings.Replace(files["MODULE.bazel"], thirdParty, fmt.Sprintf("%q", w.root), 1)
	write := func(name, text string) {
		require.NotEmpty(t, text, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	copyTree(t, filepath.Join(w.root, "app", "resnet20_cifar10.onnx"), filepath.Join(dir, "resnet20_cifar10.onnx"))
	write("MODULE.bazel", module)
	for _, name := range []string{".bazelrc", "BUILD", "main.cc"} {
		write(name, files[name])
	}

	printed := regexp.MustCompile(`^(-?\d+\.\d{3} ){10}ok$`)
	w.bazel(t, "build", "//:main")
	out := run(t, "", filepath.Join(w.bin(t), "main"))
	assert.Regexp(t, printed, out)

	// Who does not register the toolchain is told to, and who does may go on.
	const line = "register_toolchains(\"@rules_dnn//toolchains/cc:linux_arm64\")\n"
	require.Contains(t, module, line)
	write("BUILD", files["BUILD"]+files["BUILD.more"])
	write("MODULE.bazel", strings.Replace(module, line, "", 1))
	_, refused, err := w.try("build", "--nobuild", "//:net_arm64")
	require.Error(t, err)
	assert.Contains(t, refused, "no C++ toolchain builds for the platform ")
	assert.Contains(t, refused, strings.TrimSpace(line))
	write("MODULE.bazel", module)
	said := w.said(t, "build", "//:net_arm64")
	assert.Contains(t, said, "net_arm64/libnet_arm64.a\n")
	command := strings.ReplaceAll(files["archive"], "bazel-bin/", w.bin(t)+"/")
	run(t, "", "sh", "-e", "-c", "cd "+dir+"\n"+command)
	assert.Equal(t, out, run(t, "", "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", filepath.Join(dir, "main_arm64")))

	// What prunes, quantizes and runs on devices: files that these take from elsewhere are not there, and so nothing is built.
	write("BUILD", files["BUILD"]+files["BUILD.opencl"]+files["BUILD.pruning"]+files["BUILD.prune"]+files["BUILD.quantize"]+files["BUILD.hvx"])
	w.bazel(t, "build", "--nobuild", "//:net_opencl", "//:net_projected", "//:net_pruned.update", "//:net_quantized", "//:net_hvx")
	_, refused, err = w.try("build", "--nobuild", "//:net_small")
	require.Error(t, err)
	assert.Contains(t, refused, "//:net_pruned has not been trained yet: ")

	write("BUILD", files["BUILD"]+files["BUILD.variants"])
	chips := w.bazel(t, "aquery", "--platforms=@rules_dnn//platforms:linux_x86_64", "mnemonic(DnnCompile, //:net_for_all)")
	for _, want := range []string{"x86_64.json", "x86_64_haswell.json", "x86_64_zen4.json"} {
		assert.Contains(t, chips, want)
	}
	assert.NotContains(t, chips, "x86_64_v4.json")
	write("BUILD", files["BUILD"]+files["BUILD.chip"])
	assert.NotContains(t, w.bazel(t, "aquery", "mnemonic(DnnCompile, //:net)"), "my_chip.json")
	write("MODULE.bazel", module+"register_toolchains(\"//:my_chip_toolchain\")\n")
	assert.Contains(t, w.bazel(t, "aquery", "mnemonic(DnnCompile, //:net)"), "my_chip.json")
}

// TestReadmeWorkspace: the WORKSPACE of README.md is the one that TestWorkspace builds with.
func TestReadmeWorkspace(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(rulesRoot(t), "e2e", "workspace", "WORKSPACE"))
	require.NoError(t, err)
	rest := string(text)
	for _, line := range strings.Split(strings.Replace(snippets(t)["WORKSPACE"], thirdParty, `"../.."`, 1), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		_, after, ok := strings.Cut(rest, line+"\n")
		require.True(t, ok, "e2e/workspace/WORKSPACE lacks a line of README.md, or has it elsewhere: %s", line)
		rest = after
	}
	// What is downloaded is known.
	for _, name := range []string{"WORKSPACE", "e2e/workspace/WORKSPACE"} {
		text, err := os.ReadFile(filepath.Join(rulesRoot(t), name))
		require.NoError(t, err)
		archives := strings.Split(string(text), "http_archive(\n")[1:]
		require.NotEmpty(t, archives, name)
		for _, a := range archives {
			assert.Regexp(t, `^    name = "\w+",\n    sha256 = "[0-9a-f]{64}",\n`, a, name)
		}
	}
}
