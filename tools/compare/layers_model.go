package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/tools/check"
)

// values returns the reference's quantized values and their operands before rounding.
func (m *model) values(all []quantized, ref *reference, inputs map[string]*ir.Tensor, work string) (map[string]*ir.Tensor, error) {
	full, err := m.edited(func(g *onnxpb.GraphProto) {
		has := map[string]bool{}
		for _, v := range slices.Concat(g.Input, g.Output) {
			has[v.GetName()] = true
		}
		for _, q := range all {
			for _, name := range []string{q.name, q.from} {
				if name != "" && !has[name] {
					has[name] = true
					g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(name)})
				}
			}
		}
	}, filepath.Join(work, "all.onnx"))
	if err != nil {
		return nil, err
	}
	want, err := ref.values(full, inputs)
	if err != nil {
		return nil, err
	}
	for name, t := range inputs {
		want[name] = t
	}
	return want, nil
}

// given returns the name of the input from which the readers of a quantized value read it.
func given(name string) string { return name + "/given" }

// layers returns the quantized values that the compiled program computes, each from the given
// ones.
func (m *model) layers(o *options, all []quantized, want, inputs map[string]*ir.Tensor, work string) (map[string]*ir.Tensor, error) {
	is := map[string]bool{}
	for _, q := range all {
		is[q.name] = true
	}
	path, err := m.edited(func(g *onnxpb.GraphProto) {
		read := map[string]bool{}
		for _, n := range g.Node {
			for i, x := range n.Input {
				if is[x] {
					n.Input[i] = given(x)
					read[x] = true
				}
			}
		}
		g.Output = nil
		for _, q := range all {
			g.Output = append(g.Output, info(q.name, want[q.name]))
			if read[q.name] {
				g.Input = append(g.Input, info(given(q.name), want[q.name]))
			}
		}
	}, filepath.Join(work, "layers.onnx"))
	if err != nil {
		return nil, err
	}
	own := *o
	own.model, own.fill = path, false
	cut, err := open(&own, work)
	if err != nil {
		return nil, err
	}
	chips, err := chooseChips(&own, work)
	if err != nil {
		return nil, err
	}
	built, err := makeProgram(&own, cut, chips, work)
	if err != nil {
		return nil, err
	}
	s, err := check.Start(work, o.threads, built.command...)
	if err != nil {
		return nil, err
	}
	in := map[string]*ir.Tensor{}
	for _, v := range cut.graph.Inputs {
		if in[v.Name] = inputs[v.Name]; in[v.Name] == nil {
			in[v.Name] = want[strings.TrimSuffix(v.Name, given(""))]
		}
	}
	got, err := s.Run(in)
	return got, errors.Join(err, s.Close())
}

// edited writes a changed copy of the model.
func (m *model) edited(change func(*onnxpb.GraphProto), path string) (string, error) {
	data, err := os.ReadFile(m.path)
	if err != nil {
		return "", err
	}
	var x onnxpb.ModelProto
	if err := proto.Unmarshal(data, &x); err != nil {
		return "", fmt.Errorf("%s: %w", m.path, err)
	}
	change(x.Graph)
	if data, err = proto.Marshal(&x); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o666)
}

// info declares a value of a tensor's type and shape.
func info(name string, t *ir.Tensor) *onnxpb.ValueInfoProto {
	types := map[ir.DType]onnxpb.TensorProto_DataType{ir.U8: onnxpb.TensorProto_UINT8, ir.I8: onnxpb.TensorProto_INT8,
		ir.U16: onnxpb.TensorProto_UINT16, ir.I16: onnxpb.TensorProto_INT16}
	shape := &onnxpb.TensorShapeProto{}
	for _, d := range t.Shape {
		shape.Dim = append(shape.Dim, &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
	}
	tensor := &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(types[t.Type])), Shape: shape}
	return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: tensor}}}
}
