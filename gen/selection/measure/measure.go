// Package measure runs programs of one model, which differ in the kernels of its blocks, and notes in a tuning record
// how long each kernel takes.
//
// The kernels of all blocks are measured at once, in whole runs of the model: what a block finds in caches is what it
// finds there when the model is used. The programs take turns, so that what disturbs one disturbs the others.
package measure

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/fusion/tuning"
)

// Program is a program of dnn_benchmark and the manifest of its model, compiled with --candidate. Weights is the
// weights' file, where the program does not hold them.
type Program struct {
	Program  string `json:"program"`
	Manifest string `json:"manifest"`
	Weights  string `json:"weights,omitempty"`
}

// Options say how to measure.
type Options struct {
	// Record is the file.
	Record string
	// Rounds of all programs, each of which runs so many Seconds in one.
	Rounds  int
	Seconds float64
	Threads int
	// Again measures what the record has already, too, and drops what else it has of the chip.
	Again bool
	// Args are further ones for the programs, as in --dims=N=8.
	Args []string
	// Runner runs programs; nil: this machine does.
	Runner *Runner
	// Regret prints what estimates say of each kernel beside what it takes, and what their choice loses.
	Regret bool
}

// Run measures what the record does not have in so many rounds, and writes it after each round: interrupted, it goes
// on where it was. Program number i has the blocks' candidates i. What it does is told to out.
func Run(programs []Program, o Options, out io.Writer) error {
	s, err := start(programs, o, out)
	if err != nil {
		return err
	}
	switch {
	case len(s.pending) > 0:
	case !s.knows():
		fmt.Fprintln(out, "no block of the model has a choice of kernels")
		return s.write()
	default:
		fmt.Fprintf(out, "%s has %d rounds of all kernels already; --again measures them again\n", filepath.Base(o.Record), o.Rounds)
	}
	for _, line := range s.models[0].learned {
		fmt.Fprintln(out, line)
	}
	for r := s.first; r < o.Rounds && len(s.pending) > 0; r++ {
		if err := s.round(r); err != nil {
			return err
		}
		if err := s.write(); err != nil {
			return err
		}
	}
	s.summary()
	if o.Regret {
		s.regret()
	}
	return nil
}

// session is the state of a run.
type session struct {
	o        Options
	out      io.Writer
	models   []*model
	programs []Program
	record   *tuning.Record
	chip     *tuning.Chip // the processor's part of the record
	device   *tuning.Chip // the device's; nil: the model has none
	pending  map[kernel]bool
	before   map[kernel]tuning.Kernel // what the record had
	samples  map[kernel][]float64     // microseconds, one a round and program
	least    map[kernel]float64       // of all runs
	rounds   int                      // that were run
	first    int                      // the round to begin with
}

// kernel is a block's key, and a kernel's name.
type kernel struct{ key, name string }

func start(programs []Program, o Options, out io.Writer) (*session, error) {
	s := &session{o: o, out: out, programs: programs, pending: map[kernel]bool{}, before: map[kernel]tuning.Kernel{}, samples: map[kernel][]float64{}, least: map[kernel]float64{}}
	if len(programs) == 0 {
		return nil, fmt.Errorf("there are no programs to measure")
	}
	for i, p := range programs {
		m, err := p.model(o)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			if err := m.same(s.models[0]); err != nil {
				return nil, fmt.Errorf("%s and %s: %w", programs[0].Manifest, p.Manifest, err)
			}
		}
		s.models = append(s.models, m)
	}
	data, err := files.Read(o.Record)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if s.record, err = tuning.Parse(data); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Record, err)
	}
	s.find(s.models[0])
	if o.Again {
		s.chip.Threads, s.chip.Blocks = o.Threads, nil
		if s.device != nil {
			s.device.Blocks = nil
		}
	}
	if s.chip.Threads != o.Threads {
		return nil, fmt.Errorf("%s has times of %d threads for %s, which cannot be compared with times of %d threads: measure with --threads=%d, or everything again with --again",
			o.Record, s.chip.Threads, s.chip.Chip, o.Threads, s.chip.Threads)
	}
	s.plan()
	return s, nil
}

// find looks for the parts of the record that the model's blocks are in.
func (s *session) find(m *model) {
	s.record.On(m.chip, s.o.Threads) // both are there before one is kept
	if m.device != "" {
		s.device = s.record.OnDevice(m.device)
	}
	s.chip = s.record.On(m.chip, s.o.Threads)
}

// of is the part of the record that a block is in: that of what runs it.
func (s *session) of(b block) *tuning.Chip {
	if b.device {
		return s.device
	}
	return s.chip
}

// knows reports whether the record has any block of the chip, or of the device.
func (s *session) knows() bool {
	return len(s.chip.Blocks) > 0 || s.device != nil && len(s.device.Blocks) > 0
}

// plan finds what to measure: all kernels of the blocks of which some were measured in too few rounds.
func (s *session) plan() {
	s.first = s.o.Rounds
	for _, b := range s.models[0].blocks {
		for _, name := range s.measurable(b) {
			if have := s.of(b).Get(b.Key, name); have.Rounds < s.o.Rounds {
				s.first = min(s.first, have.Rounds)
				for _, all := range s.measurable(b) {
					s.pending[kernel{b.Key, all}] = true
					s.before[kernel{b.Key, all}] = s.of(b).Get(b.Key, all)
				}
			}
		}
	}
}

// measurable are the kernels of a block of which there are programs, if these are several.
func (s *session) measurable(b block) []string {
	if b.Tuning == nil || min(len(b.Kernels), len(s.programs)) < 2 {
		return nil
	}
	return b.Kernels[:min(len(b.Kernels), len(s.programs))]
}

// round runs each program that has something to measure. Another one begins each time.
func (s *session) round(r int) error {
	for n := range s.programs {
		i := (n + r) % len(s.programs)
		if !s.models[i].hasAny(s.pending) {
			continue
		}
		report, err := s.measure(s.programs[i])
		if err != nil {
			return fmt.Errorf("candidates %d: %w", i+1, err)
		}
		fmt.Fprintf(s.out, "round %d of %d, candidates %d of %d: %.4g ms\n", r+1, s.o.Rounds, i+1, len(s.programs), report.Ms.Median)
		times, err := s.models[i].times(report)
		if err != nil {
			return fmt.Errorf("%s: %w", s.programs[i].Program, err)
		}
		for k, us := range times {
			s.samples[k] = append(s.samples[k], us.median)
			if least, known := s.least[k]; !known || us.least < least {
				s.least[k] = us.least
			}
		}
	}
	s.rounds++
	return nil
}

// write notes what was measured until now: the median of this run's rounds, and of earlier ones what the record had, by
// their numbers.
func (s *session) write() error {
	for _, b := range s.models[0].blocks {
		drift := s.drift(b)
		for _, name := range s.measurable(b) {
			k := kernel{b.Key, name}
			if us := s.samples[k]; s.pending[k] && len(us) > 0 {
				have := s.before[k]
				all := have.Rounds + s.rounds
				mean := (float64(have.Micros*float64(have.Rounds)) + float64(float64(median(us)*drift)*float64(s.rounds))) / float64(all)
				s.of(b).Set(b.Key, b.What, tuning.Kernel{Name: name, Micros: mean, Rounds: all, Params: b.params(name)})
			}
		}
	}
	return files.Write(s.o.Record, s.record.Text())
}

// drift is how many times as long a block's first kernel took when others of the block were measured, which are in the record, as it takes beside
// new ones: times of both are compared. 1 where nothing was measured then, or nothing is new.
func (s *session) drift(b block) float64 {
	names := s.measurable(b)
	if !slices.ContainsFunc(names, func(name string) bool { return s.before[kernel{b.Key, name}].Rounds == 0 }) {
		return 1
	}
	first := kernel{b.Key, names[0]}
	have, us := s.before[first], s.samples[first]
	if have.Rounds == 0 || len(us) == 0 {
		return 1
	}
	return have.Micros / median(us)
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}
