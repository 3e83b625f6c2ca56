package run

import (
	"math"

	"rules_dnn/gen/ir/scalar"
)

// pairs are products of floats that an instruction takes in several at a time: a group of X, or one for each lane, a register of W, and the sums
// of an application with each of a lane's neighbours, of all accumulators.
type pairs struct {
	*tile
	xs, ws *scalar.Vec
	apart  []float32
}

func (t *tile) newPairs() *pairs {
	size := t.Lanes() * t.Instr.Group
	p := &pairs{tile: t, xs: scalar.NewVec(t.Instr.X, int(t.Instr.Group)), ws: scalar.NewVec(t.Instr.W, int(size)), apart: make([]float32, t.Rows*t.Vectors*size)}
	if !t.Broadcast() {
		p.xs = scalar.NewVec(t.Instr.X, int(size))
	}
	return p
}

// run adds the products as the instruction rounds them.
func (p *pairs) run(xAt, wAt, accAt int64) {
	n := p.Rows * p.Vectors * p.Lanes()
	p.acc.write(accAt, 1, 0, int(n))
	acc := p.acc.F32[accAt:][:n]
	if p.Adds {
		p.acc.read(accAt, 1, 0, int(n))
	} else {
		clear(acc)
	}
	for _, points := range p.applications() {
		clear(p.apart)
		for _, s := range points {
			p.point(acc, xAt+s.x, wAt+s.w)
		}
		if p.Instr.Apart {
			p.join(acc)
		}
	}
}

// applications are the points of the sum that each application of the instruction takes in: one, or as many as matrices have rows of W.
func (t *tile) applications() [][]tileStep {
	if t.Instr.Matrix == 0 {
		out := make([][]tileStep, len(t.steps))
		for i := range out {
			out[i] = t.steps[i : i+1]
		}
		return out
	}
	k, deep := t.Matrices()
	last := k[len(k)-1].Extent
	var out [][]tileStep
	for first := int64(0); first < int64(len(t.steps)); first += last {
		for at := int64(0); at < last; at += deep {
			out = append(out, t.steps[first+at:first+min(at+deep, last)])
		}
	}
	return out
}

// point takes in one point of the sum.
func (p *pairs) point(acc []float32, xAt, wAt int64) {
	lanes, group, own, rounded := p.Lanes(), p.Instr.Group, int64(0), p.rounding()
	if !p.Broadcast() {
		own = group
	}
	for v := range p.Vectors {
		p.w.load(p.ws, wAt+p.VectorAt(v), 1, 0, len(p.ws.F32))
		for r := range p.Rows {
			p.x.load(p.xs, xAt+p.RowAt(r)+v*lanes*own, 1, 0, len(p.xs.F32))
			first := (r*p.Vectors + v) * lanes
			for l := range lanes {
				for i := range group {
					if p.Instr.LastFirst {
						i = group - 1 - i
					}
					sum := &acc[first+l]
					if p.Instr.Apart {
						sum = &p.apart[(first+l)*group+i]
					}
					*sum = multiplyAdd(p.xs.F32[l*own+i], p.ws.F32[l*group+i], *sum, rounded)
				}
			}
		}
	}
}

// join adds the sums of an application to the accumulators, one part of a group after another.
func (p *pairs) join(acc []float32) {
	parts, rounded := int(max(p.Instr.Parts, 1)), p.rounding()
	part := int(p.Instr.Group) / parts
	for l := range acc {
		for i := l * parts; i < (l+1)*parts; i++ {
			all := p.apart[i*part]
			for _, a := range p.apart[i*part+1:][:part-1] {
				all = rounded(float64(all), float64(a))
			}
			acc[l] = rounded(float64(flushed(acc[l])), float64(all))
		}
	}
}

// rounding returns the function by which the instruction rounds the sum of two numbers.
func (p *pairs) rounding() func(x, y float64) float32 {
	if p.Instr.Odd {
		return odd
	}
	return rounded
}

// multiplyAdd is the sum of a product of two numbers of 16 bits and an accumulator, where denormal numbers are zeros.
func multiplyAdd(x, w, acc float32, rounded func(x, y float64) float32) float32 {
	product := float64(flushed(x)) * float64(flushed(w)) // all of its digits
	return rounded(product, float64(flushed(acc)))
}

// flushed is a number, or a zero of its sign if it is denormal.
func flushed(x float32) float32 {
	if x > -leastNormal && x < leastNormal {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

const leastNormal = 0x1p-126

// rounded is the nearest float32 of a sum of two numbers with up to 24 digits each; a denormal number is a zero. Where double does not have all digits of the
// sum, what it lacks is too little to make one a tie that is none, or none of one.
func rounded(x, y float64) float32 {
	sum := x + y
	const up = 1 << 100 // tiny numbers are rounded as others are before they are found to be denormal
	if math.Abs(sum) < leastNormal && math.Abs(float64(float32(sum*up))) < leastNormal*up {
		return float32(math.Copysign(0, sum))
	}
	return float32(sum)
}

// odd returns the sum of two numbers rounded to odd: the next float32 towards 0, with its last bit
// set if it is not exact. A denormal number becomes a zero.
func odd(x, y float64) float32 {
	sum := x + y
	if math.IsNaN(sum) || math.Abs(sum) >= 0x1p128 {
		return float32(sum)
	}
	// The error of the sum in double: Knuth, The Art of Computer Programming, volume 2, 4.2.2,
	// theorem B.
	part := sum - x
	rest := (x - (sum - part)) + (y - part)
	bits := math.Float64bits(sum)
	if rest != 0 && math.Signbit(rest) != math.Signbit(sum) {
		bits-- // towards 0
	}
	const digits = 1<<29 - 1 // bits beyond float32's
	inexact := rest != 0 || bits&digits != 0
	f := math.Float64frombits(bits &^ digits)
	if math.Abs(f) < leastNormal {
		return float32(math.Copysign(0, f))
	}
	last := uint32(0)
	if inexact {
		last = 1
	}
	return math.Float32frombits(math.Float32bits(float32(f)) | last)
}
