package opaque

import (
	"cmp"
	"encoding/binary"
	"math"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/elems"
	"rules_dnn/gen/ir/scalar"
)

// list is a tensor's elements as numbers that compare, and as bytes that move.
type list struct {
	typ    ir.DType
	data   []byte
	size   int64
	floats []float64
	ints   []int64 // of u64 the bits
}

func listOf(t *ir.Tensor) (*list, error) {
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	n := int(t.Len())
	l := &list{typ: t.Type, data: b, size: int64(t.Type.Size())}
	v := scalar.NewVec(t.Type, n)
	if n > 0 {
		elems.View(t.Type, b).Load(v, 0, 1)
	}
	switch {
	case v.F32 != nil:
		l.floats = make([]float64, n)
		for i, x := range v.F32 {
			l.floats[i] = float64(x)
		}
	case v.F64 != nil:
		l.floats = v.F64
	default:
		l.ints = v.I64
	}
	return l, nil
}

// compare orders two elements. A NaN comes after every number and equals a NaN.
func (l *list) compare(a, b int64) int {
	if l.floats == nil {
		return l.compareInts(a, b)
	}
	x, y := l.floats[a], l.floats[b]
	if math.IsNaN(x) || math.IsNaN(y) {
		return cmp.Compare(truth(math.IsNaN(x)), truth(math.IsNaN(y)))
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func (l *list) compareInts(a, b int64) int {
	if l.typ == ir.U64 {
		return cmp.Compare(uint64(l.ints[a]), uint64(l.ints[b]))
	}
	return cmp.Compare(l.ints[a], l.ints[b])
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isNaN reports whether an element is no number.
func (l *list) isNaN(i int64) bool { return l.floats != nil && math.IsNaN(l.floats[i]) }

// isZero reports whether an element is 0, of either sign.
func (l *list) isZero(i int64) bool {
	if l.floats != nil {
		return l.floats[i] == 0
	}
	return l.ints[i] == 0
}

// slice is the bytes of n elements.
func (l *list) slice(at, n int64) []byte { return l.data[at*l.size : (at+n)*l.size] }

// put stores n elements of l at an element of a tensor of the same type.
func (l *list) put(to *ir.Tensor, at, from, n int64) { copy(to.Data[at*l.size:], l.slice(from, n)) }

// integers makes a tensor of i64.
func integers(xs []int64, shape ...int64) *ir.Tensor {
	t := ir.NewTensor(ir.I64, shape...)
	for i, x := range xs {
		binary.LittleEndian.PutUint64(t.Data[8*i:], uint64(x))
	}
	return t
}

// scalarOf is the element of an operand of one, or def where it is absent.
func scalarOf[T int64 | float64](t *ir.Tensor, def T) (T, error) {
	if t == nil {
		return def, nil
	}
	l, err := listOf(t)
	if err != nil {
		return def, err
	}
	if t.Len() != 1 {
		return def, errorf("an operand has %d elements; want 1", t.Len())
	}
	if l.floats != nil {
		return T(l.floats[0]), nil
	}
	return T(l.ints[0]), nil
}
