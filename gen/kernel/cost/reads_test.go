package cost

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// TestReading: what kernels read and write of memory is counted as often as loops say, of images by texels, and what items share is not.
func TestReading(t *testing.T) {
	n := sym.Const(64)
	assert.Equal(t, Reads{Bytes: 256, Stored: 256}, Reading(copying(n, 4, 0), nil))

	k := copying(n, 1, 4)
	k.Grid = []te.Axis{{Var: "g", Extent: sym.Const(3)}}
	assert.Equal(t, Reads{Bytes: 768, Stored: 768}, Reading(k, nil))
	k.Buffers[0].Image = &loop.Image{Width: n, Height: n}
	assert.Equal(t, Reads{Texels: 48, Stored: 768}, Reading(k, nil), "four neighbours are a texel")
	k.Shared = k.Buffers[1:]
	assert.Equal(t, Reads{Texels: 48}, Reading(k, nil))

	half := copying(n, 1, 0)
	f := half.Body[0].(loop.For)
	half.Facts = sym.Facts{"i": {Lo: 0, Hi: 63}}
	f.Body = []loop.Stmt{loop.If{Cond: []te.Within{{E: sym.Var("i"), Lo: sym.Const(0), Hi: sym.Const(16)}}, Then: f.Body}}
	half.Body[0] = f
	assert.Equal(t, Reads{Bytes: 64, Stored: 64}, Reading(half, nil), "a guard lets a quarter through")

	chosen := copying(n, 1, 0)
	store := loop.Store{Buf: &loop.Buffer{Name: "t", Type: ir.F32, Size: n, Local: true}, Index: sym.Var("i"),
		Value: te.Fn(ir.F32, "add", loop.Mem{Buf: chosen.Buffers[0], Index: sym.Var("i")}, loop.Mem{Buf: chosen.Buffers[0], Index: sym.Const(0)})}
	chosen.Body = []loop.Stmt{loop.For{Var: "i", Extent: n, Body: []loop.Stmt{store}}}
	assert.Equal(t, Reads{Bytes: 512}, Reading(chosen, nil), "two loads, and an array of its own")
}
