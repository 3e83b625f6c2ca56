package islands

import (
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// affine says which numbers the integers of a tensor stand for: (q - zero) * scale, with one scale, or one for each index of an axis.
type affine struct {
	typ   ir.DType
	scale []float32
	zero  []int64 // one, or one for each scale
	axis  int     // of several scales; -1: one for all
	at    *ir.Value
}

// leastScale and mostScale bound the scales that rewrites take: with others floats overflow or underflow, or are no numbers, and mean what they say.
const leastScale, mostScale = 0x1p-100, 0x1p100

// unusual reports whether a scale is not within the bounds, or no number.
func unusual[T float32 | float64](x T) bool { return !(x >= leastScale && x <= mostScale) }

// newAffine reads the scale and the zero point of a node, operands 1 and 2, for tensors of a type and a rank; nil where they are no constants,
// or none that a rewrite takes.
func newAffine(n *ir.Node, typ ir.DType, rank int) *affine {
	s, z := n.Input(1), n.Input(2)
	if s == nil || s.Const == nil || s.Type != ir.F32 || n.Int("block_size", 0) != 0 || len(s.Const.Shape) > 1 || s.Const.Len() == 0 {
		return nil
	}
	a := &affine{typ: typ, axis: -1, at: z}
	xs, err := edit.Floats(s.Const)
	if err != nil {
		return nil
	}
	for _, x := range xs {
		if unusual(x) {
			return nil
		}
		a.scale = append(a.scale, float32(x))
	}
	if len(xs) > 1 {
		if a.axis = int(n.Int("axis", 1)); a.axis < 0 {
			a.axis += rank
		}
		if rank == 1 && !n.Has("axis") {
			a.axis = 0
		}
		if a.axis < 0 || a.axis >= rank {
			return nil
		}
	}
	a.zero = []int64{0}
	if z == nil {
		return a
	}
	if z.Const == nil || z.Type != typ || z.Const.Len() != s.Const.Len() {
		return nil
	}
	if a.zero, err = z.Const.Ints(); err != nil {
		return nil
	}
	if len(a.zero) > 0 && !slices.ContainsFunc(a.zero, func(x int64) bool { return x != a.zero[0] }) {
		a.zero = a.zero[:1]
	}
	return a
}

// dequantized are the integers that a value stands for, and how; nil where no node makes it of integers, with constants that a rewrite takes.
func dequantized(v *ir.Value) (*ir.Value, *affine) {
	if v == nil || v.Def == nil || v.Def.Op != "DequantizeLinear" || v.Type != ir.F32 {
		return nil, nil
	}
	q := v.Def.Inputs[0]
	if a := newAffine(v.Def, q.Type, len(q.Shape)); a != nil && q.HasShape {
		return q, a
	}
	return nil, nil
}

// quantizer is what a node makes integers by, one scale for all; nil where it does not, or by what a rewrite does not take.
func quantizer(n *ir.Node) *affine {
	if n.Op != "QuantizeLinear" || n.Inputs[0] == nil || n.Inputs[0].Type != ir.F32 || n.Int("precision", 0) > 1 {
		return nil
	}
	a := newAffine(n, n.Outputs[0].Type, len(n.Inputs[0].Shape))
	if a == nil || a.axis >= 0 || !n.Outputs[0].HasShape {
		return nil
	}
	return a
}

// isBytes reports whether the integers are of 8 bits.
func (a *affine) isBytes() bool { return a.typ == ir.U8 || a.typ == ir.I8 }

// sole reports whether one scale and one zero point are for all.
func (a *affine) sole() bool { return a.axis < 0 && len(a.zero) == 1 }

// equal reports whether the same integers stand for the same numbers.
func (a *affine) equal(b *affine) bool {
	return a.typ == b.typ && a.axis == b.axis && slices.Equal(a.scale, b.scale) && slices.Equal(a.zero, b.zero)
}

// bounds are the least and the greatest integer of the type.
func (a *affine) bounds() (lo, hi int64) {
	bits := 8 * a.typ.Size()
	if a.typ == ir.U8 || a.typ == ir.U16 {
		return 0, 1<<bits - 1
	}
	return -1 << (bits - 1), 1<<(bits-1) - 1
}

// of is the integer that a number becomes, as QuantizeLinear says.
func (a *affine) of(x float32) int64 {
	lo, hi := a.bounds()
	r := math.RoundToEven(float64(x/a.scale[0])) + float64(a.zero[0])
	return int64(min(max(r, float64(lo)), float64(hi)))
}

// reach is how far an integer is from its zero point at most.
func (a *affine) reach() int64 {
	lo, hi := a.bounds()
	out := int64(0)
	for _, z := range a.zero {
		out = max(out, z-lo, hi-z)
	}
	return out
}
