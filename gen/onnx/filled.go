package onnx

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Fill gives a model whose weights were taken out weights by the formula of
// Options.Fill. All else stays as it is, so that other engines can be asked
// about the same model.
func Fill(model []byte) ([]byte, error) {
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(model, m); err != nil {
		return nil, fmt.Errorf("filling ONNX model: %w (is the file an ONNX model?)", err)
	}
	bytes := int64(0)
	err := eachTensor(m, func(t *onnxpb.TensorProto) error {
		if err := fillTensor(t); err != nil {
			return fmt.Errorf("filling tensor %s: %w", show(t.GetName()), err)
		}
		if bytes += int64(len(t.RawData)); bytes > math.MaxInt32 {
			return fmt.Errorf("filling ONNX model: its weights have more than 2 GB, which one file cannot hold")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

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
		location, err := cleanLocation(d["location"])
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

// takenOut tells by the entries whether a tensor's weights were taken out.
func takenOut(d map[string]string) bool {
	_, seed := d["seed"]
	return d["location"] == randomLocation && seed
}

func fillTensor(t *onnxpb.TensorProto) error {
	d := externalEntries(t)
	if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL || !takenOut(d) {
		return nil
	}
	typ, err := elementType(t.GetDataType())
	if err != nil {
		return err
	}
	n, err := ir.Len(t.GetDims())
	if err != nil {
		return err
	}
	if n > math.MaxInt32/int64(typ.Size()) {
		return fmt.Errorf("shape %v has more than 2 GB, which one file cannot hold", t.GetDims())
	}
	r, err := newRandomWeights(d, typ, n*int64(typ.Size()))
	if err != nil {
		return err
	}
	t.RawData = make([]byte, r.size)
	t.ExternalData, t.DataLocation = nil, nil
	_, err = r.ReadAt(t.RawData, 0)
	return err
}
