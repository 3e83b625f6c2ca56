package hvx

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// addend is what is added up in a float: integers, or floats of memory, times factors. Without either it is the factors alone.
type addend struct {
	ints te.Expr  // of 32 bits, that differ by lane
	mem  loop.Mem // floats that do; no Buf: there are none
	by   float64  // the product of the factors that are constant
	// factor is one that is not, but that all lanes share; nil where there is none.
	factor te.Expr
	// rounded is how often floats are rounded in it before it is added to another one.
	rounded int
}

// alone reports whether all lanes have the same number.
func (p addend) alone() bool { return p.ints == nil && p.mem.Buf == nil }

// plain reports whether there are no factors.
func (p addend) plain() bool { return p.by == 1 && p.factor == nil }

// parted is a float as an addend, or the sum of two.
type parted struct {
	parts []addend
	// rounded is how often floats are rounded after that, and by the sum, if there are two.
	rounded int
	// least and most are bounds of what a number that was rounded on the way is multiplied with from then on, in all, by constant factors.
	least, most float64
}

// Bounds of constant factors, and of the products of those that follow: beyond them floats on the way might overflow where the result does not, or lose
// bits of it. What nothing was multiplied with before may have a factor of almost any size; before a factor that is not constant, whose size is known
// with those before it alone (see scale), none are far from 1.
const (
	leastFactor, mostFactor = 0x1p-116, 0x1p122
	leastFirst              = 0x1p-126
	farFrom1                = 0x1p30
)

// partsOf takes an expression apart; nil where it is no such sum.
func partsOf(e te.Expr, lane string) *parted {
	if c, ok := e.(te.Const); ok && c.Type == ir.F32 {
		return single(addend{by: math.Float64frombits(c.Bits)})
	}
	if !varies(e, lane) {
		return single(addend{by: 1, factor: e})
	}
	if m, ok := e.(loop.Mem); ok && m.Buf.Type == ir.F32 {
		return single(addend{mem: m, by: 1})
	}
	if of := argument(e, "cast", ir.F32); of != nil && of.DType() == ir.I32 {
		return single(addend{ints: of, by: 1})
	}
	c, ok := e.(te.Call)
	if !ok || c.Type != ir.F32 || len(c.Args) != 2 {
		return nil
	}
	a, b := partsOf(c.Args[0], lane), partsOf(c.Args[1], lane)
	if a == nil || b == nil {
		return nil
	}
	switch c.Fn {
	case "add":
		if len(a.parts) == 1 && len(b.parts) == 1 {
			x, y := a.parts[0], b.parts[0]
			x.rounded, y.rounded = a.rounded, b.rounded
			return &parted{parts: []addend{x, y}, rounded: 1, least: min(a.least, b.least), most: max(a.most, b.most)}
		}
	case "mul":
		switch {
		case len(b.parts) == 1 && b.parts[0].alone():
			return a.times(b.parts[0])
		case len(a.parts) == 1 && a.parts[0].alone():
			return b.times(a.parts[0])
		}
		return product(a, b)
	case "div":
		if len(b.parts) == 1 && b.parts[0].alone() && b.parts[0].factor == nil {
			return a.times(addend{by: 1 / b.parts[0].by})
		}
	}
	return nil
}

func single(p addend) *parted { return &parted{parts: []addend{p}, least: 1, most: 1} }

// times is a sum times a factor; nil where it has one that is not constant already, or where floats might not have the bits of the result.
func (s *parted) times(by addend) *parted {
	x := math.Abs(by.by)
	out := &parted{rounded: s.rounded + 1, least: min(1, s.least*x), most: max(1, s.most*x)}
	first := func(p addend) bool { return p.ints != nil || p.rounded == 0 }
	if s.rounded == len(s.parts)-1 && first(s.parts[0]) && first(s.parts[len(s.parts)-1]) {
		if !(x >= leastFirst && x <= mostFactor) {
			return nil
		}
		out.least, out.most = 1, 1
	}
	if !(out.least >= leastFactor && out.most <= mostFactor) {
		return nil
	}
	for _, p := range s.parts {
		p.by *= by.by
		if by.factor != nil {
			if p.factor != nil || len(s.parts) > 1 || !(min(s.least, math.Abs(p.by)) >= 1/farFrom1 && max(s.most, math.Abs(p.by)) <= farFrom1) {
				return nil
			}
			p.factor = by.factor
		}
		out.parts = append(out.parts, p)
	}
	return out
}

// product is that of two integers, where floats have it exactly.
func product(a, b *parted) *parted {
	if len(a.parts) > 1 || len(b.parts) > 1 {
		return nil
	}
	x, y := a.parts[0], b.parts[0]
	if x.ints == nil || y.ints == nil || !x.plain() || !y.plain() {
		return nil
	}
	m, n := most(x.ints), most(y.ints)
	if m == 0 || n == 0 || m > math.MaxInt16 || n > math.MaxInt16 || m*n >= 1<<24 {
		return nil
	}
	return single(addend{ints: te.Fn(ir.I32, "mul", x.ints, y.ints), by: 1})
}

// most is the greatest magnitude of integers of 32 bits; 0 where it is not known.
func most(e te.Expr) int64 {
	lo, hi, ok := between(e)
	if !ok {
		return 0
	}
	return max(-lo, hi, 1)
}

// between are the least and the greatest of integers that are made of bytes.
func between(e te.Expr) (lo, hi int64, ok bool) {
	if n, ok := literal(e); ok {
		return n, n, n > math.MinInt32/4 && n < math.MaxInt32/4
	}
	if of := argument(e, "cast", ir.I32); of != nil {
		switch of.DType() {
		case ir.U8:
			return 0, math.MaxUint8, true
		case ir.I8:
			return math.MinInt8, math.MaxInt8, true
		}
	}
	c, isCall := e.(te.Call)
	if !isCall || c.Type != ir.I32 || len(c.Args) != 2 {
		return 0, 0, false
	}
	a, b, okA := between(c.Args[0])
	x, y, okB := between(c.Args[1])
	switch c.Fn {
	case "add":
		lo, hi = a+x, b+y
	case "sub":
		lo, hi = a-y, b-x
	default:
		return 0, 0, false
	}
	return lo, hi, okA && okB && lo > math.MinInt32 && hi < math.MaxInt32
}
