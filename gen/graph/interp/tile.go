package interp

import "unsafe"

// The rows and columns of a tile: its sums stay in registers while the reduction runs.
const (
	tileRows    = 4
	tileColumns = 16
)

// quad is the columns that Go's compiler has registers for, with two rows.
const quad = 4

// tileWide is a tile's sums by vector instructions, where the processor has them: products are rounded before they are added,
// as here, so that all processors give the same bits.
var tileWide func(sum, x, y *float32, depth int64)

// tile32 adds x[i]*y[j] over all of both panels to the sums, for 4x16 of (i, j). Rows from `rows` on are of no use.
func tile32(sum, x, y []float32, depth, rows int64) {
	if tileWide != nil && depth > 0 {
		tileWide(&sum[:tileRows*tileColumns][0], &x[:tileRows*depth][0], &y[:tileColumns*depth][0], depth)
		return
	}
	for j := 0; j < tileColumns; j += quad {
		half32(sum[j:], x, y[j:], depth)
		if rows > 2 {
			half32(sum[2*tileColumns+j:], x[2:], y[j:], depth)
		}
	}
}

// half32 is two rows of four columns: Go's compiler has 15 registers for floats.
func half32(sum, x, y []float32, depth int64) {
	s, t := sum[:quad], sum[tileColumns:tileColumns+quad]
	a, b, c, d, e, f, g, h := s[0], s[1], s[2], s[3], t[0], t[1], t[2], t[3]
	for ; depth > 0; depth-- {
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
		y = y[min(tileColumns, len(y)):]
		x = x[min(tileRows, len(x)):]
	}
	s[0], s[1], s[2], s[3] = a, b, c, d
	t[0], t[1], t[2], t[3] = e, f, g, h
}

// tile64 is tile32 for float64.
func tile64(sum, x, y []float64, depth int64) {
	for i := range tileRows {
		for j := 0; j < tileColumns; j += quad {
			s := sum[i*tileColumns+j:][:quad]
			a, b, c, d := s[0], s[1], s[2], s[3]
			for r := range int(depth) {
				p, v := x[r*tileRows+i], y[r*tileColumns+j:][:quad]
				a += float64(p * v[0])
				b += float64(p * v[1])
				c += float64(p * v[2])
				d += float64(p * v[3])
			}
			s[0], s[1], s[2], s[3] = a, b, c, d
		}
	}
}

// tileInt is tile32 for integers; they wrap.
func tileInt(sum, x, y []int64, depth int64) {
	for i := range tileRows {
		for j := 0; j < tileColumns; j += quad {
			s := sum[i*tileColumns+j:][:quad]
			a, b, c, d := s[0], s[1], s[2], s[3]
			for r := range int(depth) {
				p, v := x[r*tileRows+i], y[r*tileColumns+j:][:quad]
				a += p * v[0]
				b += p * v[1]
				c += p * v[2]
				d += p * v[3]
			}
			s[0], s[1], s[2], s[3] = a, b, c, d
		}
	}
}

// stripWide is a strip's tile by vector instructions, where the processor has them.
var stripWide func(sum, x0, x1, x2, x3, y0, y1 *float32, steps *step, n int64)

// stripTile adds x[i]*y[j] over all steps to the sums of 4x16 of (i, j), whose factors lie where the steps say: those of row i from x[i] on,
// those of the columns from y0 and from y1 on, half of them each.
func stripTile(sum *[tileRows * tileColumns]float32, x [tileRows]*float32, y0, y1 *float32, steps []step) {
	if len(steps) == 0 {
		return
	}
	if stripWide != nil {
		stripWide(&sum[0], x[0], x[1], x[2], x[3], y0, y1, &steps[0], int64(len(steps)))
		return
	}
	for h, from := range [2]*float32{y0, y1} {
		for i := 0; i < tileRows; i += 2 {
			s := (*[tileColumns + lanes]float32)(sum[i*tileColumns+h*lanes:])
			for l := 0; l < lanes; l += quad {
				stripQuad(s, l, x[i], x[i+1], from, steps)
			}
		}
	}
}

// stripQuad is two rows of four columns.
func stripQuad(s *[tileColumns + lanes]float32, l int, p, q, y *float32, steps []step) {
	a, b, c, d := s[l], s[l+1], s[l+2], s[l+3]
	e, f, g, h := s[tileColumns+l], s[tileColumns+l+1], s[tileColumns+l+2], s[tileColumns+l+3]
	for _, at := range steps {
		y := (*[lanes]float32)(unsafe.Add(unsafe.Pointer(y), at.y))
		x0, x1 := *(*float32)(unsafe.Add(unsafe.Pointer(p), at.x)), *(*float32)(unsafe.Add(unsafe.Pointer(q), at.x))
		y0, y1, y2, y3 := y[l], y[l+1], y[l+2], y[l+3]
		a += float32(x0 * y0)
		b += float32(x0 * y1)
		c += float32(x0 * y2)
		d += float32(x0 * y3)
		e += float32(x1 * y0)
		f += float32(x1 * y1)
		g += float32(x1 * y2)
		h += float32(x1 * y3)
	}
	s[l], s[l+1], s[l+2], s[l+3] = a, b, c, d
	s[tileColumns+l], s[tileColumns+l+1], s[tileColumns+l+2], s[tileColumns+l+3] = e, f, g, h
}
