package winograd

import (
	"math/big"
	"sort"
)

// Term is a multiple of a value.
type Term struct {
	Of     int // number of the value: an input, or what an earlier step made
	Factor float64
}

// Step is a sum of multiples.
type Step []Term

// Steps computes a matrix times a vector: step i makes value number Inputs+i. Results are the
// numbers of the values that are the product's, by row.
type Steps struct {
	Inputs  int
	Steps   []Step
	Results []int
}

// Rows are the steps of m. Two rows that differ only in signs, as those of points p and -p do,
// are the sum and the difference of what they share.
func Rows(m Matrix) *Steps {
	s := &Steps{Inputs: len(m[0]), Results: make([]int, len(m))}
	done := make([]bool, len(m))
	for i := range m {
		if done[i] {
			continue
		}
		k := mirror(m, i, done)
		if k < 0 {
			s.Results[i] = s.add(terms(m[i], nil))
			continue
		}
		done[k] = true
		same, other := s.add(terms(m[i], func(c int) bool { return m[i][c].Cmp(m[k][c]) == 0 })), -1
		other = s.add(terms(m[i], func(c int) bool { return m[i][c].Cmp(m[k][c]) != 0 }))
		s.Results[i] = s.add(Step{{same, 1}, {other, 1}})
		s.Results[k] = s.add(Step{{same, 1}, {other, -1}})
	}
	return s
}

// Columns are the steps of m, in which pairs of columns that differ only in signs are added and
// subtracted before.
func Columns(m Matrix) *Steps {
	t := zeros(len(m[0]), len(m))
	for i := range m {
		for j := range m[i] {
			t[j][i] = m[i][j]
		}
	}
	s := &Steps{Inputs: len(t), Results: make([]int, len(m))}
	done := make([]bool, len(t))
	rows := make([]Step, len(m))
	use := func(r, value int, by *big.Rat) {
		if by.Sign() != 0 {
			f, _ := by.Float64()
			rows[r] = append(rows[r], Term{value, f})
		}
	}
	for i := range t {
		if done[i] {
			continue
		}
		k := mirror(t, i, done)
		if k < 0 {
			for r := range rows {
				use(r, i, t[i][r])
			}
			continue
		}
		done[k] = true
		sum, difference := s.add(Step{{i, 1}, {k, 1}}), s.add(Step{{i, 1}, {k, -1}})
		for r := range rows {
			if t[i][r].Cmp(t[k][r]) == 0 {
				use(r, sum, t[i][r])
			} else {
				use(r, difference, t[i][r])
			}
		}
	}
	for r := range rows {
		s.Results[r] = s.add(rows[r])
	}
	return s
}

// mirror is a later row that differs from row i in signs, with numbers of both kinds; -1: none.
func mirror(m Matrix, i int, done []bool) int {
	for k := i + 1; k < len(m); k++ {
		same, other, ok := 0, 0, !done[k]
		for c, x := range m[i] {
			y := m[k][c]
			switch {
			case x.Sign() == 0 && y.Sign() == 0:
			case x.Cmp(y) == 0:
				same++
			case new(big.Rat).Neg(x).Cmp(y) == 0:
				other++
			default:
				ok = false
			}
		}
		if ok && same > 0 && other > 0 {
			return k
		}
	}
	return -1
}

// add makes a value. What is added comes before what is taken away: no negation is needed then.
func (s *Steps) add(x Step) int {
	sort.SliceStable(x, func(i, j int) bool { return x[i].Factor > 0 && x[j].Factor < 0 })
	s.Steps = append(s.Steps, x)
	return s.Inputs + len(s.Steps) - 1
}

// terms are those of a row's numbers that are not zero, and wanted.
func terms(row []*big.Rat, want func(c int) bool) Step {
	var out Step
	for c, x := range row {
		if x.Sign() != 0 && (want == nil || want(c)) {
			f, _ := x.Float64()
			out = append(out, Term{c, f})
		}
	}
	return out
}
