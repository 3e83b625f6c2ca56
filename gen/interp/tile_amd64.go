package interp

func init() {
	if hasAVX2() {
		tileWide, stripWide = tileAVX2, stripAVX2
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

// cpuid is the instruction of that name; xgetbv reads what the operating system keeps of registers.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (low, high uint32)

// hasAVX2 reports whether processor and operating system have AVX2.
func hasAVX2() bool {
	const osxsave, avx, avx2, state = 1 << 27, 1 << 28, 1 << 5, 6
	most, _, _, _ := cpuid(0, 0)
	if most < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&osxsave == 0 || c&avx == 0 {
		return false
	}
	if low, _ := xgetbv(); low&state != state {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}
