package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// TestTexels: a loop over the lanes of an image runs in vectors, or its lanes are stored at once after it.
func TestTexels(t *testing.T) {
	y := &Buffer{Name: "y0", Type: ir.F32, Write: true, Image: &Image{Width: sym.Const(1), Height: sym.Const(9)}}
	w := &Buffer{Name: "a0", Type: ir.F32}
	lane, row := sym.Var("l"), sym.Var("p0")
	at := Texel{Y: row}
	of := func(v te.Expr) []Stmt {
		store := Store{Buf: y, Index: lane, Texel: at, Value: v}
		return []Stmt{For{Var: "p0", Extent: sym.Const(9), Body: []Stmt{For{Var: "l", Extent: sym.Const(4), Body: []Stmt{store}}}}}
	}
	facts := sym.Facts{"l": {Lo: 0, Hi: 3}, "p0": {Lo: 0, Hi: 8}}

	got := Texels(of(Mem{Buf: w, Index: lane}), facts)[0].(For).Body
	require.Len(t, got, 1)
	assert.Equal(t, int64(4), got[0].(For).Lanes, "what lies side by side is a vector")

	strided := Mem{Buf: w, Index: sym.Scale(lane, 2)}
	got = Texels(of(strided), facts)[0].(For).Body
	require.Len(t, got, 3)
	array := got[0].(Alloc).Buf
	assert.Equal(t, "y0_t0", array.Name)
	each, copied := got[1].(For), got[2].(For)
	assert.Zero(t, each.Lanes)
	assert.Equal(t, []Stmt{Store{Buf: array, Index: lane, Value: strided}}, each.Body)
	assert.Equal(t, int64(4), copied.Lanes)
	assert.Equal(t, []Stmt{Store{Buf: y, Index: lane, Texel: at, Value: Mem{Buf: array, Index: lane}}}, copied.Body)
	assert.Equal(t, got, Texels(got, facts), "what is whole stays")
}
