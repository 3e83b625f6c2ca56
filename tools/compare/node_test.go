package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNodes: each network of one node in the list is one that the importer reads, and has a name of
// its own.
func TestNodes(t *testing.T) {
	atRoot(t)
	args := []string{"--list=tests/models/nodes.txt"}
	o, err := parse(args)
	require.NoError(t, err)
	models, err := listed(o, args)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, one := range models {
		names[one.name()] = true
		m, err := open(one, t.TempDir())
		require.NoError(t, err, one.node)
		assert.Len(t, m.graph.Nodes, 1, one.node)
	}
	assert.Len(t, names, len(models))
	assert.Greater(t, len(models), 90)
}

// TestNodeSymbols: dimensions of inputs may be symbols.
func TestNodeSymbols(t *testing.T) {
	path := t.TempDir() + "/node.onnx"
	require.NoError(t, nodeModel("Relu;x:f32[N,3,Width2]", path, 0, 10))
	o, err := parse([]string{path})
	require.NoError(t, err)
	m, err := open(o, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, "[N 3 Width2]", fmt.Sprint(m.graph.Inputs[0].Shape))
}

// TestNodeErrors: what is no operand and no attribute is said.
func TestNodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"Relu;x":                      "want NAME:TYPE[DIMENSIONS], NAME=VALUE or _",
		"Relu;x:f32":                  `found "f32", want a type and dimensions`,
		"Relu;x:f9[2]":                `found "f9[2]", want a type and dimensions`,
		"Relu;x:f32[2,b-]":            "invalid syntax",
		"Add;x:f32[N];Y:f32[N]":       "invalid syntax",
		"Relu;X:f32[-2]":              "found \"f32[-2]\", want dimensions from 0 on",
		"Relu;X:f32[9999999,9999999]": "found \"f32[9999999,9999999]\", want dimensions from 0 on, and less than 2 GiB",
		"Relu;x:f32[2":                `found "f32[2", want a type and dimensions`,
		"Softmax;x:f32[2];axis=[a]":   "invalid syntax",
		"Softmax;x:f32[2];axis=[1":    `found "[1", want integers in brackets`,
		"Add;x:i64[2];Y:i64[2]=1.5":   "invalid syntax",
		"Add;x:f32[2];Y:f32[2]=1,2,3": "found 3 elements, want 1 or 2",
		"Add;x:f32[2];Y:f16[2]=1":     "elements are given of f32 and i64, not of f16",
	} {
		assert.ErrorContains(t, nodeModel(text, t.TempDir()+"/node.onnx", 0, 10), want, text)
	}
}
