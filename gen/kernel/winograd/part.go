package winograd

import "math/big"

// Part is F(results, taps) by the first of the transform's own points: it reads of the transform's filters what they have there, by fewer
// bytes, and what they are scaled by for the points that are left out its inputs are scaled by, too. nil where results are not fewer,
// since the last of t's points is at infinity, or t is a part itself.
func (t *Transform) Part(results int) *Transform {
	if results < 1 || results >= t.Results || t.Of != nil {
		return nil
	}
	p := &Transform{Results: results, Taps: t.Taps, Of: t}
	n, all := p.Points(), pointsOf[t.Points()-1]
	p.A, p.G, p.B = zeros(results, n), t.G[:n], zeros(n, n)
	for j, x := range all[:n] {
		basis, left := []*big.Rat{rat(1, 1)}, rat(1, 1)
		for l, y := range all {
			switch {
			case l >= n:
				left.Mul(left, new(big.Rat).Sub(x, y))
			case l != j:
				basis = timesLinear(basis, y)
			}
		}
		for k, c := range basis {
			p.B[j][k].Mul(c, left)
		}
		power := rat(1, 1)
		for i := range results {
			p.A[i][j].Set(power)
			power = new(big.Rat).Mul(power, x)
		}
	}
	return p
}

// Filters is the transform whose filters it reads.
func (t *Transform) Filters() *Transform {
	if t.Of != nil {
		return t.Of
	}
	return t
}
