// Package pooltest tests how the runtime shares the tasks of blocks among threads, and on which
// cores these run.
package pooltest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

var strict = []string{"-std=c++17", "-pthread", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-I" + root}

// compile compiles a program of testdata with the runtime; it skips the test if the compiler is
// missing.
func compile(t *testing.T, compiler, file string, flags ...string) string {
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no %s on this machine", compiler)
	}
	runtime, err := filepath.Glob(root + "/runtime/dnn_*.cc")
	require.NoError(t, err)
	require.NotEmpty(t, runtime)
	bin := filepath.Join(t.TempDir(), "program")
	args := append(append([]string{"-o", bin, "testdata/" + file}, strict...), flags...)
	out, err := exec.Command(compiler, append(args, runtime...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// TestPool runs testdata/pool.cc plainly, under sanitizers, and for 64-bit ARM in an emulator.
func TestPool(t *testing.T) {
	for _, c := range []struct {
		name, compiler, jobs string
		flags                []string
	}{
		{"gcc", "g++", "1000", []string{"-O2"}},
		{"clang", "clang++", "1000", []string{"-O2"}},
		{"address", "g++", "300", []string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"}},
		{"thread", "g++", "300", []string{"-O1", "-g", "-fsanitize=thread"}},
		{"arm64", "aarch64-linux-gnu-g++", "100", []string{"-O2", "-static"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := []string{compile(t, c.compiler, "pool.cc", c.flags...), t.TempDir(), c.jobs}
			if c.name == "arm64" {
				if _, err := exec.LookPath("qemu-aarch64"); err != nil {
					t.Skip("compiled; no qemu-aarch64 on this machine to run it")
				}
				command = append([]string{"qemu-aarch64"}, command...)
			}
			out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Equal(t, "all checks passed\n", string(out))
		})
	}
}

// TestBench checks that the benchmark of docs/measurements/threads.md compiles and runs.
func TestBench(t *testing.T) {
	bin := compile(t, "g++", "bench.cc", "-O2")
	out, err := exec.Command(bin, "empty", "2", "20").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "2 workers, 64 empty tasks, ns: fastest ")
	out, err = exec.Command(bin, "busy", "1", "2", "5").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "2 workers, 1 busy loops, ms: fastest ")
}
