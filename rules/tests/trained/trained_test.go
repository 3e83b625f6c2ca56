// Package trained_test checks the outputs of a network that the build prunes by training.
package trained_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/emit/manifest"
)

// read returns a file that Bazel built. It skips the test if the test does not run under Bazel.
func read(t *testing.T, name string) []byte {
	t.Helper()
	if os.Getenv("TEST_SRCDIR") == "" {
		t.Skip("./bazelw test //rules/tests/trained:trained_test builds what this test reads")
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return text
}

// TestTrained checks that the compiled network was trained with its masks, and that the log
// describes the training.
func TestTrained(t *testing.T) {
	r, err := prune.ParseReport(read(t, "net/net.pruning.json"))
	require.NoError(t, err)
	require.True(t, r.Retrained)
	require.Len(t, r.Layers, 1)
	require.Equal(t, []int64{288, 64}, []int64{r.Layers[0].Weights, r.Layers[0].KeptWeights})
	var m manifest.Manifest
	require.NoError(t, json.Unmarshal(read(t, "net/net.manifest.json"), &m))
	require.True(t, m.Pruning.Retrained)
	require.Contains(t, string(read(t, "net/net.report.html")), "<h2>Training</h2>")
	for _, w := range m.Warnings {
		require.NotEqual(t, "pruning", w.Kind, w.Text)
	}
	var log struct {
		Residuals []struct {
			Iteration int     `json:"iteration"`
			Patterns  float64 `json:"patterns"`
		} `json:"residuals"`
	}
	require.NoError(t, json.Unmarshal(read(t, "pruned/pruned.log.json"), &log))
	require.Len(t, log.Residuals, 2)
	require.Positive(t, log.Residuals[0].Patterns)
}
