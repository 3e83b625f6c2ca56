package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrite: a bundle has the kernels that each operator needs, and what runs them.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(nvidia, dir, "MatMul 49x768x768|softmax|Conv 1x1 64.*batch 1$", 0))
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	require.NoError(t, err)
	var all []bundle
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, 3)
	for _, b := range all {
		require.NotEmpty(t, b.Calls, b.Name)
		for _, c := range b.Calls {
			require.Contains(t, b.Source, "void "+c.Kernel+"(", b.Name)
			require.Zero(t, c.Global[0]%c.Local[0], b.Name)
		}
	}
	require.Contains(t, all[0].Source, "__local float")
	for _, name := range []string{"measure.py", "cl.py"} {
		require.FileExists(t, filepath.Join(dir, name))
	}
}

// TestCandidates: several kernels of an operator, also such as add parts of its sums, which another
// kernel joins; those that are equal are there once.
func TestCandidates(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(nvidia, dir, "MatMul 49x768x768", 3))
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	require.NoError(t, err)
	var all []bundle
	require.NoError(t, json.Unmarshal(text, &all))
	sources, calls := map[string]bool{}, map[int]int{}
	for _, b := range all {
		require.False(t, sources[b.Source], b.Name)
		sources[b.Source] = true
		calls[len(b.Calls)]++
	}
	require.Len(t, calls, 2)
	require.Equal(t, 3, calls[1], "kernels of whole sums")
	require.Greater(t, calls[2], 3, "kernels of parts of sums")
	require.ErrorContains(t, write(nvidia, "", "", 0), "want --out FOLDER")
}

// TestKnownWeights: kernels of a convolution whose weights are known read what is made of these,
// from files; by Winograd's algorithm there are three.
func TestKnownWeights(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(nvidia, dir, "Conv 3x3 64 to 64.*batch 16, known", 0))
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	require.NoError(t, err)
	var all []bundle
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, 3)
	for i, points := range []int64{9, 16, 36} {
		b := all[i]
		require.Len(t, b.Calls, []int{1, 3, 3}[i], b.Name)
		require.Equal(t, [][]int64{{16, 64, 56, 56}}, b.Inputs)
		require.Equal(t, []int64{64, 64, 3, 3}, b.Weights.Shape)
		require.Equal(t, all[0].Weights, b.Weights)
		require.Len(t, b.Constants, 1, b.Name)
		for n, c := range b.Constants {
			product := b.Calls[len(b.Calls)/2]
			require.Contains(t, product.Buffers, n)
			file, err := os.Stat(filepath.Join(dir, c.File))
			require.NoError(t, err)
			require.Equal(t, 4*points*64*64, file.Size(), b.Name)
			require.Equal(t, file.Size(), product.Bytes[slices.Index(product.Buffers, n)])
		}
	}
}

// TestAttention: attention is one kernel where the table of docs/performance.md says that it was
// measured to be faster, and three elsewhere.
func TestAttention(t *testing.T) {
	kernels := map[string]int{
		"attention of 12 heads, 197x197x64": 3, "attention of 12 heads, 128x128x64": 1, "attention of 192 heads, 49x49x32": 1, "attention of 8 heads, 1024x1024x40": 1,
		"attention of 192 heads, 197x197x64": 1, "attention of 128 heads, 1024x1024x40": 1,
	}
	dir := t.TempDir()
	require.NoError(t, write(nvidia, dir, "^attention[^,]*, [^,]*$", 0))
	text, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	require.NoError(t, err)
	var all []bundle
	require.NoError(t, json.Unmarshal(text, &all))
	for _, b := range all {
		if want, known := kernels[b.Name]; known {
			require.Len(t, b.Calls, want, b.Name)
			delete(kernels, b.Name)
		}
	}
	require.Empty(t, kernels, "cases that are no longer there")
}

// TestWrong: what is wrong with options is told in one line.
func TestWrong(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       "want --out FOLDER",
		"--cases=1":                              "flag provided but not defined: -cases",
		"--networks=none --of=(":                 "missing closing )",
		"--out=none --device=none.json":          "none.json: no such file",
		"--out=none --only=( --device=" + nvidia: "missing closing )",
	} {
		require.ErrorContains(t, run(strings.Fields(args)), want, args)
	}
}

const nvidia = "../../platforms/devices/opencl_nvidia.json"
