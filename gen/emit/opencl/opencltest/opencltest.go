// Package opencltest runs printed programs on the machine's first OpenCL device: many small programs
// by one host, which finds OpenCL as the runtime does. Only tests import it.
//
// A device of another machine is tested in three steps: with OPENCLTEST_REQUESTS=DIR a test writes what the
// host reads to DIR/TEST.request; there, testdata/driver.cc, compiled with runtime/opencl/loader.cc, makes
// DIR/TEST.answer of it; with OPENCLTEST_ANSWERS=DIR the test takes that answer for its own device's.
package opencltest

import (
	"bytes"
	_ "embed" // the host
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

//go:embed testdata/driver.cc
var driver string

// Case is a program and what to run it on.
type Case struct {
	Name    string
	Program *plan.Program
	Device  *target.Target
	Dims    map[string]int64 // values of the program's symbols
	Inputs  []*ir.Tensor
	// Exact forbids the compiler to fuse products and sums.
	Exact bool
	// Together has what items of sub-groups do together, which the device's compiler must take: nothing asks it by the probe.
	Together bool
}

// Result is what a run came to. Outputs are set unless the device lacks something.
type Result struct {
	Status  int32
	Outputs []*ir.Tensor
}

// Status of a case.
const (
	BadValue = 13 // a loaded index is out of bounds
	Lacks    = -1 // the device has no doubles
)

// install says what a test needs that is skipped without it.
const install = "no OpenCL on this machine: install pocl-opencl-icd and ocl-icd-libopencl1 (Debian), or run this in `./bazelw exec`"

// Run prints the cases and runs them. root is the repository's folder, where runtime/ lies. A test
// on a machine without OpenCL, or without a C++ compiler, is skipped.
func Run(t testing.TB, root string, cases []Case) []Result {
	all, err := bundles(cases)
	require.NoError(t, err)
	var request bytes.Buffer
	request.Write(number(int64(len(all))))
	var order []int
	for _, b := range all {
		require.NoError(t, b.write(&request, cases))
		order = append(order, b.cases...)
	}
	name, out := text(answer(t, root, request.Bytes()))
	t.Logf("%d programs on %s", len(cases), name)
	return results(t, cases, order, out)
}

// answer is what the host makes of a request, here or elsewhere.
func answer(t testing.TB, root string, request []byte) []byte {
	file := strings.ReplaceAll(t.Name(), "/", "_")
	if dir := os.Getenv("OPENCLTEST_ANSWERS"); dir != "" {
		out, err := os.ReadFile(filepath.Join(dir, file+".answer"))
		require.NoError(t, err)
		return out
	}
	if dir := os.Getenv("OPENCLTEST_REQUESTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file+".request"), request, 0o644))
		t.Skip("the request is written, and not run")
	}
	dir := t.TempDir()
	bin := build(t, root, dir)
	probe(t, bin, dir)
	out, err := run(bin, dir, request)
	require.NoError(t, err)
	return out
}

// build compiles the host.
func build(t testing.TB, root, dir string) string {
	compiler := ""
	for _, name := range []string{"clang++", "g++"} {
		if _, err := exec.LookPath(name); err == nil && compiler == "" {
			compiler = name
		}
	}
	if compiler == "" {
		t.Skip("no C++ compiler on this machine")
	}
	source, bin := filepath.Join(dir, "driver.cc"), filepath.Join(dir, "driver")
	require.NoError(t, os.WriteFile(source, []byte(driver), 0o644))
	cmd := exec.Command(compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I"+root, source, filepath.Join(root, "runtime/opencl/loader.cc"), "-o", bin, "-ldl")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// probe skips the test on a machine without OpenCL.
func probe(t testing.TB, bin, dir string) {
	_, err := run(bin, dir, number(0))
	if err == nil {
		return
	}
	for _, missing := range []string{"no OpenCL library", "no OpenCL platform"} {
		if strings.Contains(err.Error(), missing) {
			t.Skip(install)
		}
	}
	require.NoError(t, err)
}

type hostError struct {
	error
	stderr string
}

func (e hostError) Error() string { return e.error.Error() + "\n" + e.stderr }

func run(bin, dir string, request []byte) ([]byte, error) {
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "POCL_CACHE_DIR="+dir) // PoCL keeps what it compiled
	cmd.Stdin = bytes.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, hostError{err, stderr.String()}
	}
	return out, nil
}

func number(x int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(x)) }

func text(data []byte) (string, []byte) {
	n := binary.LittleEndian.Uint64(data)
	return string(data[8 : 8+n]), data[8+n:]
}

// results reads those of the cases, which stand in an order.
func results(t testing.TB, cases []Case, order []int, out []byte) []Result {
	rs := make([]Result, len(cases))
	for _, i := range order {
		c := cases[i]
		require.GreaterOrEqual(t, len(out), 4, "the host ended before %s", c.Name)
		rs[i].Status = int32(binary.LittleEndian.Uint32(out))
		out = out[4:]
		if rs[i].Status == Lacks {
			continue
		}
		for _, v := range c.Program.Outputs {
			shape, err := extents(v.Shape, c.Dims)
			require.NoError(t, err)
			y := ir.NewTensor(v.Type, shape...)
			require.GreaterOrEqual(t, len(out), len(y.Data), c.Name)
			out = out[copy(y.Data, out):]
			rs[i].Outputs = append(rs[i].Outputs, y)
		}
	}
	require.Empty(t, out)
	return rs
}
