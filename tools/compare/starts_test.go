package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStarts: what --starts prints of a model, and what it does not go with.
func TestStarts(t *testing.T) {
	var table strings.Builder
	x := &outcome{divided: &divided{kernels: 28}, weights: 25_500_000, runs: []runOutcome{{rel: 5.1e-7}}}
	startsRow(&table, "net.onnx", x)
	startsRow(&table, "net.onnx", nil)
	require.Empty(t, table.String(), "it failed before")
	x.starts = &starts{compiled: 4, kept: 0.25}
	startsRow(&table, "net.onnx", x)
	assert.Equal(t, "| net.onnx | 25.5 | 28 | 5.1e-07 | 4.00 | 0.25 | 6 % |\n", table.String())
	assert.Equal(t, strings.Count(startsHead, "|"), strings.Count(table.String(), "|"))
	assert.Equal(t, "first answer after 4.00 s, and 0.25 s with the kernels that were kept then", x.starts.String())

	for _, args := range [][]string{{}, {"--device=d.json", "--layers"}, {"--device=d.json", "--list=l.txt", "--most-weights=1"}, {"--device=d.json", "--peers=all", "--rounds=1"}} {
		_, err := parse(append(args, "net.onnx", "--starts"))
		assert.ErrorContains(t, err, "--starts: want --device", args)
	}
}
