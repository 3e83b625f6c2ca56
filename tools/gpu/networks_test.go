package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target"
	"rules_dnn/tools/check"
)

// TestNamed: what a file's name says of a network.
func TestNamed(t *testing.T) {
	for file, want := range map[string]network{
		"swin_t.onnx":                  {Name: "swin_t", Batch: 1},
		"swin_t_batch16.onnx":          {Name: "swin_t", Batch: 16},
		"vit_b_16.onnx":                {Name: "vit_b_16", Batch: 1},
		"efficientnet_b0_batch16.onnx": {Name: "efficientnet_b0", Batch: 16},
	} {
		n, err := named(file)
		require.NoError(t, err)
		assert.Equal(t, want.Name, n.Name, file)
		assert.Equal(t, want.Batch, n.Batch, file)
		assert.Equal(t, file, n.Graph)
		assert.Equal(t, file, n.Program+".onnx")
	}
	_, err := named("net_batch0.onnx")
	require.EqualError(t, err, "net_batch0.onnx: a batch of 0")
}

// TestNetworksRefused: what is missing is told before anything is compiled.
func TestNetworksRefused(t *testing.T) {
	require.ErrorContains(t, writeNetworks(networkOptions{networks: "."}), "want --out FOLDER")
	require.ErrorContains(t, writeNetworks(networkOptions{networks: ".", out: t.TempDir(), cxx: "c++", only: "("}), "missing closing )")
}

// TestCopts: kernels are compiled as the rules do, for the chip that was asked for.
func TestCopts(t *testing.T) {
	got := coptsOf(&target.Target{Copts: []string{"-march=mine"}})
	assert.Equal(t, append(slices.Clone(check.KernelCopts), "-march=mine"), got.Kernels)
	assert.NotContains(t, measureNetworks, "-march", "networks.py takes what networks.json says")
}
