package ops

import (
	"fmt"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// bitCast gives the number of another type that has the same bits. NaNs of half types
// stay NaNs, but keep no payload; a byte other than 0 is true.
func bitCast(c *Ctx, x []te.Expr) (te.Expr, error) {
	to, err := c.typeAttr("to")
	if err != nil {
		return nil, err
	}
	from := x[0].DType()
	if from.Size() != to.Size() {
		return nil, fmt.Errorf("attribute to is %s, of %d bytes; operand 0 has type %s, of %d", to, to.Size(), from, from.Size())
	}
	switch {
	case from == to:
		return x[0], nil
	case to.Size() == 1 || (!from.IsFloat() && !to.IsFloat()):
		return cast(to, x[0]), nil
	case to.Size() > 2:
		return te.Fn(to, "bits", x[0]), nil
	}
	return fromHalfBits(to, halfToBits(x[0])), nil
}

// word is a literal of 32 bits.
func word(v int64) te.Expr { return te.Int(ir.U32, v) }

// halfToBits is the bits of a number of 16 bits as u32, whose upper half is 0. Floats of
// 16 bits are those of 32 with fewer bits of the exponent, the fraction, or both.
func halfToBits(x te.Expr) te.Expr {
	bits := func(x te.Expr) te.Expr { return te.Fn(ir.U32, "bits", cast(ir.F32, x)) }
	switch x.DType() {
	case ir.BF16:
		return call("shr", bits(x), word(16))
	case ir.F16:
		sign := call("bitand", call("shr", bits(x), word(16)), word(0x8000))
		size := call("bitand", bits(x), word(0x7fffffff))
		normal := call("shr", sub(size, word(112<<23)), word(13))
		special := call("bitor", word(0x7c00), call("bitand", call("shr", size, word(13)), word(0x3ff)))
		small := cast(ir.U32, mul(call("abs", cast(ir.F32, x)), te.Float(ir.F32, 0x1p24))) // multiples of the least number
		e := sel(test("lt", size, word(0x7f800000)), normal, special)
		return call("bitor", sign, sel(test("lt", size, word(113<<23)), small, e))
	}
	return call("bitand", cast(ir.U32, x), word(0xffff))
}

// fromHalfBits is the number of type t, of 16 bits, that has the bits.
func fromHalfBits(t ir.DType, b te.Expr) te.Expr {
	number := func(b te.Expr) te.Expr { return te.Fn(ir.F32, "bits", b) }
	switch t {
	case ir.BF16:
		return cast(t, number(call("shl", b, word(16))))
	case ir.F16:
		sign := call("shl", call("bitand", b, word(0x8000)), word(16))
		size := call("bitand", b, word(0x7fff))
		fraction := call("shl", size, word(13))
		normal := add(fraction, word(112<<23))
		special := call("bitor", fraction, word(0x7f800000))
		small := te.Fn(ir.U32, "bits", mul(cast(ir.F32, size), te.Float(ir.F32, 0x1p-24)))
		e := sel(test("lt", size, word(0x7c00)), normal, special)
		return cast(t, number(call("bitor", sign, sel(test("lt", size, word(0x400)), small, e))))
	}
	return cast(t, b)
}
