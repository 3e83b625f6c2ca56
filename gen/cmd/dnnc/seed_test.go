package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSeed: nodes draw from the option, or from an input that each run gives, and both commands know the option.
func TestSeed(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny(t, "input %x f32[2]\n%n f32[2] = RandomNormalLike.1(%x) \"noise\"\n%y f32[2] = Add.14(%x, %n)\noutput %y\n")
	graph := func(seed string) string {
		mustRun(t, append(graphArgs("model.onnx"), seed)...)
		text, err := os.ReadFile("net.graph.txt")
		require.NoError(t, err)
		return string(text)
	}
	require.NotEqual(t, graph("--seed=1"), graph("--seed=2"))
	require.Equal(t, graph("--seed=0"), graph("--time=false"))
	require.Contains(t, graph("--seed=input"), "input %seed i64[]")
	_, err := dnnc(append(graphArgs("model.onnx"), "--seed=x")...)
	require.ErrorContains(t, err, "--seed=x: want a number from 0 to 4294967295, or 'input'")
}
