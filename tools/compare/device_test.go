package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestListOfDevice: a list for a device tells where blocks run; of networks with more weights than
// are to be run, whose weights no file has, too.
func TestListOfDevice(t *testing.T) {
	dnnc := ofTests(t)
	atRoot(t)
	net := network(t)
	lists := []string{filepath.Join(t.TempDir(), "one.txt"), filepath.Join(t.TempDir(), "two.txt")}
	for i, line := range []string{"net.onnx --run=N=2 --disable=processor\n", "# none\nnet.onnx\n"} {
		require.NoError(t, os.WriteFile(lists[i], []byte(line), 0o666))
	}
	args := []string{"--list=" + strings.Join(lists, ","), "--models=" + filepath.Dir(net), "--dnnc=" + dnnc, "--device=platforms/devices/opencl_buffers.json", "--most-weights=14e-6"}
	o, err := parse(args)
	require.NoError(t, err)
	var table, log strings.Builder
	require.NoError(t, compareList(o, args, &table, &log))
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Len(t, rows, 4)
	for _, r := range rows {
		assert.Equal(t, strings.Count(deviceHead, "|"), strings.Count(r, "|"), r)
	}
	assert.Contains(t, rows[2], "| net.onnx without processor | 1.5e-05 | 1 (1) | 0 | compiled, not run |", "the device can compute the block")
	assert.Contains(t, rows[3], "| net.onnx | 1.5e-05 | 0 (0) | 1 | compiled, not run |", "estimates say that it does not pay")

	// Models that are compared at once have the same rows, in any order, and each its part of the
	// log.
	args = slices.Clip(append(args, "--at-once=2")) // what is appended below is each time to a copy
	o, err = parse(args)
	require.NoError(t, err)
	table.Reset()
	log.Reset()
	require.NoError(t, compareList(o, args, &table, &log))
	assert.Regexp(t, `(?m)^\| net.onnx without processor \| .* compiled, not run \|.*$`, table.String())
	assert.Regexp(t, `(?m)^\| net.onnx \| .* compiled, not run \|.*$`, table.String())
	assert.Regexp(t, `^(== net.onnx.*\nnet.onnx for .*, compiled only: dnnc graph [0-9.]+ s, dnnc compile [0-9.]+ s, [0-9]+ MB; .*\n){2}$`, log.String())

	table.Reset()
	deviceRow(&table, "net.onnx", &outcome{divided: &divided{launches: 3, kernels: 2, calls: 1}, weights: 12_300_000,
		runs: []runOutcome{{inputs: []string{"x f32[2 5]", "y f32[]"}, rel: 1.5e-6, abs: 2e-5, seconds: 61.25}}, times: times{graph: 0.25, compile: 1, memory: 30e6}})
	assert.Equal(t, "| net.onnx | 12.3 | 3 (2) | 1 | x f32[2 5], y f32[] | 1.5e-06 | 2e-05 | 61.2 | 1.25 | 30 |\n", table.String())

	for _, wrong := range [][]string{{net, "--most-weights=1"}, append(args, "--most-weights=-1"), append(args, "--device="), append(args, "--layers")} {
		_, err := parse(wrong)
		assert.ErrorContains(t, err, "--most-weights=", wrong)
	}
	for _, wrong := range [][]string{{net, "--at-once=2"}, append(args, "--at-once=0"), append(args, "--most-weights=0", "--rounds=1"), append(args, "--most-weights=0", "--starts"), append(args, "--tune=net.tune.json")} {
		_, err := parse(wrong)
		assert.ErrorContains(t, err, "--at-once=", wrong)
	}
}

// TestCompiling: a program that waits for others' C++ to be compiled does not take that time for
// its own.
func TestCompiling(t *testing.T) {
	const others = 200 * time.Millisecond
	building.Lock()
	time.AfterFunc(others, building.Unlock)
	var took times
	require.NoError(t, took.compiling(func() error { return nil }))
	assert.Less(t, took.cxx, others.Seconds()/2)
	failed := errors.New("no compiler")
	require.ErrorIs(t, took.compiling(func() error { return failed }), failed)
}
