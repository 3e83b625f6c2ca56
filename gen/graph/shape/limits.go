package shape

import (
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ir/te"
)

// limits are integers that an element which only the run knows is never below, and never above; nil where none is known.
// They bound the memory of what a run counts: as many steps as Min of data and a dimension says are at most that
// dimension. Floats round, so that a run may exceed a limit by what they round: it is refused then.
type limits struct{ lo, hi *sym.Expr }

// farthest is the greatest number that is worth a limit: what types begin extremes with is none.
const farthest = 1 << 40

// limit is an expression as a limit, or nil where it is none.
func limit(e sym.Expr) *sym.Expr {
	if c, ok := e.Const(); e.Overflow() || ok && (c > farthest || c < -farthest) || len(e.String()) > maxText {
		return nil
	}
	return &e
}

// limits are those of a value: its own number, if that is known.
func (v value) limits(f sym.Facts) limits {
	switch v.state {
	case exact:
		if v.den == 1 {
			l := limit(v.num)
			return limits{l, l}
		}
		return limits{limit(sym.FloorDiv(v.num, sym.Const(v.den), f)), limit(sym.CeilDiv(v.num, sym.Const(v.den), f))}
	case real:
		if math.Abs(v.real) <= farthest { // neither infinite nor NaN
			return limits{limit(sym.Const(int64(math.Floor(v.real)))), limit(sym.Const(int64(math.Ceil(v.real))))}
		}
		return limits{}
	}
	return v.within
}

// limited reports whether a limit is known of a value that is not.
func (v value) limited() bool { return v.within.lo != nil || v.within.hi != nil }

// with applies a function to limits that are both known.
func with(a, b *sym.Expr, of func(a, b sym.Expr) sym.Expr) *sym.Expr {
	if a == nil || b == nil {
		return nil
	}
	return limit(of(*a, *b))
}

// either is with, or the one limit that is known.
func either(a, b *sym.Expr, of func(a, b sym.Expr) sym.Expr) *sym.Expr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return with(a, b, of)
}

// limiter is what the limits of a scalar function's arguments say of its result.
type limiter func(a []limits, args []value, f sym.Facts) limits

// limiters by function; of others nothing is known.
var limiters = map[string]limiter{
	"add": func(a []limits, _ []value, _ sym.Facts) limits {
		sum := func(x, y sym.Expr) sym.Expr { return sym.Add(x, y) }
		return limits{with(a[0].lo, a[1].lo, sum), with(a[0].hi, a[1].hi, sum)}
	},
	"sub": func(a []limits, _ []value, _ sym.Facts) limits {
		return limits{with(a[0].lo, a[1].hi, sym.Sub), with(a[0].hi, a[1].lo, sym.Sub)}
	},
	"neg": func(a []limits, _ []value, _ sym.Facts) limits {
		zero := number(0).limits(nil)
		return limits{with(zero.lo, a[0].hi, sym.Sub), with(zero.hi, a[0].lo, sym.Sub)}
	},
	"min": func(a []limits, args []value, f sym.Facts) limits {
		if i := beyond(args, 1); i >= 0 {
			a[i].lo = limitOf(farthest)
		}
		return limits{with(a[0].lo, a[1].lo, least(f)), either(a[0].hi, a[1].hi, least(f))}
	},
	"max": func(a []limits, args []value, f sym.Facts) limits {
		if i := beyond(args, -1); i >= 0 {
			a[i].hi = limitOf(-farthest)
		}
		return limits{either(a[0].lo, a[1].lo, greatest(f)), with(a[0].hi, a[1].hi, greatest(f))}
	},
	"select": func(a []limits, _ []value, f sym.Facts) limits {
		return limits{with(a[1].lo, a[2].lo, least(f)), with(a[1].hi, a[2].hi, greatest(f))}
	},
	"mul":   limitProduct,
	"div":   limitQuotient,
	"floor": sameLimits, "ceil": sameLimits, "trunc": sameLimits, "round": sameLimits,
}

// beyond returns the argument that is a constant at least as far from 0 as farthest, to the side that
// sign says, or -1. A reduction to an extreme begins with such a one.
func beyond(args []value, sign float64) int {
	return slices.IndexFunc(args, func(v value) bool {
		c, ok := v.float64()
		return ok && sign*c >= farthest
	})
}

func limitOf(x int64) *sym.Expr { return limit(sym.Const(x)) }

func least(f sym.Facts) func(a, b sym.Expr) sym.Expr {
	return func(a, b sym.Expr) sym.Expr { return sym.Min(a, b, f) }
}

func greatest(f sym.Facts) func(a, b sym.Expr) sym.Expr {
	return func(a, b sym.Expr) sym.Expr { return sym.Max(a, b, f) }
}

func sameLimits(a []limits, _ []value, _ sym.Facts) limits { return a[0] }

// limitProduct bounds products of numbers that are not negative, and of one by a positive constant.
func limitProduct(a []limits, args []value, f sym.Facts) limits {
	for i := range args {
		if c, ok := args[i].float64(); ok && c > 0 {
			return scaled(a[1-i], c, f)
		}
	}
	for _, x := range a {
		if x.lo == nil || !sym.AtLeast(*x.lo, 0, f) {
			return limits{}
		}
	}
	return limits{with(a[0].lo, a[1].lo, sym.Mul), with(a[0].hi, a[1].hi, sym.Mul)}
}

// limitQuotient bounds what is divided by a positive constant, or by a number of 1 or more.
func limitQuotient(a []limits, args []value, f sym.Facts) limits {
	if c, ok := args[1].float64(); ok && c > 0 {
		return scaled(a[0], 1/c, f)
	}
	if a[1].lo == nil || !sym.AtLeast(*a[1].lo, 1, f) {
		return limits{}
	}
	zero := sym.Const(0)
	return limits{with(a[0].lo, &zero, least(f)), with(a[0].hi, &zero, greatest(f))}
}

// scaled are limits times a positive constant, which is rounded outward: up for numbers above 0.
func scaled(a limits, by float64, f sym.Facts) limits {
	const den = 1 << 12
	up, down := math.Ceil(by*den), math.Floor(by*den)
	if up > farthest {
		return limits{}
	}
	zero := sym.Const(0)
	times := func(e *sym.Expr, positive, negative float64, div func(a, b sym.Expr, f sym.Facts) sym.Expr) *sym.Expr {
		if e == nil {
			return nil
		}
		above, below := sym.Max(*e, zero, f), sym.Min(*e, zero, f)
		return limit(div(sym.Add(sym.Scale(above, int64(positive)), sym.Scale(below, int64(negative))), sym.Const(den), f))
	}
	return limits{times(a.lo, down, up, sym.FloorDiv), times(a.hi, up, down, sym.CeilDiv)}
}

// limitsOf are the limits of a scalar function's result.
func limitsOf(c te.Call, args []value, f sym.Facts) limits {
	of := limiters[c.Fn]
	if of == nil && c.Fn != "cast" {
		return limits{}
	}
	a := make([]limits, len(args))
	any := false
	for i, v := range args {
		a[i] = v.limits(f)
		any = any || v.limited()
	}
	switch {
	case !any && c.Fn != "min" && c.Fn != "max":
		return limits{}
	case c.Fn == "cast":
		return limitCast(a[0], c.Type, f)
	}
	return of(a, args, f)
}

// limitCast keeps the limits of numbers that the type holds: others may wrap to any number.
func limitCast(a limits, t ir.DType, f sym.Facts) limits {
	if t.IsFloat() || t == ir.I64 {
		return a
	}
	bits := 8 * t.Size()
	lowest, most := int64(0), int64(math.MaxInt64)
	switch {
	case t.Kind() == ir.KindInt:
		lowest, most = -1<<(bits-1), 1<<(bits-1)-1
	case !t.IsInteger():
		return limits{}
	case bits < 64:
		most = 1<<bits - 1
	}
	if a.lo == nil || a.hi == nil || !sym.AtLeast(*a.lo, lowest, f) || !sym.AtMost(*a.hi, most, f) {
		return limits{}
	}
	return a
}
