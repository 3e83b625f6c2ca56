package winograd

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func times(m Matrix, x []*big.Rat) []*big.Rat {
	out := zeros(1, len(m))[0]
	for i, row := range m {
		for j, c := range row {
			out[i].Add(out[i], new(big.Rat).Mul(c, x[j]))
		}
	}
	return out
}

func run(s *Steps, x []*big.Rat) []*big.Rat {
	values := append([]*big.Rat{}, x...)
	for _, step := range s.Steps {
		sum := new(big.Rat)
		for _, t := range step {
			sum.Add(sum, new(big.Rat).Mul(new(big.Rat).SetFloat64(t.Factor), values[t.Of]))
		}
		values = append(values, sum)
	}
	var out []*big.Rat
	for _, r := range s.Results {
		out = append(out, values[r])
	}
	return out
}

func numbers(r *rand.Rand, n int) []*big.Rat {
	var out []*big.Rat
	for range n {
		out = append(out, big.NewRat(r.Int64N(2001)-1000, 8))
	}
	return out
}

// TestExact: with exact numbers every transform computes the filter, and the steps what their matrices do.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for results := 1; results <= 8; results++ {
		for taps := 1; taps <= 8; taps++ {
			f := New(results, taps)
			if f == nil {
				continue
			}
			t.Run(fmt.Sprintf("F(%d,%d)", results, taps), func(t *testing.T) {
				x, w := numbers(r, f.Points()), numbers(r, taps)
				products := times(f.G, w)
				inputs := times(f.B, x)
				require.Equal(t, inputs, run(Rows(f.B), x))
				for i := range products {
					products[i].Mul(products[i], inputs[i])
				}
				got := times(f.A, products)
				require.Equal(t, got, run(Columns(f.A), products))
				for i, y := range got {
					want := new(big.Rat)
					for k := range w {
						want.Add(want, new(big.Rat).Mul(w[k], x[i+k]))
					}
					assert.Equal(t, want.String(), y.String(), "result %d", i)
				}
			})
		}
	}
	for _, m := range []int{2, 4, 6} {
		require.NotNil(t, New(m, 3))
	}
	assert.Nil(t, New(3, 3), "points for which there are none")
}

// TestPart: a part of a transform's points computes fewer results of the same filters, exactly.
func TestPart(t *testing.T) {
	whole := New(4, 3)
	f := whole.Part(2)
	require.NotNil(t, f)
	assert.Equal(t, "winograd F(2,3) of F(4,3)", f.String())
	assert.Same(t, whole, f.Filters())
	assert.Same(t, whole, whole.Filters())
	for m := 1; m < whole.Results; m++ {
		f, w := whole.Part(m), []*big.Rat{rat(3, 1), rat(-5, 7), rat(2, 3)}
		n := f.Points()
		x := []*big.Rat{rat(1, 2), rat(4, 1), rat(-3, 5), rat(7, 1), rat(9, 4)}[:n]
		products, inputs := times(whole.G, w)[:n], times(f.B, x)
		require.Equal(t, inputs, run(Rows(f.B), x))
		for i := range products {
			products[i].Mul(products[i], inputs[i])
		}
		for i, y := range run(Columns(f.A), products) {
			want := new(big.Rat)
			for k := range w {
				want.Add(want, new(big.Rat).Mul(w[k], x[i+k]))
			}
			assert.Equal(t, want.String(), y.String(), "%s: result %d", f, i)
		}
	}
	assert.Nil(t, whole.Part(4), "as many results")
	assert.Nil(t, f.Part(1), "a part of a part")
}

// TestFilter: a filter of two axes is transformed along each of them.
func TestFilter(t *testing.T) {
	u := make([]float32, 16)
	New(2, 3).Filter().Apply(u, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, 4)
	for i, want := range map[int]float32{
		0:  1,                                        // the first point is 0: the first tap, along both axes
		15: 9,                                        // the last is at infinity: the last tap
		5:  (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9) / 4., // 1: all taps, a half of them along each
		10: (1 - 2 + 3 - 4 + 5 - 6 + 7 - 8 + 9) / 4.,
	} {
		assert.InDelta(t, want, abs(u[i]), 1e-6, "point %d", i)
	}
}

// TestFilterRows: some rows of a transform are the same as of all of it.
func TestFilterRows(t *testing.T) {
	f := New(4, 3)
	n, w := f.Points(), random(rand.New(rand.NewPCG(5, 6)), 9)
	whole := make([]float32, n*n)
	f.Filter().Apply(whole, w, 0, n)
	for first := range n {
		for end := first + 1; end <= n; end++ {
			u := make([]float32, (end-first)*n)
			f.Filter().Apply(u, w, first, end)
			require.Equal(t, whole[first*n:end*n], u, "rows %d to %d", first, end)
		}
	}
}

func abs(x float32) float32 { return max(x, -x) }

func TestGrowth(t *testing.T) {
	for m, want := range map[int]int{2: 1, 4: 2, 6: 3} {
		f := New(m, 3)
		require.Equal(t, want, f.Growth(), "%s", f)
		for _, row := range f.B.Times(-want) {
			squares := 0.0
			for _, x := range row {
				v, _ := x.Float64()
				squares += v * v
			}
			assert.LessOrEqual(t, squares, 1.0, "%s", f)
		}
		for i, row := range f.A.Times(3) {
			for j, x := range row {
				assert.Zero(t, x.Cmp(new(big.Rat).Mul(f.A[i][j], rat(8, 1))), "%s", f)
			}
		}
	}
}

// TestError bounds what each transform loses in float32, relative to the root of the mean of the
// squares of what it computes: sums of 64 channels of 3x3 windows of numbers in [-1, 1).
func TestError(t *testing.T) {
	for f, bound := range map[*Transform]float64{New(2, 3): 4e-7, New(4, 3): 1.2e-6, New(5, 3): 3e-6, New(6, 3): 5e-6, New(4, 3).Part(1): 1.2e-6, New(4, 3).Part(2): 1.2e-6, New(4, 3).Part(3): 1.2e-6} {
		m, stride := f.Results, f.Filters().Points()
		r := rand.New(rand.NewPCG(3, 4))
		n, filter := f.Points(), f.Filters().Filter()
		squares, errors := 0.0, 0.0
		for range 50 {
			sums, exact := make([]float32, n*n), make([]float64, m*m)
			for range 64 {
				x, w, u := random(r, n*n), random(r, 9), make([]float32, stride*stride)
				filter.Apply(u, w, 0, f.Points())
				for i, v := range along(Rows(f.B), along(Rows(f.B), x)) {
					sums[i] += v * u[i/n*stride+i%n]
				}
				for i := range exact {
					for k, c := range w {
						exact[i] += float64(c) * float64(x[(i/m+k/3)*n+i%m+k%3])
					}
				}
			}
			for i, y := range along(Columns(f.A), along(Columns(f.A), sums)) {
				squares += exact[i] * exact[i]
				errors += (float64(y) - exact[i]) * (float64(y) - exact[i])
			}
		}
		lost := math.Sqrt(errors / squares)
		t.Logf("%s loses %.1e", f, lost)
		assert.Less(t, lost, bound, f)
	}
}

func random(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = r.Float32()*2 - 1
	}
	return out
}

// along applies steps to each column of a matrix with as many rows as the steps have inputs, and
// transposes.
func along(s *Steps, x []float32) []float32 {
	columns := len(x) / s.Inputs
	var out []float32
	for c := range columns {
		values := make([]float32, s.Inputs)
		for i := range values {
			values[i] = x[i*columns+c]
		}
		for _, step := range s.Steps {
			sum := float32(0)
			for _, t := range step {
				sum += float32(t.Factor) * values[t.Of]
			}
			values = append(values, sum)
		}
		for _, v := range s.Results {
			out = append(out, values[v])
		}
	}
	return out
}

// TestFilterOfThree: filters of three taps are computed as all others are, zeros and their signs included.
func TestFilterOfThree(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	f := New(4, 3).Filter()
	for range 100 {
		w, rows := random(r, 9), [2][]float32{make([]float32, 6), make([]float32, 6)}
		for i := range w {
			if r.IntN(2) == 0 {
				w[i] = float32(math.Copysign(0, float64(w[i])))
			}
			f.w[i] = float64(w[i])
		}
		for i := range 6 {
			f.row(rows[0], f.g[3*i:3*i+3])
			f.row3(rows[1], (*[3]float64)(f.g[3*i:]))
			for j := range rows[0] {
				require.Equal(t, math.Float32bits(rows[0][j]), math.Float32bits(rows[1][j]), "point %d, %d of %v", i, j, w)
			}
		}
	}
}

// BenchmarkFilter is one filter of F(4,3).
func BenchmarkFilter(b *testing.B) {
	t := New(4, 3)
	f, u, w := t.Filter(), make([]float32, 36), random(rand.New(rand.NewPCG(7, 8)), 9)
	for b.Loop() {
		f.Apply(u, w, 0, t.Points())
	}
}
