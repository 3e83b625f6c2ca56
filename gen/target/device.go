package target

import "fmt"

// OpenCL is how kernels are started, and what it takes to reach the device from the host. Fields that a facts file leaves out, or
// gives as 0, have the defaults.
type OpenCL struct {
	// GroupItems is how many work-items a work-group has at most.
	GroupItems int64 `json:"group_items"`
	// Workers is how many work-items run kernels whose tasks need memory of their own.
	Workers int64 `json:"workers"`
	// LocalBytes is the memory that the items of a group share; 0: kernels use none. Units compute groups of their own, and SubGroup
	// neighbouring items of a group run in step.
	LocalBytes int64 `json:"local_bytes"`
	Units      int64 `json:"units"`
	SubGroup   int64 `json:"sub_group"`
	// A unit computes several groups at once, as many as it has room for: UnitItems work-items, UnitLocalBytes of what items share and
	// UnitRegisters of 32 bits; 0 registers: they bound nothing.
	UnitItems      int64 `json:"unit_items"`
	UnitLocalBytes int64 `json:"unit_local_bytes"`
	UnitRegisters  int64 `json:"unit_registers"`
	// AlignBytes is what the places of sub-buffers are multiples of.
	AlignBytes int64 `json:"align_bytes"`
	// ClockMHz is how many million cycles of the facts a second has.
	ClockMHz float64 `json:"clock_mhz"`
	// LaunchMicros is what a launch takes besides its kernel; a transfer takes TransferMicros, and a second for each LinkGBs
	// times 10^9 bytes.
	LaunchMicros   float64 `json:"launch_us"`
	TransferMicros float64 `json:"transfer_us"`
	LinkGBs        float64 `json:"link_gb_per_s"`
	// Winograd are the results along each axis of the transforms by which estimates may have convolutions computed. None: on this device it is not known
	// whether they gain what estimates say.
	Winograd []int64 `json:"winograd"`
	// Exchange lets neighbouring items of a group exchange values by functions of sub-groups, of SubGroup items, where the driver compiles these.
	Exchange bool `json:"exchange"`
}

// What facts files leave out.
const (
	// defaultAlign is the least CL_DEVICE_MEM_BASE_ADDR_ALIGN that OpenCL allows a device of the full profile: 1024 bits, a long16
	// (OpenCL 1.2, table 4.3).
	defaultAlign = 128
	// defaultClock is that of many GPUs, as defaultHostClock is of processors, whose facts do not tell it.
	defaultClock     = 1000
	defaultHostClock = 3000
	// defaultGroups is how many of the largest groups a unit computes at once: enough that one computes where another waits.
	defaultGroups = 2
	// defaultLaunch was measured on NVIDIA's OpenCL, as the time of a kernel that does nothing. A transfer waits for the queue
	// too, and returns to the host: we take twice as much.
	defaultLaunch   = 5
	defaultTransfer = 10
	// defaultLink is three quarters of PCI Express 3.0 with 16 lanes: 8 GT/s of 128 bits in 130 (PCI-SIG, base specification 3.0).
	defaultLink = 12
)

// check fills in the defaults and refuses what cannot be.
func (o *OpenCL) check() error {
	if o.GroupItems < 1 || o.GroupItems&(o.GroupItems-1) != 0 || o.Workers < 1 {
		return fmt.Errorf("opencl: want a power of two for group_items, and workers")
	}
	if o.Workers%o.GroupItems != 0 {
		return fmt.Errorf("opencl: %d workers are not a multiple of group_items (%d), so further work-items would share a worker's memory", o.Workers, o.GroupItems)
	}
	if min(o.LocalBytes, o.Units, o.SubGroup, o.UnitItems, o.UnitLocalBytes, o.UnitRegisters) < 0 {
		return fmt.Errorf("opencl: local_bytes, units, sub_group, unit_items, unit_local_bytes and unit_registers must not be negative")
	}
	for _, n := range o.Winograd {
		if n != 2 && n != 4 {
			return fmt.Errorf("opencl: winograd has transforms of 2 or 4 results along each axis, not of %d", n)
		}
	}
	if o.Exchange && o.SubGroup < 2 {
		return fmt.Errorf("opencl: exchange needs sub_group, the number of items that exchange values; want at least 2")
	}
	o.Units, o.SubGroup = max(o.Units, 1), max(o.SubGroup, 1)
	if o.UnitItems == 0 {
		o.UnitItems = defaultGroups * o.GroupItems
	}
	if o.UnitLocalBytes == 0 {
		o.UnitLocalBytes = defaultGroups * o.LocalBytes
	}
	if o.AlignBytes == 0 {
		o.AlignBytes = defaultAlign
	}
	if o.AlignBytes < 1 || o.AlignBytes&(o.AlignBytes-1) != 0 || o.AlignBytes > maxAlign {
		return fmt.Errorf("opencl: align_bytes is %d; want a power of two up to %d", o.AlignBytes, maxAlign)
	}
	for _, x := range []struct {
		fact *float64
		or   float64
	}{{&o.ClockMHz, defaultClock}, {&o.LaunchMicros, defaultLaunch}, {&o.TransferMicros, defaultTransfer}, {&o.LinkGBs, defaultLink}} {
		if *x.fact == 0 {
			*x.fact = x.or
		}
		if *x.fact < 0 {
			return fmt.Errorf("opencl: clock_mhz, launch_us, transfer_us and link_gb_per_s must be positive")
		}
	}
	return nil
}

// Takes refuses groups of more work-items than the device has in one, or whose items share more memory.
func (o *OpenCL) Takes(items, bytes int64) error {
	switch {
	case items > o.GroupItems:
		return fmt.Errorf("groups of %d work-items; the device allows %d", items, o.GroupItems)
	case bytes > o.LocalBytes:
		return fmt.Errorf("the work-items of a group share %d bytes; the device has %d", bytes, o.LocalBytes)
	}
	return nil
}

// maxAlign is more than any device asks for: a page.
const maxAlign = 4096

// Alignment is what places of values in the chip's memory are multiples of, in bytes.
func (t *Target) Alignment() int64 {
	if t.OpenCL != nil {
		return t.OpenCL.AlignBytes
	}
	return int64(t.VectorBits / 8)
}

// Clock compares the estimates of two chips: how many of the host's cycles one of the device's is.
func (o *OpenCL) Clock() float64 { return defaultHostClock / o.ClockMHz }

// Launch is what a launch takes besides its kernel, in the host's cycles.
func (o *OpenCL) Launch() float64 { return float64(o.LaunchMicros * defaultHostClock) }

// Transfer is what it takes to copy so many bytes between the host and the device, in the host's cycles.
func (o *OpenCL) Transfer(bytes float64) float64 {
	micros := bytes / (o.LinkGBs * 1e3)
	return float64(o.TransferMicros*defaultHostClock) + float64(micros*defaultHostClock)
}
