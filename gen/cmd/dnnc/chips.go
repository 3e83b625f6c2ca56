package main

import (
	"fmt"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/fusion/tuning"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// readChips reads the facts of the chips that the library has kernels for and of the device, and what the tuning record says of each.
func (f *compileFlags) readChips(s *pipeline.State) error {
	var all []*target.Target
	var names []string
	for _, path := range append(list{f.chip}, f.variants...) {
		facts, err := chips.Facts(path)
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
	var err error
	if s.Device, err = f.readDevice(); err != nil || f.tuning == "" {
		return err
	}
	return f.readTuning(s, names)
}

// readTuning reads what the tuning record says of the chips and of the device.
func (f *compileFlags) readTuning(s *pipeline.State, chips []string) error {
	data, err := files.Read(f.tuning)
	if err != nil {
		return err
	}
	r, err := tuning.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", f.tuning, err)
	}
	if s.Device != nil {
		s.Times, s.DeviceTimes, err = r.ForDevice(chips[0], s.Device.Name)
	} else {
		var times []tuning.Times
		if times, err = r.ForVariants(chips); err == nil {
			s.OtherTimes, s.Times = times[:len(times)-1], times[len(times)-1]
		}
	}
	if err != nil && f.candidate == 0 { // for candidates nothing is known yet of a new chip
		return fmt.Errorf("%s: %w", f.tuning, err)
	}
	return nil
}
