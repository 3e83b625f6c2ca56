package ckernel

import (
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// copied are the bits that a store of 16 bits copies, of a dialect that does so: of an element of the store's own type, or of one where conditions hold
// and a constant elsewhere.
func (w *Kernel) copied(x loop.Store) (string, bool) {
	d, ok := w.d.(Copier)
	if !ok || w.lanes > 0 || x.Buf.Image != nil || !slices.Contains(loop.Halves, x.Buf.Type) {
		return "", false
	}
	return w.bits(d, x.Value, x.Buf.Type)
}

// bits are those of an expression that computes nothing.
func (w *Kernel) bits(d Copier, e te.Expr, t ir.DType) (string, bool) {
	switch x := e.(type) {
	case loop.Mem:
		if x.Buf.Type != t || x.Buf.Image != nil {
			return "", false
		}
		return d.Bits(w.access(x.Buf, x.Index, x.Texel)), true
	case te.Const:
		return fmt.Sprintf("%#x", halfBits(t, math.Float64frombits(x.Bits))), x.Type == t
	case te.Select:
		then, ok := w.bits(d, x.Then, t)
		otherwise, ok2 := w.bits(d, x.Else, t)
		return "(" + w.cond(x.Cond) + " ? " + then + " : " + otherwise + ")", ok && ok2
	}
	return "", false
}

// halfBits are those of a constant of 16 bits.
func halfBits(t ir.DType, v float64) uint16 {
	if t == ir.BF16 {
		return scalar.F32ToBF16(float32(v))
	}
	return scalar.F32ToF16(float32(v))
}
