package target

import "rules_dnn/gen/ir"

// What the facts of a chip say of how long things take, and what holds where they do not say it.
const (
	usualArithmetic = 2
	usualCrossing   = 200
	usualWays       = 8
	// byIntegers is how many instructions of integers make f32 of f16 where the processor has none that does (dnn_math.h).
	byIntegers = 16
)

// StoreCycles is what a store of a vector or an element takes.
func (t *Target) StoreCycles() float64 {
	if t.StoresPerCycle > 0 {
		return 1 / t.StoresPerCycle
	}
	return 1
}

// ArithmeticCycles is what an instruction takes that computes a vector of floats, or one.
func (t *Target) ArithmeticCycles() float64 {
	if t.ArithmeticPerCycle > 0 {
		return 1 / t.ArithmeticPerCycle
	}
	return 1.0 / usualArithmetic
}

// Widen is how much of the time of products a register of floats in 16 bits takes that a load makes f32: one conversion, or of bf16 an extension of
// integers and a shift; of f16 many where the processor has no conversion. It is 0 of other types.
func (t *Target) Widen(from ir.DType) float64 {
	each := t.WidenCycles
	if each == 0 {
		each = 1 / t.FMAPerCycle
	}
	switch {
	case from == ir.F16 && !t.convertsF16():
		return byIntegers * t.ArithmeticCycles()
	case from == ir.F16:
		return each
	case from == ir.BF16:
		return 2 * each
	}
	return 0
}

// PerLane is what a lane of a vector takes that is loaded or stored by itself.
func (t *Target) PerLane() float64 {
	if t.LaneCycles > 0 {
		return t.LaneCycles
	}
	return 1
}

// Crossing is how long a line of the cache takes from one core to another.
func (t *Target) Crossing() float64 {
	if t.CrossingCycles > 0 {
		return t.CrossingCycles
	}
	return usualCrossing
}

// Behind is how many bytes a cycle come of a value of some size that the second-level cache does not hold: from the third-level one, if that has
// room for more than as much besides.
func (t *Target) Behind(bytes float64) float64 {
	if 2*bytes < float64(t.L3) {
		return t.L3BytesPerCycle
	}
	return t.BytesPerCycle
}

// usualShared is what is taken for the room of the cache that cores share where none is known: most have one.
const usualShared = 16 << 20

// Uncached is how many cycles so many bytes take that no cache has room for, with as much besides; 0: one has.
func (t *Target) Uncached(bytes float64) float64 {
	shared := t.L3
	if shared == 0 && !t.WorkItems() {
		shared = usualShared
	}
	if 2*bytes < float64(max(t.L2, shared)) {
		return 0
	}
	return bytes / t.BytesPerCycle
}

// Spill is how many bytes a cycle a worker writes and reads of its memory that the second-level cache does not hold: what lies behind that
// is nearer than memory.
func (t *Target) Spill() float64 { return 2 * t.BytesPerCycle }

// Ways is how many lines a set of the first-level cache has.
func (t *Target) Ways() int64 {
	if t.L1DWays > 0 {
		return t.L1DWays
	}
	return usualWays
}

// WayBytes is how far apart addresses lie that share a set of the first-level cache.
func (t *Target) WayBytes() int64 { return max(t.L1D/t.Ways(), 1) }
