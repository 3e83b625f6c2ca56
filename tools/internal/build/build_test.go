package build

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKernelCopts: kernels are compiled as the rules compile them.
func TestKernelCopts(t *testing.T) {
	rules, err := os.ReadFile("../../../rules/private/cc.bzl")
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(rules), "_KERNEL_COPTS = [\n")
	list, _, _ = strings.Cut(list, "]")
	var want []string
	for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(list, -1) {
		want = append(want, m[1])
	}
	assert.Equal(t, want, KernelCopts)
}

// TestErrors: errors of tools have what the tools printed. For a pattern without files, the error
// names the folder in which to run the command.
func TestErrors(t *testing.T) {
	_, err := Output("sh", "-c", "echo broken >&2; exit 3")
	require.EqualError(t, err, "sh -c: exit status 3\nbroken\n")
	_, err = Stdout("sh", "-c", "echo figures; echo broken >&2; exit 3")
	require.EqualError(t, err, "sh: exit status 3\nbroken\n")
	out, err := Stdout("sh", "-c", "echo figures; echo progress >&2")
	require.NoError(t, err)
	assert.Equal(t, "figures\n", string(out))
	err = Parallel("sh", [][]string{{"-c", "true"}, {"-c", "echo first; false"}, {"-c", "echo second; false"}})
	require.ErrorContains(t, err, "first")
	require.ErrorContains(t, err, "second")
	_, err = Compile([]string{"c++"}, nil, t.TempDir(), filepath.Join(t.TempDir(), "*.cc"))
	require.ErrorContains(t, err, "run this command from the repository's root")
}

// TestModel: a model's folder has the chip's facts, and a chip without facts is an error.
func TestModel(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "model")
	m, err := (&Tools{}).Model(folder, "arm64")
	require.NoError(t, err)
	assert.Equal(t, "arm64", m.Chip.Name)
	assert.FileExists(t, filepath.Join(folder, "chip.json"))
	src, err := m.WriteGraph("graph")
	require.NoError(t, err)
	for name, want := range map[string]string{src: "", filepath.Join(folder, "graph.txt"): "graph", filepath.Join(folder, "graph.consts"): ""} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, want, string(text), name)
	}
	_, err = (&Tools{}).Model(folder, "no chip")
	require.Error(t, err)
}
