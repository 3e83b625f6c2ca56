package interp

// panel is the rows and columns of a tile: its sums stay in registers while the
// reduction runs.
const panel = 4

// tile32 adds up x[i]*y[j] over all of both panels, for 4x4 of (i, j), in two
// halves of two rows: Go's compiler has 15 registers for floats. Rows from `rows` on
// are of no use.
func tile32(sum, x, y []float32, init float32, rows int64) {
	half32(sum[:8], x, y, init)
	if rows > 2 {
		half32(sum[8:16], x[2:], y, init)
	}
}

func half32(sum, x, y []float32, init float32) {
	a, b, c, d, e, f, g, h := init, init, init, init, init, init, init, init
	for len(x) >= 2 && len(y) >= 4 {
		p, q := x[0], x[1]
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		a += float32(p * y0)
		b += float32(p * y1)
		c += float32(p * y2)
		d += float32(p * y3)
		e += float32(q * y0)
		f += float32(q * y1)
		g += float32(q * y2)
		h += float32(q * y3)
		y = y[4:]
		x = x[min(4, len(x)):]
	}
	sum[0], sum[1], sum[2], sum[3] = a, b, c, d
	sum[4], sum[5], sum[6], sum[7] = e, f, g, h
}

// tile64 is tile32 for float64.
func tile64(sum, x, y []float64, init float64) {
	for i := range panel {
		a, b, c, d := init, init, init, init
		for r := 0; r < len(y); r += panel {
			p, v := x[r+i], y[r:r+4]
			a += float64(p * v[0])
			b += float64(p * v[1])
			c += float64(p * v[2])
			d += float64(p * v[3])
		}
		sum[4*i], sum[4*i+1], sum[4*i+2], sum[4*i+3] = a, b, c, d
	}
}

// tileInt is tile32 for integers; they wrap.
func tileInt(sum, x, y []int64, init int64) {
	for i := range panel {
		a, b, c, d := init, init, init, init
		for r := 0; r < len(y); r += panel {
			p, v := x[r+i], y[r:r+4]
			a += p * v[0]
			b += p * v[1]
			c += p * v[2]
			d += p * v[3]
		}
		sum[4*i], sum[4*i+1], sum[4*i+2], sum[4*i+3] = a, b, c, d
	}
}
