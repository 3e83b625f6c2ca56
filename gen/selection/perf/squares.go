package perf

import "math"

// linear is the estimate, corrected by a sum of features that are scaled to a variance of 1.
type linear struct {
	mean, scale, weights []float64
}

// ridge keeps weights small that samples say little of.
const ridge = 0.05

// fitSquares is the least squares of differences within blocks: what a block's kernels have in common is no matter of order.
func fitSquares(all []Sample) *linear {
	n := len(all[0].Features)
	l := &linear{mean: make([]float64, n), scale: make([]float64, n), weights: make([]float64, n)}
	for d := range n {
		for _, x := range all {
			l.mean[d] += x.Features[d] / float64(len(all))
		}
		v := 0.0
		for _, x := range all {
			v += float64((x.Features[d] - l.mean[d]) * (x.Features[d] - l.mean[d]))
		}
		if l.scale[d] = math.Sqrt(v / float64(len(all))); l.scale[d] < 1e-9 {
			l.scale[d] = 1
		}
	}
	xs := make([][]float64, len(all))
	ys := make([]float64, len(all))
	for i, x := range all {
		xs[i], ys[i] = l.scaled(x.Features), x.Time-x.Features[0]
	}
	centred(all, xs, ys)
	a := make([][]float64, n)
	for d := range a {
		a[d] = make([]float64, n+1)
		a[d][d] = float64(ridge * float64(len(all)))
		for i, x := range xs {
			for k := range n {
				a[d][k] += float64(x[d] * x[k])
			}
			a[d][n] += float64(x[d] * ys[i])
		}
	}
	solve(a)
	for d := range n {
		l.weights[d] = a[d][n]
	}
	return l
}

// scaled are features less their mean, by their deviation.
func (l *linear) scaled(x []float64) []float64 {
	out := make([]float64, len(x))
	for d := range x {
		out[d] = (x[d] - l.mean[d]) / l.scale[d]
	}
	return out
}

func (l *linear) predict(x []float64) float64 {
	y := x[0]
	for d, v := range l.scaled(x) {
		y += float64(l.weights[d] * v)
	}
	return y
}

// centred takes the mean of each block from what its samples have.
func centred(all []Sample, xs [][]float64, ys []float64) {
	for _, b := range blocksOf(all) {
		n, y := 0.0, 0.0
		var mean []float64
		for i, s := range all {
			if s.Block != b {
				continue
			}
			if mean == nil {
				mean = make([]float64, len(xs[i]))
			}
			n, y = n+1, y+ys[i]
			for d, v := range xs[i] {
				mean[d] += v
			}
		}
		for i, s := range all {
			if s.Block != b {
				continue
			}
			ys[i] -= y / n
			for d := range xs[i] {
				xs[i][d] -= mean[d] / n
			}
		}
	}
}

// solve is Gauss and Jordan's elimination of a positive definite matrix and a right side, which becomes the solution.
func solve(a [][]float64) {
	for p := range a {
		pivot := a[p][p]
		for k := range a[p] {
			a[p][k] /= pivot
		}
		for r := range a {
			if f := a[r][p]; r != p && f != 0 {
				for k := range a[r] {
					a[r][k] -= float64(f * a[p][k])
				}
			}
		}
	}
}
