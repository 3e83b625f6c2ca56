package match

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// IsWeights reports whether all that a term reads can be packed by the compiler.
func (t *Term) IsWeights() bool { return t.Constant && len(t.Load.Guard) == 0 }

// Difference is a term's element minus its zero point.
func (t *Term) Difference() te.Expr {
	e := te.Fn(ir.I32, "cast", t.Load)
	if t.Zero == nil {
		return e
	}
	return te.Fn(ir.I32, "sub", e, t.Zero)
}

// Element is a term's element as an instruction's operand of a type: in 16 bits, or where that is exact, minus its zero point; in 8 bits as it
// is, or minus 128 so that it is signed, or plus 128 so that it is not.
func (t *Term) Element(typ ir.DType) te.Expr {
	switch {
	case t.Computed != nil:
		return t.Computed
	case t.Exact:
		return te.Fn(typ, "cast", t.Difference())
	case typ == t.Load.Type && (typ.Size() > 1 || t.Zero == nil):
		return t.Load
	case typ.Size() > 1 && t.Zero != nil:
		return te.Fn(typ, "cast", t.Difference())
	case typ.Size() > 1:
		return te.Fn(typ, "cast", t.Load)
	case t.offset(typ) == 0:
		return t.Load
	}
	return te.Fn(typ, "cast", te.Fn(ir.I32, "sub", te.Fn(ir.I32, "cast", t.Load), te.Int(ir.I32, t.offset(typ))))
}

// offset is what a packed element is less than the element.
func (t *Term) offset(typ ir.DType) int64 {
	switch {
	case typ.Size() > 1 || typ == t.Load.Type:
		return 0
	case typ == ir.I8:
		return 128
	}
	return -128
}

// Left is what is to be subtracted from a packed element; nil: nothing.
func (t *Term) Left(typ ir.DType) te.Expr {
	if typ.Size() > 1 || t.Exact {
		return nil
	}
	off := t.offset(typ)
	switch z := t.Zero.(type) {
	case nil:
		if off == 0 {
			return nil
		}
		return te.Int(ir.I32, -off)
	case te.Const:
		if n := int64(int32(z.Bits)) - off; n != 0 {
			return te.Int(ir.I32, n)
		}
		return nil
	}
	if off == 0 {
		return t.Zero
	}
	return te.Fn(ir.I32, "sub", t.Zero, te.Int(ir.I32, off))
}

// DiffersAsBytes reports whether a factor is a byte minus a zero point that is one of its type, or a byte alone: others may be further apart.
func (t *Term) DiffersAsBytes() bool {
	typ := t.Load.Type
	if typ.Size() != 1 || !typ.IsInteger() || t.Computed != nil {
		return false
	}
	switch z := t.Zero.(type) {
	case nil:
		return true
	case te.Const:
		n := int64(int32(z.Bits))
		return n >= int64(te.Lowest(typ).(te.Const).Bits) && n <= int64(te.Highest(typ).(te.Const).Bits)
	case te.Call:
		return z.Fn == "cast" && z.Args[0].DType() == typ
	}
	return false
}

// Guarded reports whether a term's guard says where an axis may walk.
func (t *Term) Guarded(v string) bool {
	return slices.ContainsFunc(t.Load.Guard, func(g te.Within) bool { return g.E.Uses(v) })
}
