package quant

import (
	"math"

	"rules_dnn/gen/ir"
)

// bins are those of a histogram of an activation.
const bins = 2048

// seen is what was seen of the values that have one scale.
type seen struct {
	lo, hi float64
	any    bool
	counts []float64 // of bins from lo to hi
}

// extend takes values into the range; it reports whether all are finite.
func (s *seen) extend(values []float64) bool {
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		if !s.any {
			s.lo, s.hi, s.any = x, x, true
		}
		s.lo, s.hi = min(s.lo, x), max(s.hi, x)
	}
	return true
}

// width is that of the range, and of zero.
func (s *seen) width() float64 { return max(s.hi, 0) - min(s.lo, 0) }

// count takes values into the histogram, of the range that was found before.
func (s *seen) count(values []float64) {
	if s.counts == nil {
		s.counts = make([]float64, bins)
	}
	if s.hi <= s.lo {
		return
	}
	each := bins / (s.hi - s.lo)
	for _, x := range values {
		s.counts[max(min(int(float64((x-s.lo)*each)), bins-1), 0)]++
	}
}

// within is the range that holds so many percent of the elements: as many of the others are below as above.
func (s *seen) within(percent float64) (lo, hi float64) {
	total := 0.0
	for _, c := range s.counts {
		total += c
	}
	beyond := total * (100 - percent) / 200
	first, last := 0, bins-1
	for left := beyond - s.counts[first]; left >= 0 && first < last; left -= s.counts[first] {
		first++
	}
	for left := beyond - s.counts[last]; left >= 0 && last > first; left -= s.counts[last] {
		last--
	}
	width := (s.hi - s.lo) / bins
	return s.lo + float64(float64(first)*width), s.lo + float64(float64(last+1)*width)
}

// tries are how many parts of the range are compared by their error.
const tries = 64

// closest is the part of the range that quantized to so many steps has the least squared error.
func (s *seen) closest(steps float64) (lo, hi float64) {
	least := math.Inf(1)
	for i := tries; i > tries/4; i-- {
		part := float64(i) / tries
		l, h := s.lo*part, s.hi*part
		if e := s.error(min(l, 0), max(h, 0), steps); e < least {
			least, lo, hi = e, l, h
		}
	}
	return lo, hi
}

// error is the squared error of a range, of elements at the middles of their bins.
func (s *seen) error(lo, hi, steps float64) float64 {
	step := (hi - lo) / steps
	width := (s.hi - s.lo) / bins
	// Values within a step are spread evenly; of the bins beyond the range each has its distance.
	rounding, sum := step*step/12, 0.0
	for i, c := range s.counts {
		x := s.lo + float64((float64(i)+0.5)*width)
		d := max(lo-x, x-hi, 0)
		sum += float64(c * (rounding + float64(d*d)))
	}
	return sum
}

// param is a scale and a zero point of a type.
type param struct {
	t     ir.DType
	scale float32
	zero  int64
}

// leastScale is the least number that is not denormal: processors may take lesser ones for zero.
const leastScale = 0x1p-126

// bounds are the least and the greatest number of an integer type.
func bounds(t ir.DType) (lo, hi int64) {
	n := uint(t.Size()) * 8
	if t.Kind() == ir.KindUint {
		return 0, 1<<n - 1
	}
	return -1 << (n - 1), 1<<(n-1) - 1
}

// choose is the parameter of what was seen. Zero is always a value: padding is.
func (s *Settings) choose(x *seen, t ir.DType) param {
	first, last := bounds(t)
	lo, hi := x.lo, x.hi
	if hi > lo {
		switch s.Range {
		case Percentile:
			lo, hi = x.within(s.Percentile)
		case MSE:
			lo, hi = x.closest(float64(last - first))
		}
	}
	lo, hi = min(lo, 0), max(hi, 0)
	if hi == lo {
		return param{t: t, scale: 1, zero: max(first, 0)}
	}
	scale := max(float32((hi-lo)/float64(last-first)), leastScale)
	zero := first + int64(math.RoundToEven(-lo/float64(scale)))
	return param{t: t, scale: scale, zero: min(max(zero, first), last)}
}

// quantized is the number that a value has.
func (p param) quantized(x float64) int64 {
	first, last := bounds(p.t)
	q := math.RoundToEven(float64(float32(x)/p.scale)) + float64(p.zero)
	return int64(min(max(q, float64(first)), float64(last)))
}

// value is what a number stands for.
func (p param) value(q int64) float64 { return float64(float32(q-p.zero) * p.scale) }
