package te

import (
	"math"

	"rules_dnn/gen/ir"
)

// EndsWithin reports whether no finite value of an expression is beyond -most and most. Infinities and NaNs may be among its values.
func EndsWithin(e Expr, most float64) bool {
	h := hullOf(e)
	return h.finite.lo >= -most && h.finite.hi <= most
}

// interval is the numbers from lo to hi; none if lo is greater.
type interval struct{ lo, hi float64 }

// hull bounds the values of an expression: all that are numbers, and those among them that are finite, which may be fewer: of an f16
// these are up to 65504, and all are up to infinity.
type hull struct{ all, finite interval }

var everything, nothing = interval{math.Inf(-1), math.Inf(1)}, interval{math.Inf(1), math.Inf(-1)}

// anyOf is the hull of all values of a type.
func anyOf(t ir.DType) hull {
	switch {
	case t == ir.F16:
		return hull{everything, interval{-65504, 65504}}
	case t == ir.Bool:
		return exactly(0, 1)
	case t.IsFloat():
		return hull{everything, everything}
	case t.Kind() == ir.KindUint:
		return exactly(0, math.Ldexp(1, int(8*t.Size())))
	}
	return exactly(-math.Ldexp(1, int(8*t.Size()-1)), math.Ldexp(1, int(8*t.Size()-1)))
}

// exactly is the hull of finite values.
func exactly(lo, hi float64) hull { return hull{interval{lo, hi}, interval{lo, hi}} }

func (a interval) union(b interval) interval {
	return interval{math.Min(a.lo, b.lo), math.Max(a.hi, b.hi)}
}

func (a interval) meet(b interval) interval {
	return interval{math.Max(a.lo, b.lo), math.Min(a.hi, b.hi)}
}

func (a interval) neg() interval { return interval{-a.hi, -a.lo} }

func (a interval) abs() interval {
	hi := math.Max(math.Abs(a.lo), math.Abs(a.hi))
	if a.lo > a.hi {
		return a
	}
	return interval{math.Max(0, math.Max(a.lo, -a.hi)), hi}
}

func (h hull) union(o hull) hull { return hull{h.all.union(o.all), h.finite.union(o.finite)} }

// hullOf bounds the values of an expression.
func hullOf(e Expr) hull {
	switch x := e.(type) {
	case Const:
		return constantHull(x)
	case Let:
		return hullOf(x.Body)
	case Select:
		return hullOf(x.Then).union(hullOf(x.Else))
	case Load:
		if x.Default != nil {
			return anyOf(x.Type).union(hullOf(x.Default))
		}
	case Call:
		return callHull(x)
	}
	return anyOf(e.DType())
}

func constantHull(c Const) hull {
	v := float64(int64(c.Bits))
	switch {
	case c.Type.IsFloat():
		v = math.Float64frombits(c.Bits)
	case c.Type == ir.U64:
		v = float64(c.Bits)
	}
	switch {
	case math.IsNaN(v):
		return hull{nothing, nothing}
	case math.IsInf(v, 0):
		return hull{interval{v, v}, nothing}
	}
	return exactly(v, v)
}

// bounded are functions whose results are from -1 to 1.
var bounded = map[string]bool{"cos": true, "erf": true, "logistic": true, "sigmoid": true, "sign": true, "sin": true, "tanh": true}

func callHull(x Call) hull {
	if bounded[x.Fn] {
		return exactly(-1, 1)
	}
	hs := make([]hull, len(x.Args))
	for i, a := range x.Args {
		hs[i] = hullOf(a)
	}
	switch x.Fn {
	case "cast", "narrow":
		return converted(hs[0], x.Type)
	case "select":
		return hs[1].union(hs[2])
	case "neg":
		return hull{hs[0].all.neg(), hs[0].finite.neg()}
	case "abs":
		return hull{hs[0].all.abs(), hs[0].finite.abs()}
	case "min", "max":
		return chosen(x.Fn, hs[0], hs[1])
	case "add", "sub", "mul":
		if x.Type.IsFloat() {
			return combined(x.Fn, hs[0].finite, hs[1].finite)
		}
	}
	return anyOf(x.Type)
}

// converted is the hull of a conversion, which keeps the order of numbers.
func converted(h hull, t ir.DType) hull {
	all := anyOf(t)
	if h.finite.lo >= all.finite.lo && h.finite.hi <= all.finite.hi && h.all.lo >= all.all.lo && h.all.hi <= all.all.hi {
		return h
	}
	return all
}

// chosen is the hull of the lesser or the greater one.
func chosen(fn string, a, b hull) hull {
	all := interval{math.Min(a.all.lo, b.all.lo), math.Min(a.all.hi, b.all.hi)}
	if fn == "max" {
		all = interval{math.Max(a.all.lo, b.all.lo), math.Max(a.all.hi, b.all.hi)}
	}
	return hull{all, a.finite.union(b.finite).meet(all)}
}

// combined is the hull of a sum, difference or product, which is finite for finite operands alone.
func combined(fn string, a, b interval) hull {
	if a.lo > a.hi || b.lo > b.hi {
		return hull{everything, nothing}
	}
	if fn == "sub" {
		b = b.neg()
	}
	finite := interval{a.lo + b.lo, a.hi + b.hi}
	if fn == "mul" {
		finite = nothing
		for _, p := range []float64{a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi} {
			if math.IsNaN(p) {
				return hull{everything, everything}
			}
			finite = finite.union(interval{p, p})
		}
	}
	return hull{everything, finite}
}
