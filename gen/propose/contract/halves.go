package contract

import (
	"rules_dnn/gen/ir"
	"rules_dnn/gen/target/instr"
)

// halfBlock is the maximum number of products in a block of a sum in f16. By the model of package
// follow, such a block has a relative error of about 2^-11 * sqrt(128/6).
const halfBlock = 128

// Halves returns the instruction that adds products of f16 in f16. It returns nil if the chip has
// none, the target does not allow it, or an operand is no f16.
func (c *Contraction) Halves() *instr.Row {
	if c.X.Type != ir.F16 || c.Weights.Type != ir.F16 {
		return nil
	}
	return c.Target.Halves()
}

// Widening returns the instruction that adds products of f16 in f32. It returns nil if the chip has
// none, or if an operand is no f16.
func (c *Contraction) Widening() *instr.Row {
	if c.X.Type != ir.F16 || c.Weights.Type != ir.F16 {
		return nil
	}
	return c.Target.Widening()
}

// BlockOf returns the number of products in a block of a sum of k products (sched.Tile.Block), or 0
// for one block.
func BlockOf(r *instr.Row, k int64) int64 {
	if r.InHalves() && k > halfBlock {
		return halfBlock
	}
	return 0
}
