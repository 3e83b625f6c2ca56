package exact

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
)

// products is how many operands of a sum of floats are products: a compiler may add each of them unrounded.
func products(c te.Call) int {
	if c.Type != ir.F32 || c.Fn != "add" && c.Fn != "sub" {
		return 0
	}
	n := 0
	for _, a := range c.Args {
		if _, _, ok := productOf(a); ok {
			n++
		}
	}
	return n
}

// productOf is the product that an expression is, or is the negative of.
func productOf(e te.Expr) (c te.Call, negated, ok bool) {
	for {
		if c, ok = e.(te.Call); !ok || c.Type != ir.F32 || c.Fn != "neg" {
			return c, negated, ok && c.Type == ir.F32 && c.Fn == "mul"
		}
		e, negated = c.Args[0], !negated
	}
}

// contract adds the k-th product of a sum unrounded.
func (v *evaluation) contract(c te.Call, k int) *scalar.Vec {
	var a, b, other *scalar.Vec
	negated := [2]bool{false, c.Fn == "sub"} // which operands are subtracted
	at := 0
	for i, e := range c.Args {
		if m, minus, ok := productOf(e); ok {
			if k--; k == 0 {
				at = i
				negated[i] = negated[i] != minus
				a, b = v.expr(m.Args[0]), v.expr(m.Args[1])
				continue
			}
		}
		other = v.expr(e)
	}
	if a == nil || b == nil || other == nil {
		return nil
	}
	out := scalar.NewVec(ir.F32, v.n)
	for i := range out.F32 {
		x, y := a.F32[i], other.F32[i]
		if negated[at] {
			x = -x
		}
		if negated[1-at] {
			y = -y
		}
		out.F32[i] = fma(x, b.F32[i], y)
	}
	return normal(out)
}

// fma is a*b + c, rounded once: the sum in 64 bits is rounded to odd, so that rounding it again rounds as if it had not been.
func fma(a, b, c float32) float32 {
	p := float64(float64(a) * float64(b)) // exact
	s := float64(p) + float64(c)
	part := s - p
	lost := float64(p-float64(s-part)) + float64(float64(c)-part)
	if bits := math.Float64bits(s); (lost < 0 || lost > 0) && bits&1 == 0 { // it is no number beside infinities
		if lost > 0 == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

// contractions are all ways in which a compiler may contract an expression; nil where they are too many to try.
func contractions(e te.Expr) [][]int {
	ways := [][]int{nil}
	te.Walk(e, func(e te.Expr) {
		c, ok := e.(te.Call)
		if !ok {
			return
		}
		n := products(c)
		if n == 0 {
			return
		}
		var more [][]int
		for _, w := range ways {
			for k := range n + 1 {
				more = append(more, append(w[:len(w):len(w)], k))
			}
		}
		if ways = more; len(ways) > mostWays {
			ways = nil
		}
	})
	return ways
}

// sumsOfProducts counts the sums that a compiler may contract.
func sumsOfProducts(e te.Expr) int {
	n := 0
	te.Walk(e, func(e te.Expr) {
		if c, ok := e.(te.Call); ok && products(c) > 0 {
			n++
		}
	})
	return n
}

// roundedProducts is the expression with products that no compiler adds unrounded.
func roundedProducts(e te.Expr) te.Expr {
	return te.Map(e, func(e te.Expr) te.Expr {
		c, ok := e.(te.Call)
		if !ok || products(c) == 0 {
			return e
		}
		args := make([]te.Expr, len(c.Args))
		for i, a := range c.Args {
			args[i] = rounded(a)
		}
		c.Args = args
		return c
	})
}

// rounded is an operand of a sum, as one that no compiler adds unrounded.
func rounded(e te.Expr) te.Expr {
	c, _, ok := productOf(e)
	switch {
	case !ok:
		return e
	case c.Fn == e.(te.Call).Fn:
		c.Fn = "product"
		return c
	}
	return te.Fn(ir.F32, "neg", rounded(e.(te.Call).Args[0]))
}

// mostWays is in how many ways an expression may be contracted at most.
const mostWays = 32
