package cpp

import (
	"fmt"
	"slices"
	"strings"

	"rules_dnn/gen/emit/cexpr"
	"rules_dnn/gen/emit/ctext"
	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/kernel/layout"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/program/plan"
)

// DeviceKernels are the names of the kernels that a program launches, once each, in the order of the numbers that the host program gives.
func DeviceKernels(p *plan.Program) []string {
	var out []string
	for _, l := range p.Launches() {
		if !slices.Contains(out, l.Function) {
			out = append(out, l.Function)
		}
	}
	return out
}

// DeviceFlags are the labels of the launches that may refuse a value, in the order of their flags.
func DeviceFlags(p *plan.Program) []string {
	var out []string
	for _, l := range p.Launches() {
		if loop.Refuses(l.Kernel.Body) {
			out = append(out, l.Block.Model())
		}
	}
	return out
}

// DeviceWeightsAt is where the device's constants begin among all: behind the host's.
func DeviceWeightsAt(p *plan.Program) int64 {
	return (p.WeightsBytes + plan.Alignment - 1) / plan.Alignment * plan.Alignment
}

// WeightsBytes are those of all constants.
func WeightsBytes(p *plan.Program) int64 {
	if p.Device == nil {
		return p.WeightsBytes
	}
	return DeviceWeightsAt(p) + p.Device.WeightsBytes
}

// devices are what the host program calls kernels of the device by.
type devices struct {
	kernels map[string]int
	flags   map[*plan.Launch]int
	blocks  map[*plan.Launch]int // their numbers follow those of the host's blocks
	// hostInputs and hostOutputs are those that steps of the host read or write themselves: they lie in its memory in every run.
	hostInputs, hostOutputs []bool
}

func newDevices(p *plan.Program) *devices {
	d := &devices{kernels: map[string]int{}, flags: map[*plan.Launch]int{}, blocks: map[*plan.Launch]int{}}
	d.hostInputs, d.hostOutputs = p.HostUses()
	for i, name := range DeviceKernels(p) {
		d.kernels[name] = i
	}
	first := len(p.Calls())
	for i, l := range p.Launches() {
		d.blocks[l] = first + i
		if loop.Refuses(l.Kernel.Body) {
			d.flags[l] = len(d.flags)
		}
	}
	return d
}

// printed refuses a program whose launches have no names yet.
func printed(p *plan.Program) error {
	for _, l := range p.Launches() {
		if l.Function == "" {
			return fmt.Errorf("block %s is launched on a device, but its kernels have no names yet; print the device's kernels first", l.Block.Label())
		}
	}
	return nil
}

// launch starts a kernel on the device: work-items for this run's dimensions, and where its operands lie.
func (h *host) launch(l *plan.Launch) {
	var args []string
	arg := func(kind, at string) { args = append(args, fmt.Sprintf("{dnn_kind::%s, %s}", kind, at)) }
	offsets, _ := l.Scratch()
	buffers, scratch := 0, 0
	for _, a := range opencl.Arguments(l.Call, h.p.Device.Workers) {
		switch {
		case a.Value != nil:
			arg(h.deviceElement(a.Value, int64(l.Kernel.Buffers[buffers].Type.Size())))
			buffers++
		case a.Symbol != "":
			arg("kSymbol", h.syms(a.Symbol))
		case a.BadIndex:
			arg("kFlag", fmt.Sprint(h.devices.flags[l]))
		default:
			size := int64(l.Kernel.Scratch[scratch].Type.Size())
			arg("kScratch", h.elements(sym.Scale(offsets[scratch], h.p.Device.Workers), size))
			scratch++
		}
	}
	h.line("{  // %s", ctext.Comment(l.Block.Label()))
	h.Indent++
	h.line("const dnn_arg args[] = {%s};", strings.Join(args, ", "))
	h.line("const int64_t global[] = {%s};", h.numbers(l.Global))
	h.line("const int64_t local[] = {%s};", h.numbers(l.Local))
	h.attempt(fmt.Sprintf("dnn_launch(c, %d, %d, args, %d, global, local)", h.devices.blocks[l], h.devices.kernels[l.Function], len(args)), l.Block.Model())
	h.Indent--
	h.line("}")
}

// attempt ends the run where a call fails.
func (h *host) attempt(call, what string) {
	h.line("const dnn_status status = %s;", call)
	h.line("if (status != dnn_status::kOk) return dnn_refuse(c, status, %s);", ctext.String(what))
}

func (h *host) numbers(list [plan.Dims]sym.Expr) string {
	var out []string
	for _, e := range list {
		out = append(out, h.number(e))
	}
	return strings.Join(out, ", ")
}

// deviceElement is the kind of memory in which a value lies, and the element there, or the number of an image.
func (h *host) deviceElement(v *ir.Value, size int64) (kind, at string) {
	place := h.p.Places[v]
	if place.Region == plan.Image {
		return "kImage", fmt.Sprint(place.N)
	}
	return deviceKind(place), h.elements(place.Offset, size)
}

func deviceKind(at plan.Place) string {
	if at.Region == plan.Weights {
		return "kWeights"
	}
	return "kArena"
}

// elements is a number of bytes, as elements of a size.
func (h *host) elements(bytes sym.Expr, size int64) string {
	if n, ok := bytes.Const(); ok {
		return fmt.Sprint(n / size)
	}
	if size == 1 {
		return h.number(bytes)
	}
	return fmt.Sprintf("(%s) / %d", h.number(bytes), size)
}

// transfer copies bytes to the device or from it. An input or output that transfers alone touch may lie in the device's memory.
func (h *host) transfer(t *plan.Transfer) {
	there := func(r plan.Range) string {
		place := h.p.Places[r.Value]
		return fmt.Sprintf("{dnn_kind::%s, %s}", deviceKind(place), h.number(sym.Add(place.Offset, r.At)))
	}
	here := func(r plan.Range) string {
		at := h.address(r.Value, "uint8_t")
		if r.At.Is(0) {
			return at
		}
		return at + " + " + cexpr.Expr(r.At, h.syms)
	}
	h.line("{")
	h.Indent++
	from, to := h.p.Places[t.From.Value], h.p.Places[t.To.Value]
	var call string
	switch {
	case from.Region == plan.Input && !h.devices.hostInputs[from.N]:
		call = fmt.Sprintf("dnn_input_to_device(c, %s, %d, %s", there(t.To), from.N, h.number(sym.Add(from.Offset, t.From.At)))
	case to.Region == plan.Output && !h.devices.hostOutputs[to.N]:
		call = fmt.Sprintf("dnn_device_to_output(c, %d, %s, %s", to.N, h.number(sym.Add(to.Offset, t.To.At)), there(t.From))
	case h.p.Space(t.To.Value) == layout.Device:
		call = fmt.Sprintf("dnn_to_device(c, %s, %s", there(t.To), here(t.From))
	default:
		call = fmt.Sprintf("dnn_from_device(c, %s, %s", here(t.To), there(t.From))
	}
	h.attempt(fmt.Sprintf("%s, %s)", call, h.number(t.From.Bytes)), t.From.Value.Name)
	h.Indent--
	h.line("}")
}
