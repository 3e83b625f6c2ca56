// Package backendtest tests the runtime's OpenCL backend with a fake library that fails on demand.
package backendtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the repository's folder, both with go test and with Bazel.
const root = "../../.."

var strict = []string{"-std=c++17", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-I" + root}

// program compiles C++ files with the given arguments.
func program(t *testing.T, compiler, out string, args ...string) {
	command := append(append(append([]string{}, strict...), "-o", out), args...)
	text, err := exec.Command(compiler, command...).CombinedOutput()
	require.NoError(t, err, "%s", text)
}

var (
	plain     = []string{"-fno-exceptions", "-fno-rtti", "-Wno-missing-field-initializers"}
	libraries = []string{"-pthread", "-ldl"}
)

// compiled builds the objects of the runtime and of its backend.
func compiled(t *testing.T, compiler, dir string, flags []string) []string {
	var out []string
	for _, pattern := range []string{"runtime/dnn_*.cc", "runtime/opencl/*.cc"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			object := filepath.Join(dir, filepath.Base(file)+".o")
			program(t, compiler, object, slices.Concat(flags, plain, []string{"-c", file})...)
			out = append(out, object)
		}
	}
	return out
}

// runs runs a program that finds the library of a folder, or no library.
func runs(t *testing.T, folder, bin string, args ...string) string {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder)
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
	return string(out)
}

// TestBackend checks that each failure of the driver becomes a status with the driver's words and
// leaks nothing, and that the cache of compiled kernels survives damage.
func TestBackend(t *testing.T) {
	for _, c := range []struct {
		name, compiler string
		flags          []string
	}{
		{"gcc", "g++", []string{"-O1"}},
		{"address", "clang++", []string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skipf("no %s on this machine", c.compiler)
			}
			dir := t.TempDir()
			program(t, c.compiler, filepath.Join(dir, "libOpenCL.so.1"), append(c.flags, "-shared", "-fPIC", "testdata/fake.cc", "testdata/fake_records.cc")...)
			objects := compiled(t, c.compiler, dir, c.flags)
			bin := filepath.Join(dir, "driver")
			program(t, c.compiler, bin, slices.Concat(c.flags, plain, []string{"testdata/driver.cc"}, objects, libraries)...)
			assert.Contains(t, runs(t, dir, bin, "all", dir), "all checks passed")
			for _, name := range []string{"records", "unrecorded"} {
				other := filepath.Join(dir, name)
				program(t, c.compiler, other, slices.Concat(c.flags, plain, []string{"testdata/" + name + ".cc"}, objects, libraries)...)
				assert.Contains(t, runs(t, dir, other), "all checks passed")
			}

			// Several processes share one folder of compiled kernels.
			var group sync.WaitGroup
			for range 3 {
				group.Add(1)
				go func() {
					defer group.Done()
					assert.Contains(t, runs(t, dir, bin, "share", filepath.Join(dir, "shared")), "shared")
				}()
			}
			group.Wait()

			// A library that is not OpenCL, and one that cannot be loaded.
			program(t, c.compiler, filepath.Join(dir, "libOpenCL.so.1"), append(c.flags, "-shared", "-fPIC", "testdata/empty.cc")...)
			assert.Contains(t, runs(t, dir, bin, "none", "no function cl"), "refused")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "libOpenCL.so.1"), []byte("no library"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "libOpenCL.so"), []byte("no library"), 0o644))
			assert.Contains(t, runs(t, dir, bin, "none", "OpenCL library"), "refused")
		})
	}
}

// TestLaunches checks that launches that the machine's driver records have the same results as
// separate launches and do not leak memory; -v prints the time of a launch for both.
func TestLaunches(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ on this machine")
	}
	dir, flags := t.TempDir(), []string{"-O1"}
	bin := filepath.Join(dir, "launches")
	program(t, "g++", bin, slices.Concat(flags, plain, []string{"testdata/launches.cc"}, compiled(t, "g++", dir, flags), libraries)...)
	out, err := exec.Command(bin).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	if strings.Contains(string(out), "nothing to run") {
		t.Skip("no OpenCL device on this machine: install pocl-opencl-icd and ocl-icd-libopencl1 (Debian), or run this in `./bazelw exec`")
	}
	assert.Contains(t, string(out), "all checks passed")
}
