// Package fastrpctest runs stubs and skeletons with a fake FastRPC library whose DSP is the same
// process, or one under qemu-hexagon.
package fastrpctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the repository's folder, both with go test and with Bazel.
const root = "../../.."

var strict = []string{"-std=c++17", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-missing-field-initializers", "-Werror", "-I" + root, "-Itestdata"}

// build is a compiler with its flags, and the folder of its outputs.
type build struct {
	t        *testing.T
	compiler string
	flags    []string
	dir      string
}

func (b *build) make(name string, args ...string) string {
	out := filepath.Join(b.dir, name)
	command := append(append(append(append([]string{}, strict...), b.flags...), "-o", out), args...)
	text, err := exec.Command(b.compiler, command...).CombinedOutput()
	require.NoError(b.t, err, "%s", text)
	return out
}

// library links a shared library; names that it does not export are local to it.
func (b *build) library(name string, args ...string) {
	b.make(name, append([]string{"-shared", "-fPIC", "-fvisibility=hidden"}, args...)...)
}

// objects compiles the runtime, stub and skeleton included, for programs and libraries.
func (b *build) objects() (out []string) {
	for _, pattern := range []string{"runtime/dnn_*.cc", "runtime/fastrpc/*.cc"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(b.t, err)
		require.NotEmpty(b.t, files)
		for _, file := range files {
			out = append(out, b.make(filepath.Base(file)+".o", "-c", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", file))
		}
	}
	return out
}

// skeletons builds the files that the fake DSP finds: the model's library, a copy of it with
// another name, libraries of other models, and files that are not skeletons.
func (b *build) skeletons(objects []string) {
	files := append([]string{"-fno-exceptions", "-fno-rtti", "testdata/far.cc", "-pthread"}, objects...)
	b.library("libfake_v68_skel.so", files...)
	b.library("libcopy.so", files...)
	b.library("libgraph.so", append([]string{"-DGRAPH=kOther"}, files...)...)
	b.library("libweights.so", append([]string{"-DWEIGHTS=kOther"}, files...)...)
	b.library("libempty.so", "testdata/empty.cc")
	b.broken()
}

func (b *build) broken() {
	require.NoError(b.t, os.WriteFile(filepath.Join(b.dir, "libbroken.so"), []byte("no library"), 0o644))
}

func (b *build) driver(objects []string) string {
	return b.make("driver", append(append([]string{"-fno-exceptions", "-fno-rtti", "testdata/driver.cc"}, objects...), "-pthread", "-ldl")...)
}

// runs runs the driver, which finds the library of the folder, or no library.
func (b *build) runs(driver string, args ...string) {
	cmd := exec.Command(driver, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+b.dir, "FAKE_DSP="+b.dir)
	out, err := cmd.CombinedOutput()
	assert.NoError(b.t, err, "%s", out)
	assert.Contains(b.t, string(out), "all checks passed")
}

// fake builds the fake FastRPC library with a DSP.
func (b *build) fake(dsp string, flags ...string) {
	b.make("libcdsprpc.so", append([]string{"-shared", "-fPIC", "testdata/fake.cc", "testdata/" + dsp}, flags...)...)
}

// TestStubAndSkeleton checks that each failure of stub, transport and skeleton becomes a status
// with words, and leaks nothing.
func TestStubAndSkeleton(t *testing.T) {
	for _, c := range []struct {
		name, compiler string
		flags          []string
	}{
		{"gcc", "g++", []string{"-O1"}},
		// The fake library's declarations are independent of the runtime's, like FastRPC's.
		{"address", "clang++", []string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize=function", "-fno-sanitize-recover=all"}},
		{"thread", "clang++", []string{"-O1", "-g", "-fsanitize=thread"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skipf("no %s on this machine", c.compiler)
			}
			b := &build{t, c.compiler, c.flags, t.TempDir()}
			objects := b.objects()
			b.skeletons(objects)
			driver := b.driver(objects)
			b.runs(driver, "none", "no FastRPC library on this machine")
			b.fake("near.cc")
			b.runs(driver, "all")
			b.fake("near.cc", "-DFAKE_OLD")
			b.runs(driver, "old")
			b.make("libcdsprpc.so", "-shared", "-fPIC", "testdata/empty.cc")
			b.runs(driver, "none", "no function remote_handle64_open")
		})
	}
}
