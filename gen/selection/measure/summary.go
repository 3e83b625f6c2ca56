package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/fusion/tuning"
)

// notable is how many times the best kernel's time the estimates' choice takes where a summary tells of it.
const notable = 1.02

// near is how many times a tuned kernel's time a default should take at most.
const near = 1.15

// tuned is a block as estimates choose its kernel, and as the record does.
type tuned struct {
	what         string
	times        int // in the model
	chosen, best tuning.Kernel
}

func (t tuned) gain() float64  { return float64(t.times) * (t.chosen.Micros - t.best.Micros) }
func (t tuned) ratio() float64 { return t.chosen.Micros / t.best.Micros }

// summary tells what the record gains: of each block that has several kernels, those that a search found, too.
func (s *session) summary() {
	all := s.tuned()
	chosen, best, within := 0.0, 0.0, 0
	var worst tuned
	for i, x := range all {
		chosen, best = chosen+float64(float64(x.times)*x.chosen.Micros), best+float64(float64(x.times)*x.best.Micros)
		if x.ratio() <= near {
			within++
		}
		if i == 0 || x.ratio() > worst.ratio() {
			worst = x
		}
	}
	fmt.Fprintf(s.out, "blocks with several kernels: %.4g ms with estimated kernels, %.4g ms with the fastest\n", chosen/1e3, best/1e3)
	slices.SortStableFunc(all, func(a, b tuned) int {
		if c := cmp.Compare(b.gain(), a.gain()); c != 0 {
			return c
		}
		return strings.Compare(a.what, b.what)
	})
	for _, x := range all {
		if x.ratio() >= notable {
			fmt.Fprintf(s.out, "%5.2f  %8.1f us %s, %.1f us %s: %d x %s\n", x.ratio(), x.chosen.Micros, x.chosen.Name, x.best.Micros, x.best.Name, x.times, x.what)
		}
	}
	if best > 0 {
		fmt.Fprintf(s.out, "untuned defaults take %.1f %% longer than tuned kernels; %d of %d different blocks at most %.0f %% longer; the maximum is %.1f %%: %s\n",
			percent(chosen, best), within, len(all), percent(near, 1), percent(worst.ratio(), 1), worst.what)
	}
}

// tuned are the different blocks of which kernels were measured, in the model's order.
func (s *session) tuned() []tuned {
	var out []tuned
	at := map[string]int{}
	for _, b := range s.models[0].blocks {
		if b.Tuning == nil || len(b.Kernels) == 0 || len(s.of(b).All(b.Key)) < 2 {
			continue
		}
		if i, again := at[b.Key]; again {
			out[i].times++
			continue
		}
		x := tuned{what: b.What, times: 1, chosen: s.of(b).Get(b.Key, b.Kernels[0])}
		if x.chosen.Rounds == 0 {
			continue
		}
		x.best = x.chosen
		for _, k := range s.of(b).All(b.Key) {
			if k.Micros < x.best.Micros && (k.Params != "" || slices.Contains(b.Kernels, k.Name)) {
				x.best = k
			}
		}
		at[b.Key] = len(out)
		out = append(out, x)
	}
	return out
}
