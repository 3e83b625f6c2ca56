package tuning

import (
	"fmt"
	"slices"
	"strings"
)

// Times are the kernels of blocks, by the blocks' keys: the fastest first, equal ones by name.
type Times map[string][]Kernel

// For gives the times on a processor. None is an error where the record is of one other; one of several has
// nothing to say of further ones.
func (r *Record) For(chip string) (Times, error) {
	out, known, others := r.times(identity{chip, false})
	if !known && len(others) == 1 {
		return nil, fmt.Errorf("the tuning record has times of %s, but the model is compiled for %s: measure there too, which adds to the record, or use the record only for its chips (in Bazel: tuning = select(...))", others[0], chip)
	}
	return out, nil
}

// ForDevice gives the times on a device, and on the processor beside it. None on the device is an error where the record is of one other; where the
// device is known, it does not matter which processors are.
func (r *Record) ForDevice(chip, device string) (host, there Times, err error) {
	there, known, others := r.times(identity{device, true})
	if !known && len(others) == 1 {
		return nil, nil, fmt.Errorf("the tuning record has times of the device %s, but the model is compiled for the device %s: measure there too, which adds to the record, or use the record only for its devices (in Bazel: tuning = select(...), or device = the facts of %s)",
			others[0], device, others[0])
	}
	host, err = r.For(chip)
	if known {
		err = nil
	}
	return host, there, err
}

// times are what the record has on a processor or device, the fastest kernels first, whether it knows it, and which others it does.
func (r *Record) times(on identity) (out Times, known bool, others []string) {
	out = Times{}
	for _, c := range r.Chips {
		switch {
		case c.identity() == on:
			known = true
			for _, b := range c.Blocks {
				out[b.Key] = slices.SortedFunc(slices.Values(b.Kernels), fastest)
			}
		case c.Device == on.device:
			others = append(others, c.Chip)
		}
	}
	return out, known, others
}

// ForVariants gives the times on each chip of a library. None of any is an error where For says so.
func (r *Record) ForVariants(chips []string) ([]Times, error) {
	var out []Times
	known := slices.ContainsFunc(r.Chips, func(c Chip) bool { return !c.Device && slices.Contains(chips, c.Chip) })
	for _, chip := range chips {
		times, err := r.For(chip)
		if err != nil && !known {
			return nil, err
		}
		out = append(out, times)
	}
	return out, nil
}

func fastest(a, b Kernel) int {
	switch {
	case a.Micros < b.Micros:
		return -1
	case a.Micros > b.Micros:
		return 1
	}
	return strings.Compare(a.Name, b.Name)
}
