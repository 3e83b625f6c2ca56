package measure

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/tuning"
)

// notable is how many times the best kernel's time the estimates' choice takes where a summary tells of it.
const notable = 1.02

// slower is a block for which estimates do not choose the fastest kernel.
type slower struct {
	what         string
	times        int // in the model
	chosen, best tuning.Kernel
}

func (s slower) gain() float64 { return float64(s.times) * (s.chosen.Micros - s.best.Micros) }

// summary tells what the record gains.
func (s *session) summary() {
	var found []slower
	at := map[string]int{}
	chosen, best := 0.0, 0.0
	for _, b := range s.models[0].blocks {
		names := s.measurable(b)
		if len(names) == 0 {
			continue
		}
		x := slower{what: b.What, times: 1, chosen: s.chip.Get(b.Key, names[0])}
		x.best = x.chosen
		for _, name := range names {
			if k := s.chip.Get(b.Key, name); k.Rounds > 0 && k.Micros < x.best.Micros {
				x.best = k
			}
		}
		chosen, best = chosen+x.chosen.Micros, best+x.best.Micros
		if x.chosen.Micros < notable*x.best.Micros {
			continue
		}
		if i, again := at[b.Key]; again {
			found[i].times++
			continue
		}
		at[b.Key] = len(found)
		found = append(found, x)
	}
	slices.SortStableFunc(found, func(a, b slower) int {
		switch {
		case a.gain() > b.gain():
			return -1
		case a.gain() < b.gain():
			return 1
		}
		return strings.Compare(a.what, b.what)
	})
	fmt.Fprintf(s.out, "blocks with several kernels: %.4g ms as estimates choose, %.4g ms by the fastest\n", chosen/1e3, best/1e3)
	for _, x := range found {
		fmt.Fprintf(s.out, "%5.2f  %8.1f us %s, %.1f us %s: %d x %s\n", x.chosen.Micros/x.best.Micros, x.chosen.Micros, x.chosen.Name, x.best.Micros, x.best.Name, x.times, x.what)
	}
}
