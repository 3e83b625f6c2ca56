package hvx

import (
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// quantized is round(value) + zero, saturated to a number of 8 bits.
type quantized struct {
	value te.Expr
	zero  int64
	typ   ir.DType
	// positive: what is negative before it is rounded becomes 0.
	positive bool
}

// findQuantized recognises such an expression; nil where it is none.
func findQuantized(e te.Expr) *quantized {
	q := &quantized{typ: e.DType()}
	if q.typ.Size() != 1 || !q.typ.IsInteger() {
		return nil
	}
	rounded, zero, ok := binary(argument(e, "cast", q.typ), "add")
	if !ok {
		return nil
	}
	z, ok := argument(zero, "cast", ir.F32).(te.Const)
	if !ok || z.Type != q.typ {
		return nil
	}
	q.zero = int64(z.Bits)
	if q.value = argument(rounded, "round", ir.F32); q.value == nil {
		return nil
	}
	if a, b, ok := binary(q.value, "max"); ok {
		for _, x := range [][2]te.Expr{{a, b}, {b, a}} {
			if c, ok := x[1].(te.Const); ok && math.Float64frombits(c.Bits) == 0 {
				q.value, q.positive = x[0], true
			}
		}
	}
	return q
}

// bounds are the least and the greatest result.
func (q *quantized) bounds() (least, most int64) {
	least, most = int64(te.Lowest(q.typ).(te.Const).Bits), int64(te.Highest(q.typ).(te.Const).Bits)
	if q.positive {
		least = max(least, q.zero)
	}
	return least, most
}

// stores reports whether statements store what vectors may compute: a number that is quantized, a table's entry for one, or the float that one stands for.
func (v *vectors) stores(body []loop.Stmt) bool {
	if len(body) == 0 || len(body) > 2 {
		return false
	}
	var ok bool
	if v.store, ok = body[len(body)-1].(loop.Store); !ok {
		return false
	}
	if len(body) == 1 {
		return v.store.Buf.Type.Size() == 1 && findQuantized(v.store.Value) != nil || findDequantized(v.store.Value) != nil
	}
	b, ok := body[0].(loop.Bind)
	m, isMem := v.store.Value.(loop.Mem)
	if !ok || !isMem || !m.IsTable(b.Var) || b.Byte() == nil || v.store.Buf.Type.Size() != 1 || v.store.Index.Uses(b.Var) {
		return false
	}
	v.bind = &b
	return findQuantized(v.value()) != nil
}

// value is what words are computed of.
func (v *vectors) value() te.Expr {
	if v.bind == nil {
		return v.store.Value
	}
	e := v.bind.Byte()
	if of := argument(e, "cast", ir.U8); of != nil && of.DType() == ir.I8 { // the same bits
		return of
	}
	return e
}

// table is what the words' bytes are looked up in; nil where they are the result.
func (v *vectors) table() *loop.Buffer {
	if v.bind == nil {
		return nil
	}
	return v.store.Value.(loop.Mem).Buf
}

// result prints what is stored of a piece, before a table is read: words; false where vectors cannot compute it.
func (l *lanesOf) result(e te.Expr) (string, bool) {
	if d := findDequantized(e); d != nil {
		return d.words(l)
	}
	return l.quantized(e)
}

// quantized prints a quantized number as words.
func (l *lanesOf) quantized(e te.Expr) (string, bool) {
	known := len(l.factors)
	if q := findScaled(e); q != nil {
		if text, ok := q.words(l); ok {
			return text, true
		}
		l.factors = l.factors[:known]
	}
	q := findQuantized(e)
	if q == nil {
		return "", false
	}
	text, ok := q.words(l)
	if !ok {
		l.factors = l.factors[:known]
	}
	return text, ok
}
