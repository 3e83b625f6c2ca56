package scalar

import (
	"rules_dnn/gen/ir"
)

// Class is how the interpreter holds elements of a type in a vector.
type Class uint8

// Classes of vectors.
const (
	ClassF32 Class = iota // f32; f16 and bf16, rounded to their type after each function
	ClassF64
	ClassI64 // integers and bool, wrapped to their type; u64 as its bits
)

// ClassOf is the class that holds elements of type t.
func ClassOf(t ir.DType) Class {
	switch t {
	case ir.F32, ir.F16, ir.BF16:
		return ClassF32
	case ir.F64:
		return ClassF64
	}
	return ClassI64
}

// Vec is a vector of one class; the other two slices are nil.
type Vec struct {
	F32 []float32
	F64 []float64
	I64 []int64
}

// NewVec makes a vector of n zeros for elements of type t.
func NewVec(t ir.DType, n int) *Vec {
	switch ClassOf(t) {
	case ClassF32:
		return &Vec{F32: make([]float32, n)}
	case ClassF64:
		return &Vec{F64: make([]float64, n)}
	}
	return &Vec{I64: make([]int64, n)}
}

// Len is the number of elements.
func (v *Vec) Len() int { return len(v.F32) + len(v.F64) + len(v.I64) }

// Cut makes v the first n elements of w.
func (v *Vec) Cut(w *Vec, lo, hi int) *Vec {
	switch {
	case w.F32 != nil:
		v.F32 = w.F32[lo:hi]
	case w.F64 != nil:
		v.F64 = w.F64[lo:hi]
	case w.I64 != nil:
		v.I64 = w.I64[lo:hi]
	}
	return v
}

// Func evaluates a function over vectors of one length. dst may be one of args.
type Func func(dst *Vec, args []*Vec)

// impl are a row's evaluators over floats, either nil where there is none.
type impl struct{ f32, f64 Func }

// whole are a row's evaluators over integers: on int64, and on uint64 where u64 differs.
type whole struct {
	i64, u64 Func
	// closed reports that results need no wrapping to the element type.
	closed bool
}

type number interface{ float32 | float64 | int64 }

func of[T number](v *Vec) []T {
	var p any
	switch any(*new(T)).(type) {
	case float32:
		p = v.F32
	case float64:
		p = v.F64
	default:
		p = v.I64
	}
	return p.([]T)
}

func map1[T number](f func(T) T) Func {
	return func(dst *Vec, args []*Vec) {
		d, a := of[T](dst), of[T](args[0])
		for i, x := range a[:len(d)] {
			d[i] = f(x)
		}
	}
}

func map2[T number](f func(a, b T) T) Func {
	return func(dst *Vec, args []*Vec) {
		d, a, b := of[T](dst), of[T](args[0]), of[T](args[1])
		a, b = a[:len(d)], b[:len(d)]
		for i := range d {
			d[i] = f(a[i], b[i])
		}
	}
}

func map3[T number](f func(a, b, c T) T) Func {
	return func(dst *Vec, args []*Vec) {
		d, a, b, c := of[T](dst), of[T](args[0]), of[T](args[1]), of[T](args[2])
		for i := range d {
			d[i] = f(a[i], b[i], c[i])
		}
	}
}

func test1[T number](f func(T) bool) Func {
	return func(dst *Vec, args []*Vec) {
		d, a := dst.I64, of[T](args[0])
		for i := range d {
			d[i] = bit(f(a[i]))
		}
	}
}

func test2[T number](f func(a, b T) bool) Func {
	return func(dst *Vec, args []*Vec) {
		d, a, b := dst.I64, of[T](args[0]), of[T](args[1])
		for i := range d {
			d[i] = bit(f(a[i], b[i]))
		}
	}
}

func choose[T number](dst *Vec, args []*Vec) {
	d, c, a, b := of[T](dst), args[0].I64, of[T](args[1]), of[T](args[2])
	for i := range d {
		if c[i] != 0 {
			d[i] = a[i]
		} else {
			d[i] = b[i]
		}
	}
}

// unsigned adapts functions on uint64 to vectors of their bits.
func unsigned(f func(a, b uint64) uint64) Func {
	return map2(func(a, b int64) int64 { return int64(f(uint64(a), uint64(b))) })
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
