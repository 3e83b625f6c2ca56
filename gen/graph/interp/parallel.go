package interp

import "sync"

// fewPoints are worth no goroutine.
const fewPoints = 1 << 14

// share runs parts of [0, units) by the workers, of about as many units each: work makes what runs one part, whose loops are
// its own. Where several fail the first part's error counts.
func (r *run) share(units, points int64, work func() (func(from, to int64) error, error)) error {
	workers := min(int64(r.Workers), units)
	if workers < 2 || points < fewPoints {
		part, err := work()
		if err != nil {
			return err
		}
		return part(0, units)
	}
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		part, err := work()
		if err != nil {
			all.Wait()
			return err
		}
		all.Add(1)
		go func() {
			defer all.Done()
			errs[w] = part(units*w/workers, units*(w+1)/workers)
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

// units is how many vectors the loops have, with the loop vec as the vector.
func (p *program) units(outer []int, vec int) int64 {
	n := p.vectors(vec)
	for _, a := range outer {
		n *= p.extent[a]
	}
	return n
}

// vectors is how many vectors the loop vec has.
func (p *program) vectors(vec int) int64 {
	if vec < 0 {
		return 1
	}
	return (p.extent[vec] + chunk - 1) / chunk
}

// walk calls body for vectors [from, to): p.n elements each.
func (p *program) walk(outer []int, vec int, from, to int64, body func() error) error {
	each := p.vectors(vec)
	p.n = 1
	for u := from; u < to; u++ {
		if u == from || u%each == 0 {
			p.seek(outer, u/each)
		}
		if vec >= 0 {
			p.v[vec] = u % each * chunk
			p.n = int(min(chunk, p.extent[vec]-p.v[vec]))
		}
		if err := body(); err != nil {
			return err
		}
	}
	p.seek(outer, 0)
	if vec >= 0 {
		p.v[vec] = 0
	}
	return nil
}
