package opaque

import (
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
)

// Det is the determinant of each matrix of the last two axes, by elimination with the greatest
// pivot of each column: in f64 of f64, and in f32 of the other types.
func Det(x *ir.Tensor) (*ir.Tensor, error) {
	l, err := listOf(x)
	if err != nil {
		return nil, err
	}
	rank := len(x.Shape)
	n := int(x.Shape[rank-1])
	y := ir.NewTensor(x.Type, x.Shape[:rank-2]...)
	for k := range int(y.Len()) {
		part := l.floats[k*n*n:][:n*n]
		if x.Type == ir.F64 {
			putFloat(y, k, determinant(append([]float64{}, part...), n))
			continue
		}
		m := make([]float32, n*n)
		for i, v := range part {
			m[i] = float32(v)
		}
		putFloat(y, k, float64(determinant(m, n)))
	}
	return y, nil
}

// determinant destroys the matrix. Products are rounded before they are subtracted.
func determinant[T float32 | float64](m []T, n int) T {
	det := T(1)
	for c := range n {
		p := c
		for r := c + 1; r < n; r++ {
			if magnitude(m[r*n+c]) > magnitude(m[p*n+c]) {
				p = r
			}
		}
		if p != c {
			for k := range n {
				m[p*n+k], m[c*n+k] = m[c*n+k], m[p*n+k]
			}
			det = -det
		}
		pivot := m[c*n+c]
		det = T(det * pivot)
		if pivot == 0 {
			return det
		}
		for r := c + 1; r < n; r++ {
			f := m[r*n+c] / pivot
			for k := c; k < n; k++ {
				m[r*n+k] -= T(f * m[c*n+k])
			}
		}
	}
	return det
}

func magnitude[T float32 | float64](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

// putFloat stores a float as element i.
func putFloat(t *ir.Tensor, i int, x float64) {
	if math.IsNaN(x) {
		x = math.NaN() // build hosts compute several
	}
	le := binary.LittleEndian
	switch t.Type {
	case ir.F16:
		le.PutUint16(t.Data[2*i:], ir.F16Bits(x))
	case ir.BF16:
		le.PutUint16(t.Data[2*i:], ir.BF16Bits(x))
	case ir.F32:
		le.PutUint32(t.Data[4*i:], math.Float32bits(float32(x)))
	default:
		le.PutUint64(t.Data[8*i:], math.Float64bits(x))
	}
}
