package ops

import (
	"encoding/binary"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
)

// constFloat is the one element of an operand that must be a constant.
func (c *Ctx) constFloat(i int) (float64, error) {
	v := c.Node.Inputs[i]
	if v.Const == nil {
		return 0, &UnknownError{fmt.Sprintf("the value of operand %d (%q)", i, v.Name)}
	}
	xs, err := literals(v.Const)
	if err != nil {
		return 0, fmt.Errorf("operand %d (%q): %w", i, v.Name, err)
	}
	if len(xs) != 1 {
		return 0, fmt.Errorf("operand %d has %d elements; want 1", i, len(xs))
	}
	return math.Float64frombits(xs[0].(te.Const).Bits), nil
}

// literals are the elements of a constant as literals.
func literals(t *ir.Tensor) ([]te.Expr, error) {
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	size := t.Type.Size()
	if size == 0 || int64(len(b)) != t.Len()*int64(size) {
		return nil, fmt.Errorf("a tensor of type %s and shape %v holds %d bytes", t.Type, t.Shape, len(b))
	}
	if !t.Type.IsFloat() {
		return intLiterals(t)
	}
	out := make([]te.Expr, t.Len())
	for i := range out {
		out[i] = te.Float(t.Type, floatBits(t.Type, b[i*size:]))
	}
	return out, nil
}

func intLiterals(t *ir.Tensor) ([]te.Expr, error) {
	xs, err := t.Ints()
	if err != nil {
		return nil, err
	}
	out := make([]te.Expr, len(xs))
	for i, x := range xs {
		out[i] = te.Int(t.Type, x)
	}
	return out, nil
}

// floatBits is the first element of b.
func floatBits(t ir.DType, b []byte) float64 {
	switch t {
	case ir.F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case ir.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case ir.BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	}
	return halfBits(binary.LittleEndian.Uint16(b))
}

// halfBits is the value of an IEEE half.
func halfBits(h uint16) float64 {
	sign, exp, frac := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(frac+1024, exp-25)
}
