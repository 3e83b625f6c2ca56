package block

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/kernel/layout"
)

// TestView: which results are parts of an operand's storage, where nodes only move elements.
func TestView(t *testing.T) {
	rows, columns, blocks := layout.RowMajor, layout.Of(layout.Part{Axis: 0}), layout.Blocked(1, 16)
	for _, c := range []struct {
		name     string
		x        string // the operand's shape
		node     string // that computes y
		from, to layout.Layout
		want     string // where y begins; "": nowhere
	}{
		{"rows", "8, 6", "Slice.13(%x, @two, @five, @zero)", rows, rows, "12"},
		{"columns", "8, 6", "Slice.13(%x, @two, @five, @one)", rows, rows, ""},
		{"columns of one row", "1, 6", "Slice.13(%x, @two, @five, @one)", rows, rows, "2"},
		{"every second row", "8, 6", "Slice.13(%x, @zero, @five, @zero, @two)", rows, rows, ""},
		{"from the last row on", "8, 6", "Slice.13(%x, @five, @zero, @zero, @minus)", rows, rows, ""},
		{"channels", "1, 64, H, W", "Slice.13(%x, @c32, @c48, @one)", rows, rows, "32*H*W"},
		{"channels of several pictures", "N, 64, H, W", "Slice.13(%x, @c32, @c48, @one)", rows, rows, ""},
		{"whole blocks", "1, 64, H, W", "Slice.13(%x, @c32, @c48, @one)", blocks, blocks, "32*H*W"},
		{"the end of the last block", "1, 40, H, W", "Slice.13(%x, @c32, @big, @one)", blocks, blocks, ""}, // its zeros might be others
		{"a part of a block", "1, 64, H, W", "Slice.13(%x, @c32, @c37, @one)", blocks, blocks, ""},
		{"from within a block", "1, 64, H, W", "Slice.13(%x, @five, @c21, @one)", blocks, blocks, ""},
		{"another layout", "1, 64, H, W", "Slice.13(%x, @c32, @c48, @one)", blocks, rows, ""},
		{"all of it", "N, 64, H, W", "Identity.13(%x)", blocks, blocks, "0"},
		{"the same numbers in other rows", "6, 8", "Reshape.14(%x, @to)", rows, rows, "0"},
		{"axes together and apart", "2, 16, 32, 14", "Reshape.14(%x, @apart)", rows, rows, "0"},
		{"an axis of one", "N, 5", "Unsqueeze.13(%x, @one)", rows, rows, "0"},
		{"one row", "8, 6", "Gather.13(%x, @row) {axis = 0}", rows, rows, "18"},
		{"turned round", "8, 6", "Transpose.13(%x)", rows, rows, ""},
		{"turned round in columns", "8, 6", "Transpose.13(%x)", rows, columns, "0"},
		{"columns turned round", "8, 6", "Transpose.13(%x)", columns, rows, "0"},
		{"turned round in longer columns", "8, 6", "Transpose.13(%x)", rows, layout.Of(layout.Part{Axis: 0, Pad: 2}), ""},
		{"rows of longer ones", "8, 6", "Slice.13(%x, @two, @five, @zero)", layout.Of(layout.Part{Axis: 1, Pad: 2}), rows, ""},
		{"a row of longer ones", "8, 6", "Gather.13(%x, @row) {axis = 0}", layout.Of(layout.Part{Axis: 1, Pad: 2}), rows, "24"},
		{"turned round, where nothing moves", "1, 6", "Transpose.13(%x)", rows, rows, "0"},
		{"repeated", "1, 6", "Expand.13(%x, @to)", rows, rows, ""},
		{"computed", "8, 6", "Neg.13(%x)", rows, rows, ""},
		{"converted", "8, 6", "Cast.13(%x) {to = 6}", rows, rows, ""},
		{"padded", "8, 6", "Pad.13(%x, @pads)", rows, rows, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irtest.Parse(t, `  symbol H 1..64
  symbol N 1..64
  symbol W 1..64
  const @zero i64[1] = {0}
  const @one i64[1] = {1}
  const @two i64[1] = {2}
  const @row i64[] = {3}
  const @five i64[1] = {5}
  const @c21 i64[1] = {21}
  const @c32 i64[1] = {32}
  const @c37 i64[1] = {37}
  const @c48 i64[1] = {48}
  const @big i64[1] = {1000}
  const @minus i64[1] = {-1}
  const @to i64[2] = {8, 6}
  const @apart i64[3] = {32, 64, 7}
  const @pads i64[4] = {0, 0, 1, 0}
  input %h f32[H, N, W]
  input %x f32[`+c.x+`]
  %y ?[*] = `+c.node+`
  %z ?[*] = Neg.13(%h)
  output %y
  output %z
`)
			require.NoError(t, shape.Infer(g))
			blocks, err := Form(g)
			require.NoError(t, err)
			lay := func(v *ir.Value) layout.Layout {
				if v.Name == "x" {
					return c.from
				}
				return c.to
			}
			of, at, ok := blocks.Blocks[0].View(lay, blocks.Facts)
			require.Equal(t, c.want != "", ok, "from %s on", at)
			if ok {
				assert.Equal(t, "x", of.Name)
				assert.Equal(t, c.want, at.String())
			}
		})
	}
}
