package hostile

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/testing/nodetest"
)

// typeCases are ONNX's own node tests, one for each operator, with one thing wrong: types of operands and results, kinds
// of attributes, numbers of operands and results.
func typeCases(m *maker) error {
	suite, err := nodetest.Load()
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, c := range slices.Backward(suite.Cases) {
		model := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(c.Model, model); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		s := subjectOf(model)
		if s == nil || done[s.op] || len(c.Inputs) != len(model.Graph.Input) {
			continue
		}
		s.bind(c.Inputs)
		done[s.op] = true
		m.wrongAttributes(s)
		m.wrongOperands(s)
		m.wrongResults(s)
	}
	for _, row := range ops.Table() {
		if !done[row.Name] && row.Name != "Identity" {
			m.refusedAlone(row.Name)
		}
	}
	return nil
}

// subject is a model of one node.
type subject struct {
	op     string
	model  *onnxpb.ModelProto
	row    *ops.Row
	opset  int
	inputs map[string]int // of the model, by name
}

// subjectOf is nil where the model is not one node of an operator of the table.
func subjectOf(model *onnxpb.ModelProto) *subject {
	if len(model.Graph.Node) != 1 || len(model.Functions) > 0 {
		return nil
	}
	n := model.Graph.Node[0]
	row := ops.Lookup(n.GetOpType())
	if row == nil || n.GetDomain() != "" || len(n.Input) == 0 {
		return nil
	}
	s := &subject{op: n.GetOpType(), model: model, row: row, inputs: map[string]int{}}
	for _, o := range model.OpsetImport {
		if o.GetDomain() == "" {
			s.opset = int(o.GetVersion())
		}
	}
	for i, v := range model.Graph.Input {
		s.inputs[v.GetName()] = i
	}
	n.Name = proto.String("n_y")
	return s
}

// params are the row's operands in the model's opset.
func (s *subject) params() []ops.Param {
	var out []ops.Param
	for _, p := range s.row.Inputs {
		if s.in(p.Since, p.Until) {
			out = append(out, p)
		}
	}
	return out
}

// bind makes the inputs that decide the model's structure constants, so that the model is right but for what is changed.
func (s *subject) bind(values []*ir.Tensor) {
	n, params := s.model.Graph.Node[0], s.params()
	bound := map[string]bool{}
	for i, name := range n.Input {
		p := params[min(i, len(params)-1)]
		if at, ok := s.inputs[name]; ok && p.Structural && !bound[name] {
			bound[name] = true
			onnxtest.With(s.model, onnxtest.Tensor(name, values[at]))
		}
	}
	s.model.Graph.Input = slices.DeleteFunc(s.model.Graph.Input, func(v *onnxpb.ValueInfoProto) bool { return bound[v.GetName()] })
	s.inputs = map[string]int{}
	for i, v := range s.model.Graph.Input {
		s.inputs[v.GetName()] = i
	}
}

// changed is a copy of the model with one thing wrong.
func (s *subject) changed(change func(m *onnxpb.ModelProto, n *onnxpb.NodeProto)) *onnxpb.ModelProto {
	m := proto.Clone(s.model).(*onnxpb.ModelProto)
	change(m, m.Graph.Node[0])
	return m
}

// in reports whether a row's operand or attribute is of the model's opset.
func (s *subject) in(since, until int) bool {
	v := s.row.Definition(s.opset)
	return v >= since && (until == 0 || v <= until)
}

// setAttr sets an attribute, once.
func setAttr(n *onnxpb.NodeProto, a *onnxpb.AttributeProto) {
	n.Attribute = slices.DeleteFunc(n.Attribute, func(b *onnxpb.AttributeProto) bool { return b.GetName() == a.GetName() })
	n.Attribute = append(n.Attribute, a)
}

// otherKinds are attributes of other kinds than a value's.
func otherKinds(name string, zero any) []*onnxpb.AttributeProto {
	var out []*onnxpb.AttributeProto
	for _, x := range []any{int64(1), float32(1), "text", []int64{1}, []float32{1}, []string{"text"}, onnxtest.Ones("t", 1)} {
		if fmt.Sprintf("%T", x) != fmt.Sprintf("%T", zero) {
			if _, tensor := zero.(*ir.Tensor); tensor && fmt.Sprintf("%T", x) == "*onnxpb.TensorProto" {
				continue
			}
			out = append(out, onnxtest.Attr(name, x))
		}
	}
	return out
}

func (m *maker) wrongAttributes(s *subject) {
	for i, a := range s.row.Attrs {
		if !s.in(a.Since, a.Until) {
			continue
		}
		kinds := otherKinds(a.Name, a.Zero)
		wrong := kinds[(i+int(m.seed))%len(kinds)] // one of the other kinds, which the seed chooses
		model := s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) { setAttr(n, wrong) })
		m.refused(fmt.Sprintf("%s, attribute %s is of %v", s.op, a.Name, wrong.GetType()), model, `"n_y"`, a.Name)
		if i > 0 {
			continue
		}
		model = s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) {
			setAttr(n, onnxtest.Attr(a.Name, int64(1)))
			n.Attribute = append(n.Attribute, n.Attribute[len(n.Attribute)-1])
		})
		m.refused(fmt.Sprintf("%s, attribute %s twice", s.op, a.Name), model, `"n_y"`, a.Name)
	}
	model := s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) { setAttr(n, onnxtest.Attr("hostile", 1)) })
	m.refused(s.op+", an unknown attribute", model, `"n_y"`, "hostile | no attributes")
	model = s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) {
		setAttr(n, &onnxpb.AttributeProto{Name: proto.String("hostile"), RefAttrName: proto.String("outer"), Type: onnxpb.AttributeProto_INT.Enum()})
	})
	m.refused(s.op+", an attribute of no function", model, `"n_y"`, "hostile | no attributes")
}

// otherType is a type that a set does not hold.
func otherType(types []ir.DType, from int) (ir.DType, bool) {
	all := []ir.DType{ir.Bool, ir.F32, ir.I64, ir.U8, ir.F64, ir.I32, ir.U64, ir.F16}
	for i := range all {
		if t := all[(i+from)%len(all)]; !slices.Contains(types, t) {
			return t, true
		}
	}
	return ir.Invalid, false
}

func (m *maker) wrongOperands(s *subject) {
	n := s.model.Graph.Node[0]
	params := s.params()
	for i, p := range params {
		if i >= len(n.Input) || n.Input[i] == "" {
			continue
		}
		at, isInput := s.inputs[n.Input[i]]
		setType := func(t onnxpb.TensorProto_DataType) *onnxpb.ModelProto {
			return s.changed(func(m *onnxpb.ModelProto, _ *onnxpb.NodeProto) {
				m.Graph.Input[at].GetType().GetTensorType().ElemType = proto.Int32(int32(t))
			})
		}
		if wrong, ok := otherType(p.Types, int(m.seed)); ok && isInput && s.model.Graph.Input[at].GetType().GetTensorType() != nil {
			m.refused(fmt.Sprintf("%s, operand %d is %s", s.op, i, wrong), setType(onnxtest.Types[wrong]), `"n_y"`)
		}
		if isInput && s.model.Graph.Input[at].GetType().GetTensorType() != nil {
			for _, t := range []onnxpb.TensorProto_DataType{onnxpb.TensorProto_STRING, onnxpb.TensorProto_COMPLEX64, onnxpb.TensorProto_FLOAT8E4M3FN, onnxpb.TensorProto_UNDEFINED, 12345} {
				if i == 0 && (len(s.op)+int(t))%3 == 0 || t == onnxpb.TensorProto_STRING {
					m.refused(fmt.Sprintf("%s, operand %d is %d", s.op, i, t), setType(t), fmt.Sprintf("%q", n.Input[i]))
				}
			}
		}
		if !p.Optional && !p.Variadic {
			model := s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) { n.Input[i] = "" })
			m.refused(fmt.Sprintf("%s, operand %d is absent", s.op, i), model, `"n_y"`)
		}
	}
	if last := params[len(params)-1]; !last.Variadic && s.op != "If" {
		model := s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) {
			for len(n.Input) < len(params) {
				n.Input = append(n.Input, "")
			}
			n.Input = append(n.Input, n.Input[0])
		})
		m.refused(s.op+", too many operands", model, `"n_y"`)
	}
	none := s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) { n.Input = nil })
	m.refused(s.op+", no operands", none, `"n_y"`)
}

func (m *maker) wrongResults(s *subject) {
	if s.row.MaxOutputs >= 0 {
		model := s.changed(func(_ *onnxpb.ModelProto, n *onnxpb.NodeProto) {
			for i := 0; len(n.Output) <= s.row.MaxOutputs; i++ {
				n.Output = append(n.Output, fmt.Sprint("more", i))
			}
		})
		m.refused(s.op+", too many results", model, `"n_y"`)
	}
	model := s.changed(func(m *onnxpb.ModelProto, n *onnxpb.NodeProto) { n.Output = nil })
	m.refused(s.op+", no results", model, "n_y | output")
	out := s.model.Graph.Output[0]
	if t := out.GetType().GetTensorType(); t != nil {
		other := onnxpb.TensorProto_DOUBLE
		if t.GetElemType() == int32(other) {
			other = onnxpb.TensorProto_FLOAT
		}
		model = s.changed(func(m *onnxpb.ModelProto, _ *onnxpb.NodeProto) {
			m.Graph.Output[0].GetType().GetTensorType().ElemType = proto.Int32(int32(other))
		})
		m.refused(s.op+", a result of another type is declared", model, fmt.Sprintf("%q", out.GetName()))
		model = s.changed(func(m *onnxpb.ModelProto, _ *onnxpb.NodeProto) {
			shape := m.Graph.Output[0].GetType().GetTensorType().Shape
			if shape == nil {
				shape = &onnxpb.TensorShapeProto{}
				m.Graph.Output[0].GetType().GetTensorType().Shape = shape
			}
			for range 7 {
				shape.Dim = append(shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: 1}})
			}
		})
		m.refused(s.op+", a result of another rank is declared", model, fmt.Sprintf("%q", out.GetName()))
	}
	if len(s.model.Graph.Input) == 0 {
		return
	}
	model = s.changed(func(m *onnxpb.ModelProto, _ *onnxpb.NodeProto) { m.Graph.Input[0].Type = nil })
	m.refused(s.op+", an input without a type", model, fmt.Sprintf("%q", s.model.Graph.Input[0].GetName()))
	model = s.changed(func(m *onnxpb.ModelProto, _ *onnxpb.NodeProto) {
		m.Graph.Input[0].Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: &onnxpb.TypeProto_Sequence{ElemType: m.Graph.Input[0].Type}}}
	})
	m.refused(s.op+", an input is a sequence", model, fmt.Sprintf("%q", s.model.Graph.Input[0].GetName()))
}

// refusedAlone is an operator of which no node test is a single node: without operands, and with an unknown attribute.
func (m *maker) refusedAlone(op string) {
	node := onnxtest.Op(op, "x", "y", "hostile", 1)
	model := onnxtest.Model(onnxtest.Floats("x", 2), node)
	model.OpsetImport[0].Version = ptr(int64(24))
	m.refused(op+", an unknown attribute", model, `"n_y"`)
}
