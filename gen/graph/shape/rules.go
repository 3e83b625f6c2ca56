package shape

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
)

// rule computes a scalar function on symbolic arguments, all exact. Its answer
// may be unknown.
type rule func(a []value, f sym.Facts) value

// rules are the scalar functions that symbolic elements survive; constants are
// folded by foldScalar before. A symbolic integer is taken to fit its type:
// dimensions that do not are refused when sizes are computed.
var rules = map[string]rule{
	"add":    func(a []value, f sym.Facts) value { return addSub(a, 1, f) },
	"sub":    func(a []value, f sym.Facts) value { return addSub(a, -1, f) },
	"mul":    mul,
	"div":    div,
	"mod":    func(a []value, f sym.Facts) value { return remainder(a, f, false) },
	"fmod":   func(a []value, f sym.Facts) value { return remainder(a, f, true) },
	"neg":    func(a []value, f sym.Facts) value { return ratio(sym.Scale(a[0].num, -1), a[0].den, f) },
	"abs":    abs,
	"sign":   sign,
	"min":    func(a []value, f sym.Facts) value { return extreme(a, f, sym.Min) },
	"max":    func(a []value, f sym.Facts) value { return extreme(a, f, sym.Max) },
	"floor":  func(a []value, f sym.Facts) value { return floorOf(a[0], 0, f) },
	"ceil":   func(a []value, f sym.Facts) value { return floorOf(a[0], a[0].den-1, f) },
	"trunc":  trunc,
	"round":  round,
	"eq":     func(a []value, f sym.Facts) value { return compare(a, f, equalTo) },
	"ne":     func(a []value, f sym.Facts) value { return not(compare(a, f, equalTo)) },
	"lt":     func(a []value, f sym.Facts) value { return compare(a, f, below) },
	"ge":     func(a []value, f sym.Facts) value { return not(compare(a, f, below)) },
	"gt":     func(a []value, f sym.Facts) value { return compare(swap(a), f, below) },
	"le":     func(a []value, f sym.Facts) value { return not(compare(swap(a), f, below)) },
	"not":    func(a []value, f sym.Facts) value { return not(a[0]) },
	"isnan":  func([]value, sym.Facts) value { return truth(false) },
	"isinf":  func([]value, sym.Facts) value { return truth(false) },
	"bitnot": func(a []value, f sym.Facts) value { return ratio(sym.Sub(sym.Const(-1), a[0].num), a[0].den, f) },
}

// lazyRules see unknown arguments too: false && x is false.
var lazyRules = map[string]rule{
	"and":    func(a []value, f sym.Facts) value { return absorb(a, 0, sym.Min, f) },
	"or":     func(a []value, f sym.Facts) value { return absorb(a, 1, sym.Max, f) },
	"xor":    xor,
	"select": selectOf,
}

func swap(a []value) []value { return []value{a[1], a[0]} }

// common brings two values to one denominator.
func common(a []value) (x, y sym.Expr, den int64) {
	return sym.Scale(a[0].num, a[1].den), sym.Scale(a[1].num, a[0].den), a[0].den * a[1].den
}

func addSub(a []value, sign int64, f sym.Facts) value {
	x, y, den := common(a)
	return ratio(sym.Add(x, sym.Scale(y, sign)), den, f)
}

func mul(a []value, f sym.Facts) value {
	return ratio(sym.Mul(a[0].num, a[1].num), a[0].den*a[1].den, f)
}

// div is the exact quotient of fractions; evalCall truncates it for integers.
func div(a []value, f sym.Facts) value {
	if c, ok := a[1].num.Const(); ok {
		return ratio(sym.Scale(a[0].num, a[1].den), a[0].den*c, f)
	}
	num := sym.Scale(a[0].num, a[1].den)
	den := sym.Scale(a[1].num, a[0].den)
	if q := sym.FloorDiv(num, den, f); sym.Mul(q, den).Equal(num) {
		return integer(q)
	}
	return value{}
}

// divInt is C's division: it truncates.
func divInt(a []value, f sym.Facts) value {
	x, y := a[0].num, a[1].num
	if c, ok := y.Const(); ok && c != 0 {
		return trunc([]value{ratio(x, c, f)}, f)
	}
	if exactly := div(a, f); exactly.state != unknown {
		return exactly
	}
	if sym.AtLeast(x, 0, f) && sym.AtLeast(y, 0, f) { // y is not zero, or there is no result
		return integer(sym.FloorDiv(x, y, f))
	}
	return value{}
}

func remainder(a []value, f sym.Facts, truncates bool) value {
	if a[0].den != 1 || a[1].den != 1 || a[1].num.Is(0) {
		return value{}
	}
	x, y := a[0].num, a[1].num
	if !sym.AtLeast(y, 0, f) || (truncates && !sym.AtLeast(x, 0, f)) {
		return value{}
	}
	return integer(sym.Mod(x, y, f))
}

func abs(a []value, f sym.Facts) value {
	return ratio(sym.Max(a[0].num, sym.Scale(a[0].num, -1), f), a[0].den, f)
}

func sign(a []value, f sym.Facts) value {
	return integer(sym.Max(sym.Const(-1), sym.Min(sym.Const(1), a[0].num, f), f))
}

func extreme(a []value, f sym.Facts, of func(a, b sym.Expr, f sym.Facts) sym.Expr) value {
	x, y, den := common(a)
	return ratio(of(x, y, f), den, f)
}

// floorOf is floor((v.num + add) / v.den).
func floorOf(v value, add int64, f sym.Facts) value {
	return integer(sym.FloorDiv(sym.Add(v.num, sym.Const(add)), sym.Const(v.den), f))
}

// trunc is floor, or ceil of what is negative.
func trunc(a []value, f sym.Facts) value {
	switch {
	case a[0].state == unknown || a[0].den == 1:
		return a[0]
	case sym.AtMost(a[0].num, 0, f):
		return floorOf(a[0], a[0].den-1, f)
	}
	up := sym.Scale(sym.Below(a[0].num, f), a[0].den-1)
	return small(sym.FloorDiv(sym.Add(a[0].num, up), sym.Const(a[0].den), f))
}

// round is known where no tie to even can occur.
func round(a []value, f sym.Facts) value {
	if v := a[0]; v.den == 1 {
		return v
	} else if v.den%2 == 1 {
		twice := sym.Add(sym.Scale(v.num, 2), sym.Const(v.den))
		return integer(sym.FloorDiv(twice, sym.Const(2*v.den), f))
	}
	return value{}
}

// order is whether a relation of x and y is certain, impossible, or neither.
type order func(d sym.Expr, f sym.Facts) value

func compare(a []value, f sym.Facts, o order) value {
	x, y, _ := common(a)
	return o(sym.Sub(x, y), f)
}

func equalTo(d sym.Expr, f sym.Facts) value {
	switch {
	case d.Is(0):
		return truth(true)
	case sym.AtLeast(d, 1, f) || sym.AtMost(d, -1, f):
		return truth(false)
	}
	return not(small(sym.Add(sym.Below(d, f), sym.Below(sym.Scale(d, -1), f))))
}

func below(d sym.Expr, f sym.Facts) value { return small(sym.Below(d, f)) }

// A condition on symbols is a number, 1 where it holds and 0 elsewhere, so that values
// that depend on it are expressions, too.

// maxText bounds the text of expressions that conditions make, which may double at each choice.
const maxText = 400

// small is the expression, or unknown where it has grown too long to be of use.
func small(e sym.Expr) value {
	if len(e.String()) > maxText {
		return value{}
	}
	return integer(e)
}

func not(v value) value {
	c, ok := v.whole()
	if !ok {
		return value{}
	}
	return integer(sym.Sub(sym.Const(1), c))
}

// absorb is a && b (zero 0, the lesser) or a || b (zero 1, the greater).
func absorb(a []value, zero int64, of func(a, b sym.Expr, f sym.Facts) sym.Expr, f sym.Facts) value {
	x, xok := a[0].whole()
	y, yok := a[1].whole()
	switch {
	case (xok && x.Is(zero)) || (yok && y.Is(zero)):
		return number(zero)
	case xok && yok:
		return small(of(x, y, f))
	}
	return value{}
}

func xor(a []value, _ sym.Facts) value {
	x, xok := a[0].whole()
	y, yok := a[1].whole()
	if !xok || !yok {
		return value{}
	}
	return small(sym.Add(x, y, sym.Scale(sym.Mul(x, y), -2)))
}

// selectOf is b + c*(a-b) for a condition on symbols, provided that both are numbers
// wherever they are not chosen.
func selectOf(a []value, f sym.Facts) value {
	c, ok := a[0].whole()
	switch {
	case a[1].equal(a[2]):
		return a[1]
	case !ok:
		return value{}
	case c.Is(0):
		return a[2]
	case c.Is(1):
		return a[1]
	}
	x, xok := a[1].whole()
	y, yok := a[2].whole()
	if !xok || !yok || !divides(x, f) || !divides(y, f) {
		return value{}
	}
	return small(sym.Add(y, sym.Mul(c, sym.Sub(x, y))))
}

// divides reports whether no division of the expression is by zero.
func divides(e sym.Expr, f sym.Facts) bool {
	terms, _ := e.Terms()
	for _, t := range terms {
		for _, a := range t.Atoms {
			switch a.Kind {
			case sym.AtomVar:
				continue
			case sym.AtomDiv, sym.AtomMod:
				if !sym.AtLeast(a.B, 1, f) {
					return false
				}
			}
			if !divides(a.A, f) || !divides(a.B, f) {
				return false
			}
		}
	}
	return true
}

// cast converts to type t.
func cast(v value, t ir.DType, f sym.Facts) value {
	switch {
	case v.state != exact: // constants are folded
		return value{}
	case t == ir.Bool:
		return not(compare([]value{v, number(0)}, f, equalTo))
	case t.IsFloat():
		return v
	}
	return trunc([]value{v}, f)
}
