package main

import (
	"fmt"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
)

// readDevice is the device beside the chip; nil where there is none.
func (f *compileFlags) readDevice() (*target.Target, error) {
	if f.device == "" {
		return nil, nil
	}
	facts, err := chips.DeviceFacts(f.device)
	if err != nil {
		return nil, err
	}
	t, err := target.Parse(facts)
	if err == nil {
		_, err = t.WorkGroups()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: want a device's facts, like those in platforms/devices: %w", f.device, err)
	}
	return t, nil
}

// checkDevice refuses what does not go with a device beside the chip.
func (f *compileFlags) checkDevice() error {
	switch {
	case f.device == "" && f.cl != "":
		return fmt.Errorf("--out-device-source=%s: there are no device kernels without --device; add it, or leave this option out", f.cl)
	case f.device == "":
		return nil
	case len(f.variants) > 0:
		return fmt.Errorf("--variant=%s and --device=%s: a model with a device has kernels for only one chip; leave out one of them", f.variants[0], f.device)
	case f.cl == "" && f.passes.stopAfter == "":
		return fmt.Errorf("--out-device-source is missing: --device=%s needs a file for the device's kernels", f.device)
	}
	return nil
}

// printDevice prints the device's kernels, which names them for the host program, and tells the model of the device.
func (f *compileFlags) printDevice(s *pipeline.State, m *cppapi.Model, out *files.Set) error {
	if s.Device == nil {
		return nil
	}
	p := s.Program
	source, err := opencl.Print(p, s.Device)
	if err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	}
	d := p.Device
	m.Device = &cppapi.Device{Source: source.Text, Kernels: cpp.DeviceKernels(p), Needs: source.Needs, IndexBytes: source.IndexBytes, GroupItems: d.GroupItems,
		Arena: d.ArenaBytes, Scratch: d.ScratchBytes, Workers: d.Workers, WeightsAt: cpp.DeviceWeightsAt(p), WeightsBytes: d.WeightsBytes, Flags: cpp.DeviceFlags(p),
		Probe: source.Probe, Probed: source.Probed}
	m.Device.HostInputs, m.Device.HostOutputs = p.HostUses()
	for _, x := range d.Images {
		m.Device.Images = append(m.Device.Images, cppapi.Image{Width: x.Width, Height: x.Height})
	}
	out.Add(f.cl, []byte(source.Text))
	return nil
}
