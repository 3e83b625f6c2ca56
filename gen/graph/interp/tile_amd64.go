package interp

import "rules_dnn/gen/ir/scalar"

func init() {
	if scalar.HasAVX2() {
		tileWide, stripWide, rowWide, transposeWide = tileAVX2, stripAVX2, rowAVX2, transposeAVX2
	}
}

// tileAVX2 is tile32 by 256-bit vectors.
//
//go:noescape
func tileAVX2(sum, x, y *float32, depth int64)

// stripAVX2 is stripTile by 256-bit vectors.
//
//go:noescape
func stripAVX2(sum, x0, x1, x2, x3, y0, y1 *float32, steps *step, n int64)

// rowAVX2 is rowTile by 256-bit vectors.
//
//go:noescape
func rowAVX2(sum *float32, y *[abreast]*float32, entries *entry, n int64)

// transposeAVX2 makes columns of eight rows, eight elements at a time; steps between rows are bytes.
//
//go:noescape
func transposeAVX2(dst, src *float32, dstStep, srcStep, blocks int64)
