package loop

// KLoop is one loop of a micro-kernel's reduction: XStep and WStep are what an
// iteration adds to the two operands' offsets, in elements.
type KLoop struct {
	Extent       int64
	XStep, WStep int64
}

// MicroKernel is a register tile: Rows x Vectors accumulators of Lanes floats.
// For every point of the K loops, outermost first,
//
//	acc[r][v] += X[r*RowStep + k] * W[v*Lanes + k']   (Broadcast: X is one element)
//	acc[r][v] += X[r*RowStep + v*Lanes + k] * W[...]  (otherwise: both are vectors, as in a depthwise convolution)
//
// It is a leaf function of a fixed signature whose extents are all constants.
type MicroKernel struct {
	Rows, Vectors, Lanes int64
	RowStep              int64
	Broadcast            bool
	K                    []KLoop
}

// Steps is the number of points of the K loops.
func (m *MicroKernel) Steps() int64 {
	n := int64(1)
	for _, k := range m.K {
		n *= k.Extent
	}
	return n
}

// FMAs is the number of vector FMAs of one call.
func (m *MicroKernel) FMAs() int64 { return m.Steps() * m.Rows * m.Vectors }
