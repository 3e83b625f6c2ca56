package train

// average is the exponential moving average of weights and statistics over the steps. It begins with the first step: that it began as 0 is divided out.
type average struct {
	decay   float64
	weights []*Weight
	sums    [][]float32
	count   int // steps so far
}

// newAverage is nil where none is asked for.
func newAverage(decay float64, weights []*Weight) *average {
	if decay == 0 {
		return nil
	}
	a := &average{decay: decay, weights: weights}
	for _, w := range weights {
		a.sums = append(a.sums, make([]float32, len(w.Data)))
	}
	return a
}

// add counts the weights as they are after a step.
func (a *average) add() {
	if a == nil {
		return
	}
	a.count++
	share := float32(1 - a.decay)
	for k, w := range a.weights {
		sum := a.sums[k]
		for i, x := range w.Data {
			sum[i] += float32(share * (x - sum[i]))
		}
	}
}

// with runs a function while the weights are the averages.
func (a *average) with(f func() error) error {
	if a == nil || a.count == 0 {
		return f()
	}
	before := make([][]float32, len(a.weights))
	for k, w := range a.weights {
		before[k] = append([]float32{}, w.Data...)
	}
	a.take()
	defer func() {
		for k, w := range a.weights {
			copy(w.Data, before[k])
		}
	}()
	return f()
}

// take makes the weights the averages.
func (a *average) take() {
	if a == nil || a.count == 0 {
		return
	}
	all := float32(1 - power(a.decay, a.count))
	for k, w := range a.weights {
		for i, s := range a.sums[k] {
			w.Data[i] = s / all
		}
	}
}
