package precision

import (
	"encoding/binary"
	"fmt"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/scalar"
	"rules_dnn/gen/ops"
)

// byOperands is what a node's operator and operands say of it: see staysWide.
func (h *halves) byOperands(n *ir.Node) (why string, settled bool, err error) {
	r, why := ops.RangeOf(n, h.to)
	if r == ops.Grows {
		return why, false, nil
	}
	full := false // an operand of the result's shape is in 16 bits
	statistic := ""
	for _, i := range ops.Sharers(n, h.to) {
		v := n.Inputs[i]
		if v.Type != ir.F32 {
			return fmt.Sprintf("its operand %s is %s", ir.Show(v.Name), v.Type), false, nil
		}
		reason, err := h.tooWide(v, r)
		switch {
		case err != nil:
			return "", false, n.Errorf("operand %s: %w", ir.Show(v.Name), err)
		case reason == "":
			full = full || v.Const == nil && scales(n) && !stretched(v, n.Outputs[0])
		case v.Const == nil && h.far[v] != "" && r != ops.Settles && (r == ops.Weighs || scales(n)):
			return fmt.Sprintf("it reads %s, which stays f32: %s", ir.Show(v.Name), h.far[v]), h.within(n), nil
		case v.Const == nil && r == ops.Weighs:
		case v.Const == nil && r == ops.Settles:
			return reason, true, nil
		case v.Const == nil && scales(n) && stretched(v, n.Outputs[0]):
			statistic = reason // of the other operand, which it brings to a size: x / sqrt(mean(x*x))
		default:
			return reason, false, nil
		}
	}
	if statistic != "" && !full {
		return statistic, false, nil
	}
	return "", false, nil
}

// scales reports whether a node multiplies or divides.
func scales(n *ir.Node) bool { return n.Op == "Mul" || n.Op == "Div" }

// stretched reports whether an operand has fewer elements than the result, each of which is read for several.
func stretched(v, result *ir.Value) bool {
	if result == nil || len(v.Shape) != len(result.Shape) {
		return true
	}
	for i, d := range v.Shape {
		if d.Is(1) && !result.Shape[i].Is(1) {
			return true
		}
	}
	return false
}

// tooWide is the reason for which a value is not to be read in 16 bits; "" where there is none.
func (h *halves) tooWide(v *ir.Value, r ops.Range) (string, error) {
	if v.Const == nil {
		if h.half[v] != nil {
			return "", nil
		}
		if why := h.kept[v]; why == whySummand {
			return fmt.Sprintf("it is computed with %s, %s", ir.Show(v.Name), why), nil
		} else if why != "" {
			return fmt.Sprintf("it is computed with %s, which stays f32", ir.Show(v.Name)), nil
		}
		return "", nil
	}
	key := rangeKey{v, r}
	if why, known := h.ranges[key]; known {
		return why, nil
	}
	most, err := greatest(v.Const)
	why := ""
	switch {
	case err != nil:
		return "", err
	case most > scalar.Greatest(h.to):
		why = fmt.Sprintf("its constant %s has elements up to %g; the maximum of %s is %g", ir.Show(v.Name), most, h.to, scalar.Greatest(h.to))
	case most > 0 && most < least[h.to] && (r == ops.Follows || r == ops.Weighs):
		why = fmt.Sprintf("its constant %s has elements of at most %g, for which %s has few digits or rounds to 0", ir.Show(v.Name), most, h.to)
	}
	h.ranges[key] = why
	return why, nil
}

// rangeKey is a constant, and what it is read for.
type rangeKey struct {
	v *ir.Value
	r ops.Range
}

// least are the least numbers of types that have all digits.
var least = map[ir.DType]float64{ir.F16: 0x1p-14, ir.BF16: 0x1p-126}

// pieceBytes is how much of a constant is read at a time.
const pieceBytes = 1 << 20

// greatest is the greatest finite magnitude in a tensor of f32.
func greatest(t *ir.Tensor) (float64, error) {
	most := float32(0)
	err := pieces(t.Len()*4, func(at, n int64) error {
		b := make([]byte, n)
		if err := t.ReadBytes(b, at); err != nil {
			return err
		}
		for i := 0; i < len(b); i += 4 {
			x := math.Float32frombits(binary.LittleEndian.Uint32(b[i:]) &^ (1 << 31))
			if x > most && x <= math.MaxFloat32 {
				most = x
			}
		}
		return nil
	})
	return float64(most), err
}

func pieces(size int64, f func(at, n int64) error) error {
	for at := int64(0); at < size; at += pieceBytes {
		if err := f(at, min(pieceBytes, size-at)); err != nil {
			return err
		}
	}
	return nil
}

// narrowConstant is a constant in 16 bits, which it is made of when it is written.
func narrowConstant(name string, v *ir.Value, to ir.DType) *ir.Value {
	from, narrow := v.Const, scalar.F32ToF16
	if to == ir.BF16 {
		narrow = scalar.F32ToBF16
	}
	t := ir.Computed(to, from.Shape, 1, func(b []byte, first int64) error {
		raw := make([]byte, 2*len(b))
		if err := from.ReadBytes(raw, 4*first); err != nil {
			return err
		}
		for i := 0; i < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], narrow(math.Float32frombits(binary.LittleEndian.Uint32(raw[2*i:]))))
		}
		return nil
	})
	return ir.ConstValue(name, t)
}
