package contract

import (
	"encoding/binary"
	"math"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
	"rules_dnn/gen/propose/weights"
)

// InMemory is the type of W in memory where micro-kernels widen it, Invalid where it is the instruction's.
func InMemory(t ir.DType) ir.DType {
	if slices.Contains(loop.Halves, t) {
		return t
	}
	return ir.Invalid
}

// Streamed is how many registers at a point of the sum count as a stream where tiles read W one after the other, each so many: of 16 bits those of all
// groups, as tiles are so narrow that one's W stays in the first-level cache, and yet each finds its own behind that.
func Streamed(t ir.DType, vectors, groups int64, apart bool) int64 {
	if InMemory(t) == ir.Invalid || apart {
		return vectors
	}
	return vectors * groups
}

// WidenConstants lets results read constants of 16 bits, such as biases, as float32, which they are then made of once: in vectors a
// conversion for each result costs as much as what is computed with it. It gives the results and the operands that they read.
func WidenConstants(b *block.Block) (results []te.Expr, operands []*ir.Value) {
	operands = slices.Clone(b.Operands)
	loads, widened := map[int]int{}, map[int]int{}
	b.Loads(func(l te.Load) {
		if !l.Source.Stage {
			loads[l.Source.N]++
		}
	})
	for _, r := range b.Stage.Results {
		te.Walk(r, func(e te.Expr) {
			if l, ok := widens(e); ok {
				widened[l.Source.N]++
			}
		})
	}
	for i, v := range b.Operands {
		if v.Const != nil && widened[i] > 0 && widened[i] == loads[i] {
			operands[i] = wideConstant(v)
		}
	}
	for _, r := range b.Stage.Results {
		results = append(results, te.Map(r, func(e te.Expr) te.Expr {
			if l, ok := widens(e); ok && operands[l.Source.N].Type == ir.F32 {
				l.Type = ir.F32
				return l
			}
			return e
		}))
	}
	return results, operands
}

// Widened returns WidenConstants of an equal block. If the instruction adds in f16, results are
// computed in f16, too, so constants stay as they are.
func (c *Contraction) Widened(b *block.Block) (results []te.Expr, operands []*ir.Value) {
	if c.Instr.InHalves() {
		return b.Stage.Results, b.Operands
	}
	return WidenConstants(b)
}

// widens is the load of 16 bits that an expression widens.
func widens(e te.Expr) (te.Load, bool) {
	c, ok := e.(te.Call)
	if !ok || c.Fn != "cast" || c.Type != ir.F32 {
		return te.Load{}, false
	}
	l, ok := c.Args[0].(te.Load)
	return l, ok && !l.Source.Stage && len(l.Guard) == 0 && slices.Contains(loop.Halves, l.Type)
}

// wideConstant is a constant of 16 bits as float32.
func wideConstant(v *ir.Value) *ir.Value {
	from := v.Const
	t := ir.Computed(ir.F32, from.Shape, 1, func(b []byte, first int64) error {
		raw := make([]byte, len(b)/2)
		if err := from.ReadBytes(raw, 2*first); err != nil {
			return err
		}
		for i := 0; i < len(raw); i += 2 {
			binary.LittleEndian.PutUint32(b[2*i:], math.Float32bits(weights.ElementOf(from.Type, raw[i:])))
		}
		return nil
	})
	return ir.ConstValue(v.Name+".f32", t)
}
