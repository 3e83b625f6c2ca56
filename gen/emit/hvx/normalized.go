package hvx

import (
	"fmt"
	"math"

	"rules_dnn/gen/emit/ckernel"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/te"
	"rules_dnn/gen/kernel/loop"
)

// normalized is (x - mean) * factor * weight + bias, times a constant factor, as normalisations of rows have it: x, weights and biases are floats of memory,
// all lanes share the mean and the factor.
type normalized struct {
	x, weight, bias loop.Mem
	mean, factor    te.Expr
	by              float64
	rounded         int // by the constant factor
}

// findNormalized recognises such an expression; nil where it is none.
func findNormalized(e te.Expr, lane string) *normalized {
	n := &normalized{by: 1}
	if a, b, ok := binary(e, "div"); ok {
		if s := partsOf(b, lane); s != nil && len(s.parts) == 1 && s.parts[0].alone() && s.parts[0].factor == nil {
			e, n.by, n.rounded = a, 1/s.parts[0].by, 1
		}
	}
	product, bias, ok := binary(e, "add")
	if n.bias, ok = floatsOf(bias, lane, ok); !ok {
		return nil
	}
	scaled, weight, ok := binary(product, "mul")
	if n.weight, ok = floatsOf(weight, lane, ok); !ok {
		return nil
	}
	centered, factor, ok := binary(scaled, "mul")
	if !ok || varies(factor, lane) {
		return nil
	}
	x, mean, ok := binary(centered, "sub")
	if n.x, ok = floatsOf(x, lane, ok); !ok || varies(mean, lane) {
		return nil
	}
	n.mean, n.factor = mean, factor
	return n
}

// floatsOf is a load of floats that differ by lane.
func floatsOf(e te.Expr, lane string, is bool) (loop.Mem, bool) {
	m, ok := e.(loop.Mem)
	return m, is && ok && m.Buf.Type == ir.F32 && varies(e, lane)
}

const (
	// normalizedBits is how many bits of fraction normalised numbers have.
	normalizedBits = 19
	// mostBias is above the magnitude of biases, in steps of the result.
	mostBias = 512
)

// normalized prints such numbers, quantized; false where they are none.
func (q *quantized) normalized(l *lanesOf) (string, bool) {
	n := findNormalized(q.value, l.loop.Var)
	if n == nil || !(math.Abs(n.by) < mostScaled && math.Abs(n.by) > 1/mostScaled) {
		return "", false
	}
	x, okX := l.load(n.x)
	weight, okW := l.load(n.weight)
	bias, okB := l.inFixed(addend{mem: n.bias, by: n.by}, normalizedBits)
	if !okX || !okW || !okB {
		return "", false
	}
	// What is not out of bounds is the sum of a bias and less than both bounds. Floats round the difference, both products and the factor, which is itself
	// a product with what is rounded; and the sum, and what it becomes. Integers are off by less than 20.
	const normal = mostRounded + mostBias
	inexact := 20 + int64(math.Ceil(math.Ldexp(5*normal+float64(float64(1+n.rounded)*mostRounded), normalizedBits-24)))
	factor := l.scale(te.Fn(ir.F32, "mul", n.factor, te.Float(ir.F32, n.by)))
	least, most := q.bounds()
	sum := fmt.Sprintf("dnn_hvx_normalized(%s, %s, %s, %s, %s, %d, %d, &%s)", x, ckernel.Strip(l.w.Scalar(n.mean)), factor, weight, bias, normalizedBits, mostBias<<normalizedBits, l.near())
	return fmt.Sprintf("dnn_hvx_rounded(%s, %d, %d, %d, %d, %d, %d, &%s)", sum, int64(1)<<(normalizedBits-1)+inexact, normalizedBits, inexact, q.zero, least, most, l.near()), true
}
