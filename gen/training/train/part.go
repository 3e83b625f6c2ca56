package train

import (
	"sync"
	"sync/atomic"
)

// part is images of a batch that run together.
type part struct {
	*Batch
	aug *augment
	out *outcome
}

// newParts makes the parts, and what runs them, so that they only read that.
func (t *trainer) newParts() error {
	for range t.Batch / t.together() {
		aug, err := newAugment(t.n.Image, &t.Settings)
		if err != nil {
			return err
		}
		t.parts = append(t.parts, &part{Batch: t.n.NewBatch(t.together()), aug: aug})
	}
	if _, err := t.n.stepFor(t.together(), t.softened(), true); err != nil {
		return err
	}
	if t.teach == nil {
		return nil
	}
	_, err := t.teach.stepFor(t.together(), softened{}, false)
	return err
}

// runParts runs the parts of batch i of the epoch. The outcome is the mean of theirs, summed in their order.
func (t *trainer) runParts(i int, which []int) (*outcome, error) {
	size := len(which) / len(t.parts)
	err := sideBySide(len(t.parts), t.Workers, func(k, workers int) error {
		keys := []uint64{t.Seed, uint64(t.epoch), 2, uint64(i)}
		if k > 0 {
			keys = append(keys, uint64(k))
		}
		return t.runPart(t.parts[k], which[k*size:(k+1)*size], newRandom(keys...), workers)
	})
	if err != nil {
		return nil, err
	}
	first := t.parts[0].out
	for _, p := range t.parts[1:] {
		first.add(p.out)
		p.out.done()
	}
	first.scale(len(t.parts))
	return first, nil
}

// runPart fills a part with images and runs it.
func (t *trainer) runPart(p *part, which []int, r *random, workers int) error {
	var change func(int, []float32)
	if p.aug != nil {
		change = func(_ int, image []float32) { p.aug.change(r, image) }
	}
	if err := t.n.fill(p.Batch, t.Train, which, t.LabelSmoothing, change); err != nil {
		return err
	}
	entropy, err := 0.0, error(nil)
	if t.teach != nil {
		if entropy, err = t.teach.teach(p.Batch, workers); err != nil {
			return err
		}
	}
	if p.out, err = t.n.run(p.Batch, t.softened(), true, workers); err != nil {
		return err
	}
	p.out.whole = float64(p.out.loss) + entropy
	return nil
}

// sideBySide runs all of n by the workers, each by as many as there are left for it. Of several errors the first counts.
func sideBySide(n, workers int, run func(k, workers int) error) error {
	outer := max(1, min(n, workers))
	errs := make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range outer {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				errs[k] = run(k, max(1, workers/outer))
			}
		}()
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds what another part gave.
func (o *outcome) add(other *outcome) {
	o.whole += other.whole
	for k, to := range o.each() {
		for i, x := range other.each()[k] {
			to[i] += x
		}
	}
}

// scale makes the mean of n parts of their sum.
func (o *outcome) scale(n int) {
	if n == 1 {
		return
	}
	o.whole /= float64(n)
	for _, to := range o.each() {
		for i := range to {
			to[i] /= float32(n)
		}
	}
}
