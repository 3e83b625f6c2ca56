package train

import "math"

// Constants of Adam.
const (
	firstDecay, secondDecay = 0.9, 0.999
	adamEpsilon             = 1e-8
)

// moments are an optimizer's memory of a weight.
type moments struct{ first, second []float32 }

// optimizer changes weights by gradients.
type optimizer struct {
	*Settings
	moments []moments
	steps   int // done
}

func newOptimizer(s *Settings, weights []*Weight) *optimizer {
	o := &optimizer{Settings: s}
	for _, w := range weights {
		m := moments{first: make([]float32, len(w.Data))}
		if s.Optimizer == "adam" {
			m.second = make([]float32, len(w.Data))
		}
		o.moments = append(o.moments, m)
	}
	return o
}

// power is x^n.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y = float64(y * x)
		}
		x = float64(x * x)
	}
	return y
}

// step changes weight k by its gradient. Every product is rounded before it is added: machines agree.
func (o *optimizer) step(k int, w *Weight, gradient []float32, rate float64) {
	m := o.moments[k]
	decay := float32(o.WeightDecay)
	if len(w.Shape) < 2 {
		decay = 0 // of biases and normalisations
	}
	if o.Optimizer == "sgd" {
		momentum, r := float32(o.Momentum), float32(rate)
		for i, g := range gradient {
			g += float32(decay * w.Data[i])
			m.first[i] = float32(momentum*m.first[i]) + g
			w.Data[i] -= float32(r * m.first[i])
		}
		return
	}
	first, second := 1-power(firstDecay, o.steps+1), 1-power(secondDecay, o.steps+1)
	for i, g := range gradient {
		m.first[i] = float32(firstDecay*m.first[i]) + float32((1-firstDecay)*g)
		m.second[i] = float32(secondDecay*m.second[i]) + float32(float32(1-secondDecay)*float32(g*g))
		step := float64(m.first[i]) / first / (math.Sqrt(float64(m.second[i])/second) + adamEpsilon)
		w.Data[i] -= float32(rate * (step + float64(decay*w.Data[i])))
	}
}
