package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFarWeights: weights that lie beyond 4 GB of a file of external data are found there.
func TestFarWeights(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	far := int64(5)<<30 + 64
	want := bytes.Repeat([]byte("far "), 100)
	f, err := os.Create("weights.bin")
	require.NoError(t, err)
	_, err = f.WriteAt(want, far) // a hole before it takes no place
	require.NoError(t, err)
	require.NoError(t, f.Close())
	m := with(hostileModel(floats("x", 100), op("Add", "x w", "y")), weightsIn("w", &far, 100))
	require.NoError(t, os.WriteFile("model.onnx", marshal(t, m), 0o644))
	external := "--external=weights.bin=weights.bin"
	mustRun(t, graphArgs("model.onnx", external)...)
	text, err := os.ReadFile("net.graph.txt")
	require.NoError(t, err)
	assert.Contains(t, string(text), fmt.Sprintf("[%d, 400]", int64(5)<<30+64))
	mustRun(t, compileArgs("model.onnx", chip, external, "--weights=file", "--out-weights-asm=")...)
	weights, err := os.ReadFile("net.weights")
	require.NoError(t, err)
	assert.True(t, bytes.Contains(weights, want))
}

// TestEmbedLarge: weights that no program can hold are refused before they are written.
func TestEmbedLarge(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	size := int64(0)
	m := with(hostileModel(floats("x", 1, 1<<14), op("MatMul", "x w", "y")), weightsIn("w", &size, 1<<14, 1<<15))
	require.NoError(t, os.WriteFile("model.onnx", marshal(t, m), 0o644))
	require.NoError(t, os.WriteFile("weights.bin", nil, 0o644))
	require.NoError(t, os.Truncate("weights.bin", size))
	external := "--external=weights.bin=weights.bin"
	mustRun(t, graphArgs("model.onnx", external)...)
	_, err := dnnc(compileArgs("model.onnx", chip, external)...)
	require.ErrorContains(t, err, "model.onnx: the weights have 2147483648 bytes; a library or program can contain at most 2013265920. Use --weights=file")
	assert.NoFileExists(t, "net.h")
	assert.NoFileExists(t, "net.weights")
}
