package winograd

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
	"rules_dnn/gen/propose/weights"
)

// planes are the kernels that are kept, transformed: those of each point, in their order.
type planes struct {
	*filtering
	from   *ir.Tensor // kernels as package fkw stores them: taps of one after the other, of each those of all filters that share it
	kernel int64      // elements of a kernel at a point
}

// keptArrays are those of the encoding, as constants.
func (w *filtering) keptArrays() ([]*ir.Value, error) {
	whole, err := fkw.Encode(w.Order().Tensor(), fkw.Encoding{Share: w.enc.Share, Patterns: []fkw.Pattern{fkw.Whole(filterTaps * filterTaps)}})
	if err != nil {
		return nil, w.Errorf("%w", err)
	}
	arrays := whole.Arrays()
	last := len(arrays) - 1
	p := &planes{filtering: w, from: arrays[last], kernel: w.enc.Share}
	all, plane := w.enc.Elements()
	// A row of points is transformed without the others, and each piece reads all weights: of a large constant, too, it is a row.
	arrays[last] = ir.ComputedTogether(ir.F32, []int64{all}, p.kernel, max(int64(w.f.Points())*plane, p.kernel), p.fill)
	var out []*ir.Value
	for i, name := range []string{"offset", "reorder", "index", "stride", fmt.Sprintf("kept.winograd%d", w.f.Results)} {
		out = append(out, ir.ConstValue(w.Weights.Name+"."+name, arrays[i]))
	}
	return out, nil
}

// batch is how many kernels are read at a time.
const batch = 256

// fill computes elements from the first on, whole kernels.
func (p *planes) fill(b []byte, first int64) error {
	_, plane := p.enc.Elements()
	side, end := int64(p.f.Points()), first+int64(len(b))/4
	i0, i1 := first/plane/side, (end+plane*side-1)/(plane*side)
	filter := p.f.Filter()
	taps, points := make([]float32, filterTaps*filterTaps), make([]float32, side*side)
	t, size := p.from.Type, int64(p.from.Type.Size())
	raw := make([]byte, size*batch*int64(len(taps))*p.kernel)
	for k0 := int64(0); k0 < p.enc.Kernels; k0 += batch {
		n := min(batch, p.enc.Kernels-k0)
		some := raw[:size*n*int64(len(taps))*p.kernel]
		if err := p.from.ReadBytes(some, size*k0*int64(len(taps))*p.kernel); err != nil {
			return err
		}
		for k := range n {
			for x := range p.kernel {
				for tap := range taps {
					taps[tap] = weights.ElementOf(t, some[size*((k*int64(len(taps))+int64(tap))*p.kernel+x):])
				}
				filter.Apply(points, taps, int(i0), int(i1))
				for q := i0 * side; q < i1*side; q++ {
					if at := q*plane + (k0+k)*p.kernel + x; at >= first && at < end {
						putFilter(b, ir.F32, at-first, points[q-i0*side])
					}
				}
			}
		}
	}
	return nil
}
