// Package pruned_test checks the outputs of a network that the build prunes.
package pruned_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/emit/manifest"
)

// read returns a file that Bazel built. It skips the test if the test does not run under Bazel.
func read(t *testing.T, name string) []byte {
	t.Helper()
	if os.Getenv("TEST_SRCDIR") == "" {
		t.Skip("./bazelw test //rules/tests/pruned:pruned_test builds what this test reads")
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}

func report(t *testing.T, name string) *prune.Report {
	t.Helper()
	r, err := prune.ParseReport(read(t, name))
	require.NoError(t, err)
	return r
}

// TestPruned checks that a network is pruned by its dnn_pruning and its policy, and that the
// manifest warns that it was not retrained.
func TestPruned(t *testing.T) {
	r := report(t, "net/net.pruning.json")
	require.False(t, r.Retrained)
	require.Greater(t, r.Total.Sparsity, 0.7)
	for _, l := range r.Layers {
		require.Equal(t, 4, l.Share)
		require.NotEqual(t, "1x1", l.Kernel, "the policy leaves them dense")
	}
	require.Contains(t, string(read(t, "net/net.pruning.html")), "<svg")
	require.Contains(t, string(read(t, "net/net.report.html")), fmt.Sprintf("of %d pruned layers skip", len(r.Layers)))
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal(read(t, "net/net.manifest.json"), &m))
	require.Equal(t, len(r.Layers), m.Pruning.Layers)
	require.Len(t, m.Pruning.Chosen, len(r.Layers))
	require.Contains(t, m.Pruning.Kernels, "skip dropped weights")
	kinds := map[string]bool{}
	for _, w := range m.Warnings {
		kinds[w.Kind] = true
	}
	require.True(t, kinds["pruning"], "%v", m.Warnings)
}

// TestPrecision checks that kernels skip the same dropped weights if the network is stored in 16
// bits. Kernels of Winograd's algorithm store transformed weights, which take more bytes.
func TestPrecision(t *testing.T) {
	var whole manifest.Manifest
	require.NoError(t, json.Unmarshal(read(t, "net/net.manifest.json"), &whole))
	for name, storage := range map[string]string{"net_fp16": "f16", "net_bf16": "bf16"} {
		var m manifest.Manifest
		require.NoError(t, json.Unmarshal(read(t, name+"/"+name+".manifest.json"), &m))
		require.Equal(t, storage, m.Precision.Storage)
		require.Equal(t, whole.Pruning.KeptWeights, m.Pruning.KeptWeights)
		skip := 0
		for _, l := range m.Pruning.Chosen {
			for _, b := range l.Blocks {
				if strings.HasPrefix(b.Encoding, "fkw ") {
					skip++
				}
			}
		}
		require.GreaterOrEqual(t, skip, len(m.Pruning.Chosen)-1, name)
		require.Contains(t, string(read(t, name+"/"+name+".report.html")), "pruned layers skip")
	}
}

// TestMasks checks that pruning with masks that pruning wrote has the same result.
func TestMasks(t *testing.T) {
	require.Equal(t, string(read(t, "net/net.masks.safetensors")), string(read(t, "net_again/net_again.masks.safetensors")))
	require.Equal(t, string(read(t, "net/net.weights")), string(read(t, "net_again/net_again.weights")))
	require.Equal(t, report(t, "net/net.pruning.json").Layers, report(t, "net_again/net_again.pruning.json").Layers)
}
