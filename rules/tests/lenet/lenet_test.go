// Package lenet_test checks the outputs of a LeNet that the build prunes by training.
package lenet_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
)

// read returns a file that Bazel built. It skips the test if the test does not run under Bazel.
func read(t *testing.T, name string) []byte {
	t.Helper()
	if os.Getenv("TEST_SRCDIR") == "" {
		t.Skip("./bazelw test //rules/tests/lenet:lenet_test builds what this test reads")
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}

// TestLeNet checks that the pruned network keeps a quarter of the weights, and loses at most 0.3
// points of accuracy compared with the original one.
func TestLeNet(t *testing.T) {
	var log struct {
		Before, After struct{ Accuracy float64 }
		Residuals     []struct {
			Iteration    int
			Layer        string
			Connectivity float64
		}
	}
	require.NoError(t, json.Unmarshal(read(t, "pruned/pruned.log.json"), &log))
	t.Logf("accuracy %.4f before, %.4f after", log.Before.Accuracy, log.After.Accuracy)
	require.Greater(t, log.Before.Accuracy, 0.965)
	require.GreaterOrEqual(t, log.After.Accuracy, log.Before.Accuracy-0.003)
	first, last := map[string]float64{}, map[string]float64{}
	for _, r := range log.Residuals {
		if r.Iteration == 1 {
			first[r.Layer] = r.Connectivity
		}
		last[r.Layer] = r.Connectivity
	}
	require.Len(t, first, 4)
	for layer, r := range first {
		require.Less(t, last[layer], r, "the residuals of %s do not fall", layer)
	}
	r, err := prune.ParseReport(read(t, "net/net.pruning.json"))
	require.NoError(t, err)
	require.True(t, r.Retrained)
	weights, kept := int64(0), int64(0)
	for _, l := range r.Layers {
		weights, kept = weights+l.Weights, kept+l.KeptWeights
	}
	require.Greater(t, float64(weights)/float64(kept), 4.0)
}
