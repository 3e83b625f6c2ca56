package onnx

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
)

// modelsDir is the folder of models that are too large for the repository, if any.
func modelsDir(t *testing.T) string {
	dir := os.Getenv("DNN_MODELS")
	if dir == "" {
		t.Skip("DNN_MODELS names no folder of models")
	}
	return dir
}

// modelFiles are the models of the folder by name.
func modelFiles(t *testing.T) map[string][]byte {
	dir := modelsDir(t)
	out := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.onnx"))
	require.NoError(t, err)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		out[filepath.Base(p)] = b
	}
	z, err := zip.OpenReader(filepath.Join(dir, "graphs.zip"))
	require.NoError(t, err)
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		out["graphs/"+f.Name] = b
	}
	return out
}

func TestModels(t *testing.T) {
	ops := map[string]int{}
	for name, b := range modelFiles(t) {
		t.Run(name, func(t *testing.T) {
			g, err := Read(bytesFile(b), nil, Options{Fill: true})
			require.NoError(t, err)
			require.NoError(t, ir.Verify(g))
			count(g, ops)
			if strings.HasPrefix(name, "graphs/") {
				_, err := Read(bytesFile(b), nil, Options{})
				require.ErrorContains(t, err, "the weights were removed from the model")
			}
			roundTrips(t, g)
		})
	}
	var names []string
	for op := range ops {
		names = append(names, op)
	}
	sort.Strings(names)
	t.Logf("%d operators: %s", len(names), strings.Join(names, " "))
}

func count(g *ir.Graph, ops map[string]int) {
	for _, n := range g.Nodes {
		ops[n.Op]++
		for _, r := range n.Regions {
			count(r, ops)
		}
	}
}
