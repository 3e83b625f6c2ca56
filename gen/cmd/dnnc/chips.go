package main

import (
	"fmt"

	"rules_dnn/gen/files"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
	"rules_dnn/gen/tuning"
)

// readChips reads the facts of the chips that the library has kernels for, and what the tuning record says of each.
func (f *compileFlags) readChips(s *pipeline.State) error {
	var all []*target.Target
	var names []string
	for _, path := range append(list{f.chip}, f.variants...) {
		facts, err := files.Read(path)
		if err != nil {
			return err
		}
		t, err := target.Parse(facts)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all, names = append(all, t), append(names, t.Name)
	}
	if err := s.SetChips(all); err != nil {
		return err
	}
	times, err := f.times(names)
	if times != nil {
		s.OtherTimes, s.Times = times[:len(times)-1], times[len(times)-1]
	}
	return err
}

// times are what the tuning record says of the chips; nil where there is none.
func (f *compileFlags) times(chips []string) ([]tuning.Times, error) {
	if f.tuning == "" {
		return nil, nil
	}
	data, err := files.Read(f.tuning)
	if err != nil {
		return nil, err
	}
	r, err := tuning.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.tuning, err)
	}
	times, err := r.ForVariants(chips)
	if f.candidate > 0 { // of a new chip nothing is known yet
		return times, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.tuning, err)
	}
	return times, nil
}
