package perf

import (
	"math"
	"math/rand"
	"slices"
)

const (
	hidden      = 8   // neurons
	steps       = 250 // of Adam, over all samples each
	rate, decay = 0.02, 1e-3
)

// network is a perceptron of one hidden layer: the sum of weighted bends of sums of features.
type network struct {
	in, out []float64 // weights: of each neuron its features' and a bias; of the neurons
}

// fitPerceptron learns what least squares leave, of differences within blocks.
func fitPerceptron(l *linear, all []Sample) *network {
	n := len(l.weights)
	r := rand.New(rand.NewSource(1))
	p := &network{make([]float64, hidden*(n+1)), make([]float64, hidden)}
	for i := range p.in {
		p.in[i] = float64(r.NormFloat64() / math.Sqrt(float64(n)))
	}
	for i := range p.out {
		p.out[i] = float64(0.1 * r.NormFloat64())
	}
	t := &training{network: p, r: len(all)}
	for _, x := range all {
		t.xs = append(t.xs, l.scaled(x.Features))
		t.ys = append(t.ys, x.Time-l.predict(x.Features))
	}
	blocks := blocksOf(all)
	t.blocks = make([][]int, len(blocks))
	for i, x := range all {
		b := slices.Index(blocks, x.Block)
		t.blocks[b] = append(t.blocks[b], i)
	}
	in, out := newAdam(len(p.in)), newAdam(len(p.out))
	for range steps {
		gradIn, gradOut := t.gradients()
		in.step(p.in, gradIn)
		out.step(p.out, gradOut)
	}
	return p
}

// bend is what a neuron makes of its sum, between -1 and 1: without functions of package math, which differ between hosts.
func bend(x float64) float64 { return x / (1 + math.Abs(x)) }

func (p *network) predict(x []float64) float64 {
	y := 0.0
	for h := range p.out {
		y += float64(p.out[h] * bend(p.sum(h, x)))
	}
	return y
}

// sum is what goes into a neuron.
func (p *network) sum(h int, x []float64) float64 {
	w := p.in[h*(len(x)+1):]
	s := w[len(x)]
	for d, v := range x {
		s += float64(w[d] * v)
	}
	return s
}

// training is a network and what it learns.
type training struct {
	*network
	xs     [][]float64
	ys     []float64
	blocks [][]int // samples of each
	r      int
}

// gradients are those of the mean square of errors, less the mean error of each block.
func (t *training) gradients() (in, out []float64) {
	in, out = make([]float64, len(t.in)), make([]float64, len(t.out))
	errs := make([]float64, len(t.xs))
	for _, b := range t.blocks {
		mean := 0.0
		for _, i := range b {
			errs[i] = t.predict(t.xs[i]) - t.ys[i]
			mean += errs[i] / float64(len(b))
		}
		for _, i := range b {
			errs[i] -= mean
		}
	}
	for i, x := range t.xs {
		g := 2 * errs[i] / float64(t.r)
		for h := range t.out {
			a := bend(t.sum(h, x))
			out[h] += float64(g * a)
			d := float64(float64(g*t.out[h]) * float64((1-math.Abs(a))*(1-math.Abs(a))))
			w := in[h*(len(x)+1):]
			for k, v := range x {
				w[k] += float64(d * v)
			}
			w[len(x)] += d
		}
	}
	return in, out
}

// adam is Adam's moments, with a decay of weights.
type adam struct {
	m, v   []float64
	p1, p2 float64 // powers of the decays of both
}

func newAdam(n int) *adam { return &adam{m: make([]float64, n), v: make([]float64, n), p1: 1, p2: 1} }

func (a *adam) step(w, g []float64) {
	const b1, b2 = 0.9, 0.999
	a.p1, a.p2 = float64(a.p1*b1), float64(a.p2*b2)
	c1, c2 := 1-a.p1, 1-a.p2
	for i := range w {
		a.m[i] = float64(b1*a.m[i]) + float64((1-b1)*g[i])
		a.v[i] = float64(b2*a.v[i]) + float64((1-b2)*float64(g[i]*g[i]))
		w[i] -= float64(rate * (a.m[i]/c1/(math.Sqrt(a.v[i]/c2)+1e-8) + float64(decay*w[i])))
	}
}
