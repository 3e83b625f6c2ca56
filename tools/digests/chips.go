package main

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// usual are the chips that are compared by default: those for platforms that name no processor, a
// DSP, and the devices. Chips of single processors have other numbers and the same instructions.
const usual = `^(x86_64|x86_64_v3|x86_64_v4|arm64|hexagon_v68|opencl_.*)$`

// chip is a chip or a device.
type chip struct {
	*target.Target
	facts []byte
	// beside holds the facts of a device that also runs blocks; nil without --beside.
	beside []byte
}

// targets returns the chips and devices that match --chips, sorted by name.
func (o *options) targets() ([]*chip, error) {
	all, err := facts()
	if err != nil {
		return nil, err
	}
	var out []*chip
	for _, f := range all {
		t, err := target.Parse(f)
		if err != nil {
			return nil, err
		}
		if o.chips.MatchString(t.Name) {
			out = append(out, &chip{Target: t, facts: f})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--chips=%s: platforms/chips and platforms/devices have none that is called so", o.chips)
	}
	if o.beside != "" {
		if out, err = withDevice(out, all, o.beside); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b *chip) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// withDevice returns the processors among chips, each with a device, named by both.
func withDevice(chips []*chip, all [][]byte, name string) ([]*chip, error) {
	for _, f := range all {
		device, err := target.Parse(f)
		if err != nil {
			return nil, err
		}
		if device.Name != name || !device.WorkItems() {
			continue
		}
		var out []*chip
		for _, c := range chips {
			if c.Language() != "cpp" {
				continue
			}
			both := *c.Target
			both.Name += "+" + name
			out = append(out, &chip{Target: &both, facts: c.facts, beside: f})
		}
		return out, nil
	}
	return nil, fmt.Errorf("--beside=%s: platforms/devices has no device that is called so", name)
}

// facts returns those of the repository's chips and devices.
func facts() ([][]byte, error) {
	all, err := chips.All()
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, c := range all {
		out = append(out, c.Facts)
	}
	devices, err := chips.Devices()
	if err != nil {
		return nil, err
	}
	for _, name := range devices {
		text, err := chips.DeviceFacts(name)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}
