package winograd

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	wino "rules_dnn/gen/kernel/winograd"
	"rules_dnn/gen/propose/contract"
	"rules_dnn/gen/propose/lower"
	"rules_dnn/gen/propose/weights"
)

// Transformed weights are of 16 bits where the network's are, so that products read half the bytes as elsewhere: of F(2,3), by whose
// transforms roundings of weights grow to 1.4 times those of results in 16 bits. By F(4,3)'s they grow to 8 times these (standard deviations of sums
// over 64 and 512 channels): its filters are f32.

// halfResults is the most results along an axis of a transform whose filters are of 16 bits.
const halfResults = 2

// mostGrowth bounds how many times as large as weights the filters of such a transform are, along both axes.
const mostGrowth = 2.25

// filterType is the type of a transform's filters, of weights in a constant.
func (w *filtering) filterType(f *wino.Transform, weights *ir.Value, known *weights.Magnitudes) (ir.DType, error) {
	t := weights.Type
	if w.Instr.InHalves() {
		return t, nil
	}
	if t == ir.F32 || f.Filters().Results > halfResults || !w.Target.LoadsConvert(t) {
		return ir.F32, nil
	}
	if t == ir.BF16 {
		return t, nil
	}
	most, err := known.Of(weights.Const)
	if err != nil || float64(most)*mostGrowth > float64(scalar.F16ToF32(0x7bff)) {
		return ir.F32, err
	}
	return t, nil
}

// addedResults is the maximum number of results along an axis of a transform whose products are
// added in f16. Trained networks had small errors (docs/measurements/arm_instructions.md).
const addedResults = 4

// addInHalves chooses an instruction that adds in f16 if the target allows it and f16 can represent
// the transformed filters.
func addInHalves(c *contract.Contraction, f *wino.Transform, env *lower.Env) error {
	row := c.Halves()
	if row == nil || f.Filters().Results > addedResults || c.ChannelBlock%row.Lanes != 0 {
		return nil
	}
	most, err := env.Magnitudes.Of(c.Weights.Const)
	if err == nil && float64(most)*mostGrowth <= scalar.Greatest(ir.F16) {
		c.Instr = row
	}
	return err
}

// putFilter stores an element of filters.
func putFilter(b []byte, t ir.DType, at int64, x float32) {
	switch t {
	case ir.F16:
		binary.LittleEndian.PutUint16(b[2*at:], scalar.F32ToF16(x))
	case ir.BF16:
		binary.LittleEndian.PutUint16(b[2*at:], scalar.F32ToBF16(x))
	default:
		binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(x))
	}
}
