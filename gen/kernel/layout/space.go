package layout

// Space is a memory of its own: kernels of one do not read the other, and a transfer copies a value's bytes between them.
type Space uint8

// Spaces. A value without a device is on the host.
const (
	// Host is the processor's memory, where the host program runs.
	Host Space = iota
	// Device is the memory of a device beside it: buffers, and images where a layout says so.
	Device
)

// Spaces are all.
var Spaces = []Space{Host, Device}

// String is the space's name in dumps.
func (s Space) String() string {
	if s == Device {
		return "device"
	}
	return "host"
}

// In is the same order of elements in another space.
func (l Layout) In(s Space) Layout {
	l.Space = s
	return l
}
