package hostile

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// constantCases are constants whose shapes and elements contradict each other, as initializers and as attributes.
func constantCases(m *maker) error {
	for _, t := range append([]ir.DType{ir.Bool}, append(integers, floatTypes...)...) {
		m.sizes(t)
	}
	for i, dims := range [][]int64{{-1}, {2, -3}, {-2, -3}, {math.MinInt64}, {math.MaxInt64}, {math.MaxInt64, 2}, {1 << 32, 1 << 32}, {1 << 31, 1 << 31, 4}, {1 << 40}, {1 << 62, 4}, {0, math.MaxInt64, math.MaxInt64},
		{0, -1}, {math.MaxInt64, 0}, {1 << 31}, {1 << 20, 1 << 20, 1 << 20}, make([]int64, 1000)} {
		bad := onnxtest.Raw("w", onnxpb.TensorProto_FLOAT, dims, make([]byte, 24))
		m.constant(fmt.Sprintf("dims %d", i), bad, `"w"`)
	}
	m.fields()
	return nil
}

// constant is a tensor that is refused: as an initializer that is read, one that nothing reads, and as an attribute.
func (m *maker) constant(name string, w *onnxpb.TensorProto, words ...string) {
	model := func(ts ...*onnxpb.TensorProto) *onnxpb.ModelProto {
		return onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 1), onnxtest.Op("Shape", "w", "s"), onnxtest.Op("Cast", "s", "y", "to", 1)), ts...)
	}
	m.refused("an initializer, "+name, model(w), words...)
	attribute := model()
	attribute.Graph.Node = append([]*onnxpb.NodeProto{onnxtest.Op("Constant", "", "w", "value", w)}, attribute.Graph.Node...)
	m.refused("a Constant, "+name, attribute, `"n_w"`)
	fill := proto.Clone(w).(*onnxpb.TensorProto)
	m.refused("a value of ConstantOfShape, "+name, onnxtest.Model(onnxtest.Floats("x", 1), onnxtest.Vector("s", 2), onnxtest.Op("ConstantOfShape", "s", "y", "value", fill)), `"n_y"`)
}

// sizes are too few and too many bytes for each type.
func (m *maker) sizes(t ir.DType) {
	whole := intTensor(t, []int64{2, 3}, 1, 0, 1, 0, 1, 0)
	for _, bytes := range []int{0, 1, t.Size() - 1, 5 * t.Size(), 6*t.Size() - 1, 6*t.Size() + 1, 7 * t.Size(), 1000} {
		if bytes == 6*t.Size() || bytes < 0 {
			continue
		}
		data := make([]byte, bytes)
		bad := onnxtest.Raw("w", onnxtest.Types[t], whole.Shape, data)
		if len(data) == 0 {
			bad.RawData = []byte{}
		}
		name := fmt.Sprintf("%s, %d bytes for 6", t, bytes)
		c := onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 1), onnxtest.Op("Shape", "w", "s"), onnxtest.Op("Cast", "s", "y", "to", 1)), bad)
		if exists(m, name) {
			continue
		}
		m.refused(name, c, `"w"`)
	}
	right := onnxtest.Model(input("x", t, 1), onnxtest.Op("Where", "c x w", "y"))
	onnxtest.With(right, onnxtest.Tensor("w", whole), onnxtest.Tensor("c", intTensor(ir.Bool, nil, 0)))
	m.right(t.String()+", right", right, run(is(whole), "x", intTensor(t, nil, 1)))
}

func exists(m *maker, name string) bool {
	for _, c := range m.cases {
		if c.Name == name {
			return true
		}
	}
	return false
}

// fields are elements in fields of other types, in several fields, and numbers that the type does not hold.
func (m *maker) fields() {
	of := func(t onnxpb.TensorProto_DataType, set func(*onnxpb.TensorProto)) *onnxpb.TensorProto {
		w := onnxtest.Raw("w", t, []int64{2}, nil)
		set(w)
		return w
	}
	float, int64s, int32s, double, uint64s := onnxpb.TensorProto_FLOAT, onnxpb.TensorProto_INT64, onnxpb.TensorProto_INT32, onnxpb.TensorProto_DOUBLE, onnxpb.TensorProto_UINT64
	tensors := map[string]*onnxpb.TensorProto{
		"floats in int32_data":  of(float, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 2} }),
		"floats in double_data": of(float, func(w *onnxpb.TensorProto) { w.DoubleData = []float64{1, 2} }),
		"int64 in float_data":   of(int64s, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2} }),
		"int64 in int32_data":   of(int64s, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 2} }),
		"int32 in int64_data":   of(int32s, func(w *onnxpb.TensorProto) { w.Int64Data = []int64{1, 2} }),
		"doubles in float_data": of(double, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2} }),
		"uint64 in int64_data":  of(uint64s, func(w *onnxpb.TensorProto) { w.Int64Data = []int64{1, 2} }),
		"floats in two fields":  of(float, func(w *onnxpb.TensorProto) { w.FloatData, w.RawData = []float32{1, 2}, make([]byte, 8) }),
		"too few floats":        of(float, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1} }),
		"too many floats":       of(float, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2, 3} }),
		"too few int64":         of(int64s, func(w *onnxpb.TensorProto) { w.Int64Data = []int64{1} }),
		"too many int64":        of(int64s, func(w *onnxpb.TensorProto) { w.Int64Data = []int64{1, 2, 3} }),
		"int8 of 128":           of(onnxpb.TensorProto_INT8, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 128} }),
		"uint8 of -1":           of(onnxpb.TensorProto_UINT8, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, -1} }),
		"uint8 of 256":          of(onnxpb.TensorProto_UINT8, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 256} }),
		"int16 of 32768":        of(onnxpb.TensorProto_INT16, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 32768} }),
		"uint16 of -1":          of(onnxpb.TensorProto_UINT16, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, -1} }),
		"bool of 2":             of(onnxpb.TensorProto_BOOL, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 2} }),
		"float16 of 65536":      of(onnxpb.TensorProto_FLOAT16, func(w *onnxpb.TensorProto) { w.Int32Data = []int32{1, 65536} }),
		"uint32 of 2^32":        of(onnxpb.TensorProto_UINT32, func(w *onnxpb.TensorProto) { w.Uint64Data = []uint64{1, 1 << 32} }),
		"strings":               of(onnxpb.TensorProto_STRING, func(w *onnxpb.TensorProto) { w.StringData = [][]byte{{1}, {2}} }),
		"complex numbers":       of(onnxpb.TensorProto_COMPLEX64, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2, 3, 4} }),
		"no type":               of(onnxpb.TensorProto_UNDEFINED, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2} }),
		"a type that is none":   of(9999, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2} }),
		"a negative type":       of(-1, func(w *onnxpb.TensorProto) { w.FloatData = []float32{1, 2} }),
		"a segment": of(float, func(w *onnxpb.TensorProto) {
			w.FloatData, w.Segment = []float32{1, 2}, &onnxpb.TensorProto_Segment{Begin: ptr(int64(0)), End: ptr(int64(1))}
		}),
		"4 bits, a byte too many": of(onnxpb.TensorProto_INT4, func(w *onnxpb.TensorProto) { w.RawData = []byte{0x12, 0x34} }),
		"8-bit floats":            of(onnxpb.TensorProto_FLOAT8E4M3FN, func(w *onnxpb.TensorProto) { w.RawData = []byte{1, 2} }),
		"a location that is none": of(float, func(w *onnxpb.TensorProto) {
			w.DataLocation, w.RawData = onnxpb.TensorProto_DataLocation(7).Enum(), nil
		}),
		"floats, raw, in segments too": of(float, func(w *onnxpb.TensorProto) {
			w.RawData, w.Segment = make([]byte, 8), &onnxpb.TensorProto_Segment{Begin: ptr(int64(5)), End: ptr(int64(-1))}
		}),
	}
	for _, name := range sortedKeys(tensors) {
		m.constant(name, tensors[name], `"w"`)
	}
}
