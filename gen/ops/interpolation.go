package ops

import "rules_dnn/gen/ir/te"

// weigh is the sum of elements by their weights.
func weigh(weights []te.Expr, read func(n int) te.Expr) te.Expr {
	var sum te.Expr
	for n, w := range weights {
		if x := mul(w, read(n)); sum == nil {
			sum = x
		} else {
			sum = add(sum, x)
		}
	}
	return sum
}

// interpolation is the weights of the elements around a point that is t behind one, and
// where they begin, counted from that one.
func interpolation(mode string, t te.Expr, cubicA float64) (first int, weights []te.Expr) {
	if mode == "linear" || mode == "bilinear" {
		return 0, []te.Expr{sub(num(t, 1), t), t}
	}
	return -1, cubicWeights(t, cubicA)
}

// cubicWeights are those of the four elements around a point that is t behind the second.
func cubicWeights(t te.Expr, a float64) []te.Expr {
	rest := sub(num(t, 1), t)
	return []te.Expr{
		cubicFar(add(t, num(t, 1)), a), cubicNear(t, a), cubicNear(rest, a), cubicFar(add(rest, num(t, 1)), a),
	}
}

// cubicNear and cubicFar are Keys' convolution kernel at distances up to 1, and from 1 to 2.
func cubicNear(d te.Expr, a float64) te.Expr {
	e := sub(mul(num(d, a+2), d), num(d, a+3))
	return add(mul(mul(e, d), d), num(d, 1))
}

func cubicFar(d te.Expr, a float64) te.Expr {
	e := add(mul(sub(mul(num(d, a), d), num(d, 5*a)), d), num(d, 8*a))
	return sub(mul(e, d), num(d, 4*a))
}
