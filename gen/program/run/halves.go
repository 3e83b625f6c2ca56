package run

import (
	"math"

	"rules_dnn/gen/ir/scalar"
)

// halves adds products of f16 in f16. It rounds after each product.
type halves struct {
	*tile
	xs, ws, sums *scalar.Vec
}

func (t *tile) newHalves() *halves {
	h := &halves{tile: t, xs: scalar.NewVec(t.Instr.X, 1), ws: scalar.NewVec(t.Instr.W, int(t.Lanes())), sums: scalar.NewVec(t.Instr.Acc, int(t.Rows*t.Vectors*t.Lanes()))}
	if !t.Broadcast() {
		h.xs = scalar.NewVec(t.Instr.X, int(t.Lanes()))
	}
	return h
}

func (h *halves) run(xAt, wAt, accAt int64) {
	clear(h.sums.F32)
	lanes := h.Lanes()
	for _, s := range h.steps {
		for v := range h.Vectors {
			h.w.load(h.ws, wAt+s.w+h.VectorAt(v), 1, 0, int(lanes))
			for r := range h.Rows {
				at := xAt + s.x + h.RowAt(r)
				if !h.Broadcast() {
					at += v * lanes
				}
				h.x.load(h.xs, at, 1, 0, len(h.xs.F32))
				row := h.sums.F32[(r*h.Vectors+v)*lanes:][:lanes]
				for l, w := range h.ws.F32 {
					row[l] = fmaF16(h.xs.F32[l%len(h.xs.F32)], w, row[l])
				}
			}
		}
	}
	h.acc.store(h.sums, accAt, 1, 0, len(h.sums.F32))
}

// fmaF16 returns x*y + z of f16, rounded once to f16. The product is exact in 64 bits. The sum is
// rounded to odd there, so that the second rounding is right (Boldo and Melquiond, "Emulation of a
// FMA and correctly rounded sums", 2008).
func fmaF16(x, y, z float32) float32 {
	p, a := float64(x)*float64(y), float64(z)
	s := p + a
	if math.IsInf(s, 0) || math.IsNaN(s) || s == 0 {
		return scalar.RoundF16(s)
	}
	// The rounding error of the sum (Knuth's TwoSum).
	b := s - p
	if e := (p - (s - b)) + (a - b); e != 0 {
		bits := math.Float64bits(s)
		if bits&1 == 0 { // towards the error
			if (e > 0) == (s > 0) {
				bits++
			} else {
				bits--
			}
		}
		s = math.Float64frombits(bits)
	}
	return scalar.RoundF16(s)
}
