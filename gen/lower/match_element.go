package lower

import (
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/te"
)

// isWeights reports whether all that a term reads can be packed by the compiler.
func (t *term) isWeights() bool { return t.constant && len(t.load.Guard) == 0 }

// difference is a term's element minus its zero point.
func (t *term) difference() te.Expr {
	e := te.Fn(ir.I32, "cast", t.load)
	if t.zero == nil {
		return e
	}
	return te.Fn(ir.I32, "sub", e, t.zero)
}

// element is a term's element as an instruction's operand of a type: in 16 bits, or where that is exact, minus its zero point; in 8 bits as it
// is, or minus 128 so that it is signed, or plus 128 so that it is not.
func (t *term) element(typ ir.DType) te.Expr {
	switch {
	case t.computed != nil:
		return t.computed
	case t.exact:
		return te.Fn(typ, "cast", t.difference())
	case typ == t.load.Type && (typ.Size() > 1 || t.zero == nil):
		return t.load
	case typ.Size() > 1 && t.zero != nil:
		return te.Fn(typ, "cast", t.difference())
	case typ.Size() > 1:
		return te.Fn(typ, "cast", t.load)
	case t.offset(typ) == 0:
		return t.load
	}
	return te.Fn(typ, "cast", te.Fn(ir.I32, "sub", te.Fn(ir.I32, "cast", t.load), te.Int(ir.I32, t.offset(typ))))
}

// offset is what a packed element is less than the element.
func (t *term) offset(typ ir.DType) int64 {
	switch {
	case typ.Size() > 1 || typ == t.load.Type:
		return 0
	case typ == ir.I8:
		return 128
	}
	return -128
}

// left is what is to be subtracted from a packed element; nil: nothing.
func (t *term) left(typ ir.DType) te.Expr {
	if typ.Size() > 1 || t.exact {
		return nil
	}
	off := t.offset(typ)
	switch z := t.zero.(type) {
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
		return t.zero
	}
	return te.Fn(ir.I32, "sub", t.zero, te.Int(ir.I32, off))
}

// differsAsBytes reports whether a factor is a byte minus a zero point that is one of its type, or a byte alone: others may be further apart.
func (t *term) differsAsBytes() bool {
	typ := t.load.Type
	if typ.Size() != 1 || !typ.IsInteger() || t.computed != nil {
		return false
	}
	switch z := t.zero.(type) {
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

// guarded reports whether a term's guard says where an axis may walk.
func (t *term) guarded(v string) bool {
	return slices.ContainsFunc(t.load.Guard, func(g te.Within) bool { return g.E.Uses(v) })
}
