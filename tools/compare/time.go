package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"rules_dnn/gen/ir"
)

// timing is a model's times in milliseconds: the least of each side, and the quartiles of the
// rounds' ratios of the reference's time over ours.
type timing struct {
	ours, theirs       float64
	low, median, upper float64
}

// timeRun times the program and the reference in turn, so that noise affects both equally. It
// prints the minimum time of each and the median of the rounds' ratios.
func timeRun(o *options, s served, ref *reference, inputs map[string]*ir.Tensor, out io.Writer) (*timing, error) {
	if o.rounds == 0 {
		return nil, nil
	}
	if ref.time == nil {
		return nil, errors.New("--rounds needs ONNX Runtime: --python names a Python that has it")
	}
	var ours, theirs, ratios []float64
	for range o.rounds {
		a, err := s.time(o.seconds)
		if err != nil {
			return nil, err
		}
		b, err := ref.time(inputs, o.seconds)
		if err != nil {
			return nil, err
		}
		ours, theirs = append(ours, slices.Min(a)), append(theirs, slices.Min(b))
		ratios = append(ratios, slices.Min(b)/slices.Min(a))
	}
	t := &timing{ours: slices.Min(ours), theirs: slices.Min(theirs)}
	t.low, t.median, t.upper = quartiles(ratios)
	fmt.Fprintf(out, "time    %.3g ms, %s %.3g ms, %d thread(s), least of %d rounds; its time over ours: %.2f (quartiles %.2f and %.2f of the rounds)\n",
		t.ours, ref.name, t.theirs, o.threads, o.rounds, t.median, t.low, t.upper)
	return t, nil
}

// quartiles returns the quartiles and the median of some numbers, each one of them.
func quartiles(numbers []float64) (low, median, upper float64) {
	sorted := slices.Sorted(slices.Values(numbers))
	n := len(sorted)
	return sorted[n/4], sorted[n/2], sorted[n-1-n/4]
}
