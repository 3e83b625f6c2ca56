package hostile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"rules_dnn/gen/graph/passes/edit"
	"rules_dnn/gen/ir"
)

// Want is what a result must be.
type Want struct {
	Shape []int64
	Type  ir.DType
	// Elements are what each element may be; nil: anything.
	Elements [][]float64
	// Ints are the elements where floats do not hold them.
	Ints []int64
	// Relative and Absolute are how far floats may be off.
	Relative, Absolute float64
}

// Check reports where a result is not what it must be.
func (w Want) Check(t *ir.Tensor) error {
	if t.Type != w.Type || !slices.Equal(t.Shape, w.Shape) {
		return fmt.Errorf("is %s%v, want %s%v", t.Type, t.Shape, w.Type, w.Shape)
	}
	if w.Ints != nil {
		return w.checkInts(t)
	}
	if w.Elements == nil {
		return nil
	}
	got := numbersOf(t)
	for i, x := range got {
		if !slices.ContainsFunc(w.Elements[i], func(y float64) bool { return w.near(x, y) }) {
			return fmt.Errorf("element %d of %d is %v, want %v", i, len(got), x, w.Elements[i])
		}
	}
	return nil
}

func (w Want) checkInts(t *ir.Tensor) error {
	got := intsOf(t)
	for i, x := range got {
		if x != w.Ints[i] {
			return fmt.Errorf("element %d of %d is %d, want %d", i, len(got), x, w.Ints[i])
		}
	}
	return nil
}

func (w Want) near(x, y float64) bool {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.IsNaN(x) && math.IsNaN(y)
	}
	return x == y || !math.IsInf(x, 0) && !math.IsInf(y, 0) && math.Abs(x-y) <= w.Absolute+w.Relative*math.Abs(y)
}

// numbersOf are a tensor's elements.
func numbersOf(t *ir.Tensor) []float64 {
	if t.Type.IsFloat() {
		size := t.Type.Size()
		out := make([]float64, len(t.Data)/size)
		for i := range out {
			out[i] = floatAt(t.Type, t.Data[i*size:])
		}
		return out
	}
	var out []float64
	for _, x := range intsOf(t) {
		if t.Type == ir.U64 {
			out = append(out, float64(uint64(x)))
		} else {
			out = append(out, float64(x))
		}
	}
	return out
}

func floatAt(t ir.DType, b []byte) float64 {
	switch t {
	case ir.F16:
		return ir.F16Float(binary.LittleEndian.Uint16(b))
	case ir.BF16:
		return ir.BF16Float(binary.LittleEndian.Uint16(b))
	case ir.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// intsOf are a tensor's integers; those of u64 are their bits.
func intsOf(t *ir.Tensor) []int64 {
	size := t.Type.Size()
	var out []int64
	for at := 0; at < len(t.Data); at += size {
		var b [8]byte
		copy(b[:], t.Data[at:at+size])
		x := int64(binary.LittleEndian.Uint64(b[:]))
		if shift := 64 - 8*size; slices.Contains(signed, t.Type) {
			x = x << shift >> shift
		}
		out = append(out, x)
	}
	return out
}

var (
	signed     = []ir.DType{ir.I8, ir.I16, ir.I32, ir.I64}
	unsigned   = []ir.DType{ir.U8, ir.U16, ir.U32, ir.U64}
	integers   = slices.Concat(signed, unsigned)
	floatTypes = []ir.DType{ir.F32, ir.F16, ir.BF16, ir.F64}
)

// tensor is a tensor of numbers; shape nil is a vector of them.
func tensor(t ir.DType, shape []int64, xs ...float64) *ir.Tensor {
	if shape == nil {
		shape = []int64{int64(len(xs))}
	}
	if t.IsFloat() {
		return edit.FloatTensor(t, xs, shape...)
	}
	ints := make([]int64, len(xs))
	for i, x := range xs {
		ints[i] = int64(x)
	}
	return intTensor(t, shape, ints...)
}

// intTensor is a tensor of integers, whose low bits are taken.
func intTensor(t ir.DType, shape []int64, xs ...int64) *ir.Tensor {
	if shape == nil {
		shape = []int64{int64(len(xs))}
	}
	out := ir.NewTensor(t, shape...)
	for i, x := range xs {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(x))
		copy(out.Data[i*t.Size():], b[:t.Size()])
	}
	return out
}

// filled is a tensor all of whose elements are x.
func filled(t ir.DType, x float64, shape ...int64) *ir.Tensor {
	return tensor(t, slices.Clone(shape), slices.Repeat([]float64{x}, int(ir.NewTensor(t, shape...).Len()))...)
}

// f32 and i64 are vectors.
func f32(xs ...float64) *ir.Tensor { return tensor(ir.F32, nil, xs...) }
func i64(xs ...int64) *ir.Tensor   { return intTensor(ir.I64, nil, xs...) }

// scalar has rank 0.
func scalar(t ir.DType, x float64) *ir.Tensor { return tensor(t, []int64{}, x) }
func scalarInt(x int64) *ir.Tensor            { return intTensor(ir.I64, []int64{}, x) }

// is wants exactly a tensor's elements.
func is(t *ir.Tensor) Want {
	w := Want{Shape: t.Shape, Type: t.Type}
	if t.Type.IsFloat() {
		w.Elements = [][]float64{}
		for _, x := range numbersOf(t) {
			w.Elements = append(w.Elements, []float64{x})
		}
		return w
	}
	w.Ints = append([]int64{}, intsOf(t)...)
	return w
}

// about wants a tensor's elements but for rounding.
func about(t *ir.Tensor) Want {
	w := is(t)
	w.Relative, w.Absolute = tolerance(t.Type)
	return w
}

// anything wants a shape.
func anything(t ir.DType, shape ...int64) Want {
	return Want{Type: t, Shape: append([]int64{}, shape...)}
}

// tolerance is how far a function of a type may be off: a few units in the last place, and denormals are zeros.
func tolerance(t ir.DType) (relative, absolute float64) {
	switch t {
	case ir.F16:
		return 2e-3, 1e-7
	case ir.BF16:
		return 1.6e-2, 1.2e-38
	case ir.F32:
		return 2e-6, 1.2e-38
	}
	return 1e-12, 2.3e-308
}

// run is a run of inputs, given as names and tensors in turn, and what it gives.
func run(want Want, inputs ...any) Run { return Run{Inputs: values(inputs...), Want: []Want{want}} }

func values(inputs ...any) []Value {
	var out []Value
	for i := 0; i < len(inputs); i += 2 {
		out = append(out, Value{inputs[i].(string), inputs[i+1].(*ir.Tensor)})
	}
	return out
}
