package cost

import "rules_dnn/gen/target"

const (
	// cachedPasses is how often a processor moves what it stores and reads again beyond its caches:
	// it reads lines before it stores them.
	cachedPasses = 3
	// devicePasses is the same of a device, which stores whole lines.
	devicePasses = 2
	// deviceRate is the part of its memory's rate that a device achieves: an NVIDIA H100 adds two
	// values of 51 MB in 59 us (docs/performance.md).
	deviceRate = 0.62
	// queuedPart is the part of a launch's time that passes while the device computes the kernel
	// before. On an NVIDIA H100 networks with 24 launches less gain 1 to 2 us for each.
	queuedPart = 2.0 / 3
)

// Again returns the cycles of bytes that are stored and read again and that no cache holds. It is 0
// for devices whose items share no memory.
func Again(t *target.Target, bytes float64) float64 {
	if !t.WorkItems() {
		return float64(cachedPasses * t.Uncached(bytes))
	}
	g, err := t.WorkGroups()
	if err != nil || g.LocalBytes == 0 {
		return 0
	}
	return float64(devicePasses / deviceRate * t.Uncached(bytes) * g.Clock())
}

// Queued returns the cycles of a launch that pass while the device computes the kernel before. It
// is 0 for processors, and for devices whose items share no memory.
func Queued(t *target.Target) float64 {
	g, err := t.WorkGroups()
	if err != nil || g.LocalBytes == 0 {
		return 0
	}
	return g.Launch() * queuedPart
}
