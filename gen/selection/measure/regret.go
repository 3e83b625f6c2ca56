package measure

import (
	"cmp"
	"fmt"
	"slices"

	"rules_dnn/gen/selection/perf"
)

// rated is a kernel of a block: what an estimate says, and what it takes.
type rated struct {
	name           string
	cycles, micros float64
}

// regret tells for each block that has several kernels what estimates say of them beside what they take: in the shortest runs of this
// session, or as the record has it. The regret of a block is how much longer than its fastest kernel the one takes that estimates choose.
func (s *session) regret() {
	estimates := s.estimates()
	seen := map[string]bool{}
	chosen, best, ranks, ranked := 0.0, 0.0, 0.0, 0.0
	for _, b := range s.models[0].blocks {
		all := s.rated(b, estimates)
		if len(all) < 2 {
			continue
		}
		first := all[0]
		fastest := slices.MinFunc(all, func(x, y rated) int { return cmp.Compare(x.micros, y.micros) })
		chosen, best = chosen+first.micros, best+fastest.micros
		if seen[b.Key] {
			continue
		}
		seen[b.Key] = true
		rho, known := spearman(all)
		if known {
			ranks, ranked = ranks+rho, ranked+1
		}
		fmt.Fprintf(s.out, "%s: %+.1f %%, %s instead of %s, Spearman %.2f\n", b.What, percent(first.micros, fastest.micros), first.name, fastest.name, rho)
		for _, x := range all {
			fmt.Fprintf(s.out, "  %12.0f cycles  %10.1f us  %s\n", x.cycles, x.micros, x.name)
		}
	}
	if best > 0 {
		fmt.Fprintf(s.out, "regret: %.4g ms with estimates, %.4g ms with the fastest kernels, %+.1f %%; Spearman's correlation %.2f, the mean of %.0f blocks\n",
			chosen/1e3, best/1e3, percent(chosen, best), ranks/max(ranked, 1), ranked)
	}
}

func percent(x, of float64) float64 { return float64(100 * (x/of - 1)) }

// estimates are the cycles of each kernel that a program has.
func (s *session) estimates() map[kernel]float64 {
	out := map[kernel]float64{}
	for _, m := range s.models {
		for _, b := range m.blocks {
			if b.Tuning != nil && b.cycles > 0 {
				out[kernel{b.Key, b.Kernel}] = float64(b.cycles)
			}
		}
	}
	return out
}

// rated are the kernels of a block of which both is known.
func (s *session) rated(b block, estimates map[kernel]float64) []rated {
	var out []rated
	for _, name := range s.measurable(b) {
		k := kernel{b.Key, name}
		us, measured := s.least[k]
		if !measured {
			us = s.of(b).Get(b.Key, name).Micros
		}
		if cycles := estimates[k]; cycles > 0 && us > 0 {
			out = append(out, rated{name, cycles, us})
		}
	}
	return out
}

// spearman is the correlation of the orders that estimates and times give.
func spearman(all []rated) (rho float64, known bool) {
	var cycles, micros []float64
	for _, x := range all {
		cycles, micros = append(cycles, x.cycles), append(micros, x.micros)
	}
	return perf.Spearman(cycles, micros)
}
