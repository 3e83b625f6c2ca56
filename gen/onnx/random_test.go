package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/onnx/onnxpb"
)

func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		text string
		want Seed
	}{{"0", Seed{}}, {"4294967295", Seed{Value: 4294967295}}, {"input", Seed{Input: true}}} {
		got, err := ParseSeed(c.text)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, text := range []string{"", "-1", "4294967296", "x"} {
		_, err := ParseSeed(text)
		require.ErrorContains(t, err, "want a number from 0 to 4294967295, or 'input'")
	}
}

// TestDraws: each node has a stream of its own, and the seed's input a free name.
func TestDraws(t *testing.T) {
	m := modelOf(names("seed"), names("y"), node("RandomNormalLike", names("seed"), names("a")), node("RandomUniformLike", names("seed"), names("b")),
		node("Add", names("a", "b"), names("y")))
	g, err := read(t, m, Options{Seed: Seed{Input: true}})
	require.NoError(t, err)
	require.Equal(t, "seed_2", g.Inputs[1].Name)
	require.Contains(t, text(t, g), "stream = 0")
	require.Contains(t, text(t, g), "stream = 1")
}

func TestDrawErrors(t *testing.T) {
	of := func(n *onnxpb.NodeProto) *onnxpb.ModelProto { return modelOf(names("x"), names("y"), n) }
	scan := graphOf(names("row"), names("z"), node("RandomNormalLike", names("row"), names("z")))
	for _, c := range []struct {
		m    *onnxpb.ModelProto
		want string
	}{
		{of(node("RandomNormal", nil, names("y"))), "attribute shape is absent, but required"},
		{of(node("RandomNormal", nil, names("y"), "shape", []int64{2}, "sigma", float32(1))), `attribute "sigma" is unknown to the operator`},
		{of(node("RandomNormal", nil, names("y"), "shape", []int64{2}, "mean", 1)), "attribute mean has type INT, want FLOAT"},
		{of(node("RandomUniformLike", nil, names("y"))), "0 operands; want at least the first one and at most 1"},
		{of(node("Bernoulli", names("x", "x"), names("y"))), "2 operands; want at least the first one and at most 1"},
		{of(node("Multinomial", names("x"), names("y"), "dtype", 1)), "attribute dtype is 1; want 6 (int32) or 7 (int64)"},
		{of(node("Bernoulli", names("x"), names("y", "z"))), "2 results; the operator has 1"},
		{of(node("Scan", names("x"), names("y"), "num_scan_inputs", 1, "body", scan)), "random numbers in the body of a Scan are not supported"},
	} {
		_, err := read(t, c.m, Options{})
		require.ErrorContains(t, err, c.want)
	}
}
