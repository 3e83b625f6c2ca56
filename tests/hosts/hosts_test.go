// Package hosts sees that a network becomes the same bytes on every build host: programs for 64-bit ARM
// run under qemu-aarch64, and must agree with this machine's.
package hosts

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target/chips"
)

const repository = "../.."

// program is a program of this repository, for one processor.
func program(t *testing.T, variable, pkg, arch string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		// Bazel built it; the test runs in this package's folder of the runfiles.
		return absolute(t, filepath.Join(repository, path))
	}
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", path, "./"+pkg)
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+arch)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// emulator runs programs for arm64; on such a machine none is needed, and another processor is to be emulated.
func emulator(t *testing.T) string {
	t.Helper()
	if runtime.GOARCH == "arm64" {
		t.Skip("this machine is arm64: the test compares others with it")
	}
	if path := os.Getenv("QEMU"); path != "" {
		return absolute(t, filepath.Join(repository, path))
	}
	path, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("qemu-aarch64 is not installed; bazel test //tests/hosts:hosts_test brings it")
	}
	return path
}

func output(t *testing.T, command ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", strings.Join(command, " "), &stderr)
	return string(out)
}

// TestScalars compares scalar functions of all types, on many numbers.
func TestScalars(t *testing.T) {
	qemu := emulator(t)
	const pkg = "tests/hosts/scalars"
	want := output(t, program(t, "SCALARS", pkg, runtime.GOARCH))
	got := output(t, qemu, program(t, "SCALARS_ARM64", pkg, "arm64"))
	assert.Greater(t, strings.Count(want, "\n"), 500)
	assert.Equal(t, want, got, "the lines are: function, type of its elements, type of the result, digest")
}

// TestModels compares all that dnnc makes of networks.
func TestModels(t *testing.T) {
	qemu := emulator(t)
	const pkg = "gen/cmd/dnnc"
	native := []string{program(t, "DNNC", pkg, runtime.GOARCH)}
	emulated := []string{qemu, program(t, "DNNC_ARM64", pkg, "arm64")}
	for _, m := range models(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			want, got := compiled(t, native, m), compiled(t, emulated, m)
			require.Len(t, got, len(want))
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s differs: %s", name, difference(text, got[name]))
				}
			}
			for _, part := range m.folded {
				assert.NotContains(t, want["net.graph.txt"], part, "it is not folded: nothing is compared")
			}
		})
	}
}

// compiled is all that a compiler writes, for two chips.
func compiled(t *testing.T, dnnc []string, m model) map[string]string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	args := append(dnnc[:len(dnnc):len(dnnc)], "graph", "--src="+m.path, "--out="+at("net.graph.txt"), "--out-consts="+at("net.consts"))
	for _, d := range m.dims {
		args = append(args, "--dim="+d)
	}
	output(t, args...)
	for _, chip := range []string{"x86_64_v3", "arm64"} {
		in := func(name string) string { return at(filepath.Join(chip, name)) }
		facts, err := chips.Facts(chip)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at(chip+".json"), facts, 0o644))
		output(t, append(dnnc[:len(dnnc):len(dnnc)], "compile", "--graph="+at("net.graph.txt"), "--consts="+at("net.consts"), "--src="+m.path,
			"--chip="+at(chip+".json"), "--api=net", "--prefix=net", "--namespace=net",
			"--out-header="+in("net.h"), "--out-kernels="+in("kernels"), "--out-weights="+in("net.weights"),
			"--out-weights-asm="+in("net.weights.S"), "--out-manifest="+in("net.manifest.json"))...)
	}
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(data)
		return err
	}))
	require.Greater(t, len(files), 10)
	return files
}

// difference shows the first place where two texts differ.
func difference(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	part := func(s string) string { return s[max(0, at-40):min(len(s), at+40)] }
	return fmt.Sprintf("at byte %d of %d and %d: %q on this machine, %q on arm64", at, len(a), len(b), part(a), part(b))
}
