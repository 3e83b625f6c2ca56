package main

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

// secondsOfRound is how long each of the two runs in a round.
const secondsOfRound = 0.5

// timeRun times the program and the reference in turn, so that a noisy machine disturbs both
// alike, and prints the least time of each and the median of the rounds' ratios.
func timeRun(o *options, s *check.Server, ref *reference, inputs map[string]*ir.Tensor) error {
	if o.rounds == 0 {
		return nil
	}
	if ref.time == nil {
		return errors.New("--rounds needs ONNX Runtime: --python names a Python that has it")
	}
	var ours, theirs, ratios []float64
	for range o.rounds {
		a, err := s.Time(secondsOfRound)
		if err != nil {
			return err
		}
		b, err := ref.time(inputs, secondsOfRound)
		if err != nil {
			return err
		}
		ours, theirs = append(ours, slices.Min(a)), append(theirs, slices.Min(b))
		ratios = append(ratios, slices.Min(b)/slices.Min(a))
	}
	slices.Sort(ratios)
	n := len(ratios)
	fmt.Printf("time    %.3g ms, %s %.3g ms, %d thread(s), least of %d rounds; its time over ours: %.2f (quartiles %.2f and %.2f of the rounds)\n",
		slices.Min(ours), ref.name, slices.Min(theirs), o.threads, n, ratios[n/2], ratios[n/4], ratios[n-1-n/4])
	return nil
}
