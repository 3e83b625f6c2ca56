package scalar

func init() {
	if HasAVX2() {
		hardware = vectors{add: addAVX2, sub: subAVX2, mul: mulAVX2, div: divAVX2, max: maxAVX2, greater: pickGreaterAVX2, equal: pickEqualAVX2}
	}
}

//go:noescape
func addAVX2(dst, a, b *float32, n int)

//go:noescape
func subAVX2(dst, a, b *float32, n int)

//go:noescape
func mulAVX2(dst, a, b *float32, n int)

//go:noescape
func divAVX2(dst, a, b *float32, n int)

//go:noescape
func maxAVX2(dst, a, b *float32, n int)

//go:noescape
func pickGreaterAVX2(dst, a, b, c, d *float32, n int)

//go:noescape
func pickEqualAVX2(dst, a, b, c, d *float32, n int)

// cpuid is the instruction of that name; xgetbv reads what the operating system keeps of registers.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (low, high uint32)

// HasAVX2 reports whether processor and operating system have AVX2.
func HasAVX2() bool {
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
