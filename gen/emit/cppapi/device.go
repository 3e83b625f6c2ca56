package cppapi

import (
	"fmt"
	"strings"

	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/ir/sym"
)

// Device is what a model has of a device beside the processor, which runs some of its blocks.
type Device struct {
	// Source is the text of the kernels, and Kernels their names by number. Needs are extensions that the device must have.
	Source         string
	Kernels, Needs []string
	IndexBytes     int // of a symbol's argument
	GroupItems     int64
	// Arena, and Scratch of one of so many Workers.
	Arena, Scratch sym.Expr
	Workers        int64
	// WeightsAt is where the device's constants begin among the weights.
	WeightsAt, WeightsBytes int64
	Images                  []Image
	Flags                   []string // labels of the blocks that may refuse a value
	// HostInputs and HostOutputs are true where steps of the processor read or write an input or output.
	HostInputs, HostOutputs []bool
	// Probe is a kernel that compilers take which take what Source has where Probed is defined; "": it has no such thing.
	Probe, Probed string
}

// Image is an image object of a context.
type Image struct{ Width, Height sym.Expr }

// DeviceName is the file name of the device's kernels, as the library holds them.
func (m *Model) DeviceName() string { return m.Prefix + "_device.cc" }

// deviceView is what the templates see of a device.
type deviceView struct {
	*Device
	SourceBytes            int
	ArenaInit, ScratchInit string
	ImageInits             [][2]string
}

func (v *view) addDevice(d *Device) {
	if d == nil {
		return
	}
	v.Device = &deviceView{Device: d, SourceBytes: len(d.Source), ArenaInit: v.size(d.Arena), ScratchInit: v.size(d.Scratch)}
	for _, x := range d.Images {
		v.Device.ImageInits = append(v.Device.ImageInits, [2]string{v.size(x.Width), v.size(x.Height)})
	}
}

// SourceLines are the kernels' text as string literals, a line each, and ProbeLines the probe's.
func (d *deviceView) SourceLines() []string { return literals(d.Source) }
func (d *deviceView) ProbeLines() []string  { return literals(d.Probe) }

func literals(text string) []string {
	var out []string
	for _, line := range strings.SplitAfter(text, "\n") {
		if line != "" {
			out = append(out, ctext.String(line))
		}
	}
	return out
}

// deviceMembers are those of rules_dnn::DeviceOptions.
var deviceMembers = []string{"platform", "device", "context", "queue", "cache", "message", "message_bytes", "command_buffers"}

// bufferMembers and eventMembers are those of rules_dnn::Buffer and rules_dnn::Events.
var (
	bufferMembers = []string{"memory", "offset", "host"}
	eventMembers  = []string{"wait_count", "wait", "done"}
)

// deviceStatuses are of models that run on a device.
var deviceStatuses = []status{
	{19, "NO_OPENCL", "kNoOpenCl", "no OpenCL library on this machine, or functions are missing in it"},
	{20, "NO_DEVICE", "kNoDevice", "no OpenCL device, or none that matches the options"},
	{21, "UNSUPPORTED_DEVICE", "kUnsupportedDevice", "the device lacks what the kernels need"},
	{22, "BUILD_FAILED", "kBuildFailed", "the device's driver rejects the kernels; its log is in the message"},
	{23, "DEVICE_MEMORY", "kDeviceMemory", "the device is out of memory"},
	{24, "DEVICE_RESOURCES", "kDeviceResources", "the device lacks resources that a kernel needs"},
	{25, "DEVICE_LOST", "kDeviceLost", "the device was lost; destroy the model and create it again"},
	{26, "DEVICE_FAILED", "kDeviceFailed", "another failure of the device's driver"},
	{27, "FOREIGN", "kForeign", "memory or an event does not belong to the context of the options"},
}

// checkDevice refuses what cannot be printed of a device.
func (m *Model) checkDevice() error {
	d := m.Device
	if d == nil {
		return nil
	}
	sizes := []sym.Expr{d.Arena, d.Scratch}
	for _, x := range d.Images {
		sizes = append(sizes, x.Width, x.Height)
	}
	for _, e := range sizes {
		if err := m.checkExpr(e, len(m.Symbols)); err != nil {
			return fmt.Errorf("on the device: %w", err)
		}
	}
	if len(d.HostInputs) != len(m.Inputs) || len(d.HostOutputs) != len(m.Outputs) {
		return fmt.Errorf("the device has %d inputs and %d outputs; want %d and %d", len(d.HostInputs), len(d.HostOutputs), len(m.Inputs), len(m.Outputs))
	}
	if d.WeightsAt < 0 || d.WeightsBytes < 0 || d.WeightsAt+d.WeightsBytes > m.Weights.Bytes {
		return fmt.Errorf("the device's constants, %d bytes at %d, are not within the weights of %d bytes", d.WeightsBytes, d.WeightsAt, m.Weights.Bytes)
	}
	return nil
}
