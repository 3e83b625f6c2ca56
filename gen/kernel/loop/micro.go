package loop

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/instr"
)

// KLoop is one loop of a micro-kernel's reduction, over groups of as many points as the
// instruction takes in at a time: XStep and WStep are what an iteration adds to the two operands'
// offsets, in elements.
type KLoop struct {
	Extent       int64
	XStep, WStep int64
}

// MicroKernel is a register tile of one tile instruction: Rows x Vectors accumulators of Lanes
// numbers. For every point of the K loops, outermost first, and every g in the instruction's group,
//
//	acc[r][v][l] += X[RowAt(r) + k + g] * W[VectorAt(v) + l*Group + k' + g]  (Broadcast: X is one group)
//	acc[r][v][l] += X[RowAt(r) + (v*Lanes + l)*Group + k + g] * W[...]     (otherwise: both are vectors, as in a depthwise convolution)
//
// It is a leaf function whose extents are all constants; its parameters are X, W, the accumulators, and with Fetch
// what it fetches.
type MicroKernel struct {
	Instr *instr.Row
	// X is how X reaches the instruction; a Lane needs an innermost K loop of contiguous groups and
	// a whole number of registers.
	X             instr.Operand
	Rows, Vectors int64
	// Stored is the type of W's elements in memory where loads convert them, f16 or bf16; Invalid: what the instruction takes.
	Stored  ir.DType
	RowStep int64
	// Rows lie in runs of so many, RowStep apart, and the runs RunStep apart; Run is 0 where one run is all.
	Run, RunStep int64
	// VecStep is from a register of W to the next, in elements; 0 where they lie side by side.
	VecStep int64
	K       []KLoop
	// Kept, where it is given, is what is summed in place of K.
	Kept *Kept
	// Adds: accumulators begin with what is there, the sum of the points before; otherwise with 0.
	Adds bool
	// Narrow is how many points' products are added in 16 bits before they are added to accumulators, of an instruction that does so: X and W are such that these
	// sums have room there. They are points of the innermost K loop.
	Narrow int64
	// PrefetchW is how many elements ahead W is fetched into the cache; 0: it is not. PrefetchX fetches
	// what the next iteration of the last loop but one reads of X.
	PrefetchW int64
	PrefetchX bool
	// Fetch is how many elements of W that later calls read a point fetches into the second-level cache.
	Fetch int64
	// FetchX, where it is given, is how many elements after its own X, of rows that lie one after the other, a call fetches as much into the
	// second-level cache, a part with each point.
	FetchX int64
}

// Lanes is how many accumulators lie in a register.
func (m *MicroKernel) Lanes() int64 { return m.Instr.Lanes }

// W is the type of W's elements in memory.
func (m *MicroKernel) W() ir.DType {
	if m.Stored != ir.Invalid {
		return m.Stored
	}
	return m.Instr.W
}

// Broadcast reports whether all lanes share one element of X.
func (m *MicroKernel) Broadcast() bool { return m.X != instr.Vector }

// Steps is the number of points of the K loops; of stored kernels on average.
func (m *MicroKernel) Steps() int64 {
	if m.Kept != nil {
		return m.Kept.steps()
	}
	n := int64(1)
	for _, k := range m.K {
		n *= k.Extent
	}
	return n
}

// VectorAt is the offset of register v of W, in elements.
func (m *MicroKernel) VectorAt(v int64) int64 {
	if m.VecStep != 0 {
		return v * m.VecStep
	}
	return v * m.Lanes() * m.Instr.Group
}

// WholeRegisters reports whether all registers of W that are read lie whole numbers of registers apart.
func (m *MicroKernel) WholeRegisters() bool {
	size := m.Lanes() * m.Instr.Group
	whole := m.VecStep%size == 0
	for _, k := range m.K {
		whole = whole && k.WStep%size == 0
	}
	return whole
}

// RowAt is the offset of row r of X, in elements.
func (m *MicroKernel) RowAt(r int64) int64 {
	if m.Run != 0 {
		return r/m.Run*m.RunStep + r%m.Run*m.RowStep
	}
	return r * m.RowStep
}

// InARow reports whether all that a call reads of X lies together: rows one after the other, each the points of the K loops in their order.
func (m *MicroKernel) InARow() bool {
	at := m.Instr.Group
	for i := len(m.K) - 1; i >= 0; i-- {
		if m.K[i].XStep != at {
			return false
		}
		at *= m.K[i].Extent
	}
	return m.Broadcast() && m.Kept == nil && m.Run == 0 && (m.Rows == 1 || m.RowStep == at)
}

// FMAs is how often one call applies the instruction.
func (m *MicroKernel) FMAs() int64 { return m.Steps() * m.Rows * m.Vectors }

// bodyOps is about how many instructions that multiply and add the body of the innermost K loop
// should have: enough to hide what the loop itself costs. More gains nothing, and compilers
// then move so many loads ahead that registers run out.
const bodyOps = 16

// Unroll is how many points of the innermost K loop are written out in its body.
func (m *MicroKernel) Unroll() int64 {
	if len(m.K) == 0 {
		return 1
	}
	step, extent := int64(1), m.K[len(m.K)-1].Extent
	if m.X == instr.Lane {
		step = m.Lanes()
	}
	best := step
	for u := step; u <= extent && u*m.Rows*m.Vectors*m.Instr.Ops <= bodyOps; u += step {
		if extent%u == 0 {
			best = u
		}
	}
	return best
}
