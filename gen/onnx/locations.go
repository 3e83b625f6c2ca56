package onnx

import (
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// ExternalLocations are the files of external data that a model names, in the
// order of their first use.
func ExternalLocations(model *ir.File) ([]string, error) {
	m, _, err := scanModel(model)
	if err != nil {
		return nil, fmt.Errorf("reading ONNX model: %w", err)
	}
	var list []string
	err = eachTensor(m, func(t *onnxpb.TensorProto) error {
		d := externalEntries(t)
		if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL || takenOut(d) {
			return nil
		}
		location, err := CleanLocation(d["location"])
		if err != nil {
			return fmt.Errorf("tensor %s: %w", show(t.GetName()), err)
		}
		if !slices.Contains(list, location) {
			list = append(list, location)
		}
		return nil
	})
	return list, err
}

// eachTensor visits the constants of a model: those of its graph, of the graphs in
// it, and of its functions.
func eachTensor(m *onnxpb.ModelProto, visit func(*onnxpb.TensorProto) error) error {
	v := tensorVisitor(visit)
	for _, f := range m.GetFunctions() {
		if err := v.nodes(f.GetNode()); err != nil {
			return err
		}
	}
	return v.graph(m.GetGraph())
}

type tensorVisitor func(*onnxpb.TensorProto) error

func (v tensorVisitor) tensors(list ...*onnxpb.TensorProto) error {
	for _, t := range list {
		if t == nil {
			continue
		}
		if err := v(t); err != nil {
			return err
		}
	}
	return nil
}

func (v tensorVisitor) graph(g *onnxpb.GraphProto) error {
	if err := v.tensors(g.GetInitializer()...); err != nil {
		return err
	}
	return v.nodes(g.GetNode())
}

func (v tensorVisitor) nodes(list []*onnxpb.NodeProto) error {
	for _, n := range list {
		for _, a := range n.GetAttribute() {
			if err := v.tensors(append(a.GetTensors(), a.GetT())...); err != nil {
				return err
			}
			for _, g := range subgraphs(a) {
				if err := v.graph(g); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func externalEntries(t *onnxpb.TensorProto) map[string]string {
	d := map[string]string{}
	for _, e := range t.GetExternalData() {
		d[e.GetKey()] = e.GetValue()
	}
	return d
}

// takenOut reports by the entries whether a tensor's weights were taken out.
func takenOut(d map[string]string) bool {
	_, seed := d["seed"]
	return d["location"] == randomLocation && seed
}
