package scalar

// vectors are functions of f32 by vector instructions, of a multiple of 8 elements; nil where the processor has none. They give the bits
// of Go's own operations.
type vectors struct {
	add, sub, mul, div, max func(dst, a, b *float32, n int)
	greater, equal          func(dst, a, b, c, d *float32, n int)
}

var hardware vectors

// eights is the part of n elements that vectors are for.
func eights(n int) int { return n &^ 7 }

// byEights applies a function to the elements that come in eights, and gives how many these are.
func byEights(f func(dst, a, b *float32, n int), d, a, b []float32) int {
	n := eights(len(d))
	if f == nil || n == 0 {
		return 0
	}
	f(&d[0], &a[0], &b[0], n)
	return n
}

// Pick is select(a > b, c, d), or of a == b, of f32: comparison and choice in one.
type Pick struct {
	wide func(dst, a, b, c, d *float32, n int)
	test func(a, b float32) bool
}

// PickOf is the Pick for a comparison, or nil where it has none.
func PickOf(fn string) *Pick {
	switch fn {
	case "gt":
		return &Pick{hardware.greater, gt[float32]}
	case "eq":
		return &Pick{hardware.equal, eq[float32]}
	}
	return nil
}

// Apply picks from c where the comparison of a and b holds, from d elsewhere.
func (p *Pick) Apply(dst, a, b, c, d []float32) {
	a, b, c, d = a[:len(dst)], b[:len(dst)], c[:len(dst)], d[:len(dst)] // vector instructions check no bounds
	n := 0
	if p.wide != nil && eights(len(dst)) > 0 {
		n = eights(len(dst))
		p.wide(&dst[0], &a[0], &b[0], &c[0], &d[0], n)
	}
	for i := n; i < len(dst); i++ {
		if p.test(a[i], b[i]) {
			dst[i] = c[i]
		} else {
			dst[i] = d[i]
		}
	}
}

// Fill sets all elements to x.
func Fill[T any](v []T, x T) {
	if len(v) == 0 {
		return
	}
	v[0] = x
	for n := 1; n < len(v); n *= 2 {
		copy(v[n:], v[:n])
	}
}
