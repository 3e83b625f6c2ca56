package hostile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
)

// spec is a node of one result, whose operands and result are written as "name type[2,0]=5": all elements are 5, or
// "name type[3]=1,2,3". An operand named in capitals is a constant, as sizes and axes are; "_" is one that is absent.
type spec struct {
	op    string
	attrs []any
	in    string // operands, separated by spaces
	out   string // "type[2,0]=5"; the elements "?" are anything
}

// operand is one of a spec.
type operand struct {
	name     string
	tensor   *ir.Tensor
	constant bool
}

var shortTypes = map[string]ir.DType{"f32": ir.F32, "f16": ir.F16, "bf16": ir.BF16, "f64": ir.F64, "i8": ir.I8, "i16": ir.I16, "i32": ir.I32, "i64": ir.I64,
	"u8": ir.U8, "u16": ir.U16, "u32": ir.U32, "u64": ir.U64, "bool": ir.Bool}

// typed reads "f32[2,0]=5".
func typed(s string) *ir.Tensor {
	head, elements, given := strings.Cut(s, "=")
	name, dims, ok := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	t, known := shortTypes[name]
	if !ok || !known {
		panic("hostile: a tensor is written " + s)
	}
	shape := []int64{}
	for _, d := range strings.FieldsFunc(dims, func(r rune) bool { return r == ',' }) {
		shape = append(shape, parseInt(d))
	}
	if !given {
		elements = "2"
	}
	if elements == "" {
		return ir.NewTensor(t, shape...)
	}
	parts := strings.Split(elements, ",")
	n := int(ir.NewTensor(t, shape...).Len())
	if len(parts) == 1 {
		parts = slices.Repeat(parts, n)
	}
	if len(parts) != n {
		panic("hostile: other elements than the shape has: " + s)
	}
	if t.IsFloat() {
		var xs []float64
		for _, p := range parts {
			x, err := strconv.ParseFloat(p, 64)
			if err != nil {
				panic(err)
			}
			xs = append(xs, x)
		}
		return tensor(t, shape, xs...)
	}
	var xs []int64
	for _, p := range parts {
		xs = append(xs, parseInt(p))
	}
	return intTensor(t, shape, xs...)
}

func parseInt(s string) int64 {
	x, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return x
}

// operands of a spec; a name stands before each, or its place makes one.
func (s *spec) operands() []*operand {
	var out []*operand
	for i, word := range strings.Fields(s.in) {
		if word == "_" {
			out = append(out, nil)
			continue
		}
		name, text, named := strings.Cut(word, ":")
		if !named {
			name, text = string(rune('a'+i)), word
		}
		out = append(out, &operand{name: strings.ToLower(name), tensor: typed(text), constant: name == strings.ToUpper(name)})
	}
	return out
}

// want is the spec's result.
func (s *spec) want() Want {
	head, elements, _ := strings.Cut(s.out, "=")
	if elements == "?" {
		t := typed(head)
		return anything(t.Type, t.Shape...)
	}
	w := is(typed(s.out))
	w.Relative, w.Absolute = tolerance(w.Type)
	return w
}

// shapeOf is an operand's shape as a model declares it: symbol stands for each dimension of 0, where it is not empty.
func shapeOf(t *ir.Tensor, symbol string) []any {
	var out []any
	for _, d := range t.Shape {
		if d == 0 && symbol != "" {
			out = append(out, symbol)
		} else {
			out = append(out, d)
		}
	}
	return out
}

// model is the spec's node. fixed makes all operands but the first constants.
func (s *spec) model(symbol string, fixed bool) (*onnxpb.ModelProto, []Value) {
	node := onnxtest.Op(s.op, "", "y", s.attrs...)
	m := onnxtest.Model(nil, node)
	m.OpsetImport[0].Version = ptr(int64(newOpset(s.op)))
	if op, own := strings.CutPrefix(s.op, microsoft+"."); own {
		node.OpType, node.Domain = ptr(op), ptr(microsoft)
		m.OpsetImport = append(m.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: ptr(microsoft), Version: ptr(int64(1))})
	}
	if s.op == "TopK" {
		node.Output = append(node.Output, "indices")
	}
	var in []Value
	for i, x := range s.operands() {
		switch {
		case x == nil:
			node.Input = append(node.Input, "")
			continue
		case x.constant || fixed && i > 0:
			onnxtest.With(m, onnxtest.Tensor(x.name, x.tensor))
		default:
			m.Graph.Input = append(m.Graph.Input, onnxtest.Input(x.name, onnxtest.Types[x.tensor.Type], shapeOf(x.tensor, symbol)...))
			in = append(in, Value{x.name, x.tensor})
		}
		node.Input = append(node.Input, x.name)
	}
	return m, in
}

// microsoft is the domain of ONNX Runtime's own operators, whose names stand behind it.
const microsoft = "com.microsoft"

// newOpset is the opset of a spec's model: that of what is current, but for operators that are newer.
func newOpset(op string) int {
	switch op {
	case "Attention", "RotaryEmbedding", "RMSNormalization", "Swish", "TensorScatter":
		return 24
	}
	return onnxtest.Opset
}

// label names a spec.
func (s *spec) label() string {
	out := s.op
	for i := 0; i < len(s.attrs); i += 2 {
		switch x := s.attrs[i+1].(type) {
		case *onnxpb.GraphProto, *onnxpb.TensorProto:
			out += fmt.Sprintf(" %v", s.attrs[i])
		default:
			out += fmt.Sprintf(" %v=%v", s.attrs[i], x)
		}
	}
	return out + " " + s.in
}
