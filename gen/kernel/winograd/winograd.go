// Package winograd makes the matrices of Winograd's algorithms F(m, r): m neighbouring
// results of a filter of r points by m+r-1 products instead of m*r.
//
// A result is y = A [(G w) * (B x)], where * multiplies element by element, w are the filter's r
// points and x the m+r-1 inputs that the results see: Toom and Cook's product of
// polynomials, transposed (S. Winograd, Arithmetic Complexity of Computations; A. Lavin and
// S. Gray, Fast Algorithms for Convolutional Neural Networks). Along two axes the
// matrices apply along each.
package winograd

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Matrix is rows of exact numbers.
type Matrix [][]*big.Rat

// Transform is F(m, r).
type Transform struct {
	Results, Taps int
	// A makes Results of Points products, G Points of Taps, B Points of Points inputs.
	A, G, B Matrix
	// Of is the transform of whose points these are a part; nil: they are its own.
	Of *Transform
}

// String is what encodings of constants call the transform.
func (t *Transform) String() string {
	s := fmt.Sprintf("winograd F(%d,%d)", t.Results, t.Taps)
	if t.Of != nil {
		s += fmt.Sprintf(" of F(%d,%d)", t.Of.Results, t.Of.Taps)
	}
	return s
}

// Names reports whether a text is what String gives for a transform that there are points for.
func Names(text string) bool {
	rest, found := strings.CutPrefix(text, "winograd F(")
	if !found { // most texts, of constants that schedules ask about again and again
		return false
	}
	results, taps, _ := strings.Cut(strings.TrimSuffix(rest, ")"), ",")
	t := &Transform{}
	t.Results, _ = strconv.Atoi(results)
	t.Taps, _ = strconv.Atoi(taps)
	return t.exists() && t.String() == text
}

// exists reports whether there are points for the transform.
func (t *Transform) exists() bool {
	return t.Results > 0 && t.Taps > 0 && pointsOf[t.Points()-1] != nil
}

// Points is the number of products, and of inputs: m+r-1.
func (t *Transform) Points() int { return t.Results + t.Taps - 1 }

// pointsOf are where the polynomials are evaluated, by how many points there are besides one at
// infinity. Pairs of opposite points share work, and powers of two in the denominators keep the matrices
// exact. Of five points, 3/4 and 3/2 lose half as much by rounding as 1 and 2 do, since their powers
// differ less: TestError prints what each transform loses.
var pointsOf = map[int][]*big.Rat{
	3: {rat(0, 1), rat(1, 1), rat(-1, 1)},
	5: {rat(0, 1), rat(3, 4), rat(-3, 4), rat(3, 2), rat(-3, 2)},
	6: {rat(0, 1), rat(1, 1), rat(-1, 1), rat(2, 1), rat(-2, 1), rat(1, 2)},
	7: {rat(0, 1), rat(1, 1), rat(-1, 1), rat(2, 1), rat(-2, 1), rat(1, 2), rat(-1, 2)},
}

func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

// New is F(results, taps); nil where there are no points for it.
func New(results, taps int) *Transform {
	t := &Transform{Results: results, Taps: taps}
	if !t.exists() {
		return nil
	}
	n := t.Points()
	ps := pointsOf[n-1]
	t.A, t.G, t.B = zeros(results, n), zeros(n, taps), zeros(n, n)
	for j, p := range ps {
		// Lagrange's basis polynomial is basis/scale.
		scale, basis := rat(1, 1), []*big.Rat{rat(1, 1)}
		for l, q := range ps {
			if l != j {
				scale.Mul(scale, new(big.Rat).Sub(p, q))
				basis = timesLinear(basis, q)
			}
		}
		copy(t.B[j], basis)
		power := rat(1, 1)
		for i := range max(results, taps) {
			if i < results {
				t.A[i][j].Set(power)
			}
			if i < taps {
				t.G[j][i].Quo(power, scale)
			}
			power = new(big.Rat).Mul(power, p)
		}
	}
	all := []*big.Rat{rat(1, 1)}
	for _, q := range ps {
		all = timesLinear(all, q)
	}
	copy(t.B[n-1], all)
	t.A[results-1][n-1].SetInt64(1)
	t.G[n-1][taps-1].SetInt64(1)
	return t
}

// Growth returns the least k for which no row of B has a Euclidean norm over 2^k. Along an axis,
// transformed inputs of random signs have standard deviations up to 2^k times as large.
func (t *Transform) Growth() int {
	k := 0
	for _, row := range t.B {
		squares := new(big.Rat)
		for _, x := range row {
			squares.Add(squares, new(big.Rat).Mul(x, x))
		}
		for squares.Cmp(rat(1<<(2*k), 1)) > 0 {
			k++
		}
	}
	return k
}

// Times returns the matrix times 2^k.
func (m Matrix) Times(k int) Matrix {
	by := rat(1, 1)
	if k < 0 {
		by.SetFrac64(1, 1<<-k)
	} else {
		by.SetInt64(1 << k)
	}
	out := zeros(len(m), len(m[0]))
	for i := range m {
		for j := range m[i] {
			out[i][j].Mul(m[i][j], by)
		}
	}
	return out
}

func zeros(rows, columns int) Matrix {
	m := make(Matrix, rows)
	for i := range m {
		m[i] = make([]*big.Rat, columns)
		for j := range m[i] {
			m[i][j] = new(big.Rat)
		}
	}
	return m
}

// timesLinear is a polynomial, lowest power first, times (x - q).
func timesLinear(p []*big.Rat, q *big.Rat) []*big.Rat {
	out := zeros(1, len(p)+1)[0]
	for i, c := range p {
		out[i+1].Add(out[i+1], c)
		out[i].Sub(out[i], new(big.Rat).Mul(c, q))
	}
	return out
}
