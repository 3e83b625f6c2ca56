package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/propose/product"
	"rules_dnn/gen/target/instr"
)

// network writes a model of two convolutions of bytes, with a Cast to bytes between them, and returns
// its path.
func network(t *testing.T) string {
	const channels = 32
	m := onnxtest.Model([]*onnxpb.ValueInfoProto{onnxtest.Input("x", onnxpb.TensorProto_UINT8, 1, channels, 8, 8)},
		onnxtest.Op("ConvInteger", "x w", "y"),
		onnxtest.Op("Cast", "y", "b", "to", int(onnxpb.TensorProto_UINT8)),
		onnxtest.Op("ConvInteger", "b w", "z"))
	onnxtest.With(m, onnxtest.Raw("w", onnxpb.TensorProto_INT8, []int64{channels, channels, 1, 1}, bytes.Repeat([]byte{1, 2, 3, 255}, channels*channels/4)))
	path := filepath.Join(t.TempDir(), "net.onnx")
	require.NoError(t, os.WriteFile(path, onnxtest.Bytes(m), 0o600))
	return path
}

// TestRun: a line for the first block and one for all, whose choices are optimal, and no simpler
// one is better.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out, []string{"--chip=hexagon_v68", "--first=1", network(t)}))
	lines := regexp.MustCompile(`(?m)^net\.onnx: (\d+) blocks, (\d+) candidates: (.*); candidates estimated in .*; local choice ([0-9.]+)x(.*); kernels (.*)$`).FindAllStringSubmatch(out.String(), -1)
	require.Len(t, lines, 2, out.String())
	assert.Equal(t, "1", lines[0][1])
	all := lines[1]
	assert.Equal(t, "2", all[1], "two products, the first of which stores bytes")
	assert.Contains(t, all[3], "optim", "it is certified")
	assert.Contains(t, all[5], ", row-major for all ")
	for _, times := range regexp.MustCompile(`([0-9.]+)x`).FindAllStringSubmatch(all[4]+"x"+all[5], -1) {
		n, err := strconv.ParseFloat(times[1], 64)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, n, 1.0, all[0])
	}
	assert.Contains(t, all[6], `"product`)
}

// TestWrong: what is no number of blocks, no chip and no file is named.
func TestWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "want networks in ONNX after the options"},
		{[]string{"--blocks=1", "net.onnx"}, "flag provided but not defined: -blocks"},
		{[]string{"--first=1,x", "net.onnx"}, "--first=1,x: want positive numbers, separated by commas"},
		{[]string{"--first=0", "net.onnx"}, "--first=0: want positive numbers, separated by commas"},
		{[]string{"--chip=z80", "net.onnx"}, `there is no chip "z80"`},
		{[]string{filepath.Join(t.TempDir(), "none.onnx")}, "none.onnx"},
	} {
		assert.ErrorContains(t, run(&bytes.Buffer{}, c.args), c.want)
	}
}

// TestOfRow: an instruction's layouts have its lanes or its groups, of any axes.
func TestOfRow(t *testing.T) {
	r := instr.Lookup("vrmpy_i8u8")
	require.NotNil(t, r)
	assert.True(t, ofRow(r, product.DotLayout(r, 1, 3)))
	assert.True(t, ofRow(r, layout.Blocked(1, r.Group)))
	assert.False(t, ofRow(r, layout.RowMajor))
	assert.False(t, ofRow(r, layout.Blocked(1, r.Group+1)))
}
