package onnx

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

const (
	producer      = "rules_dnn"
	externalAlign = 4096 // what ONNX recommends, so that files can be mapped
)

// Numbers of fields that Write streams.
const (
	modelGraph       = 7 // ModelProto.graph
	graphInitializer = 5 // GraphProto.initializer
)

// Write writes the graph as an ONNX model that holds its weights, which are read
// a part at a time. Nodes must be ONNX operators of the graph's opset. Names stay
// as they are but for those that are taken. Bounds of symbols and known types of
// inner values are not written: options and shape inference give them again.
// ONNX's checker wants a shape for every output, so infer shapes before.
func Write(w io.Writer, g *ir.Graph) error { return write(w, nil, "", g) }

// WriteExternal writes the graph as an ONNX model whose large weights go to data,
// a file that the model calls location: models over 2 GB need that.
func WriteExternal(w, data io.Writer, location string, g *ir.Graph) error {
	clean, err := CleanLocation(location)
	if err != nil {
		return fmt.Errorf("writing ONNX model: %w", err)
	}
	return write(w, data, clean, g)
}

func write(w, data io.Writer, location string, g *ir.Graph) error {
	if err := ir.Verify(g); err != nil {
		return fmt.Errorf("writing ONNX model: %w", err)
	}
	m, err := exportModel(g)
	if err != nil {
		return fmt.Errorf("writing ONNX model of graph %s: %w", show(g.Name), err)
	}
	m.external(data != nil, location)
	if err := m.write(w, data); err != nil {
		return fmt.Errorf("writing ONNX model: %w", err)
	}
	return nil
}

// file is a model in parts: the messages without weights, and the weights.
type file struct {
	head, graph []byte // ModelProto without its graph, GraphProto without initializers
	weights     []weight
}

// weight is an initializer: its TensorProto without elements, and these.
type weight struct {
	head   *onnxpb.TensorProto
	tensor *ir.Tensor
	bytes  []byte // of head
	offset int64  // in the external file, -1 for a weight within the model
}

func exportModel(g *ir.Graph) (*file, error) {
	if err := checkOpset(g.Opset); err != nil {
		return nil, err
	}
	e := &exporter{opset: g.Opset, names: map[*ir.Value]string{}}
	gp, err := e.model(g)
	if err != nil {
		return nil, err
	}
	m := &file{weights: e.weights}
	imports := []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(int64(g.Opset))}}
	if e.microsoft {
		imports = append(imports, &onnxpb.OperatorSetIdProto{Domain: proto.String(microsoft), Version: proto.Int64(1)})
	}
	head := &onnxpb.ModelProto{
		IrVersion:    proto.Int64(max(4, irVersions[g.Opset])), // before 4 initializers had to be inputs
		ProducerName: proto.String(producer),
		OpsetImport:  imports,
	}
	if m.head, err = proto.Marshal(head); err != nil {
		return nil, err
	}
	m.graph, err = proto.Marshal(gp)
	return m, err
}

func (t *weight) size() int64 { return t.tensor.Len() * int64(t.tensor.Type.Size()) }

// external places the large weights in the external file, if there is one.
func (m *file) external(use bool, location string) {
	at := int64(0)
	for i := range m.weights {
		t := &m.weights[i]
		t.offset = -1
		if !use || t.tensor.Len() <= inlineLimit {
			continue
		}
		t.offset = (at + externalAlign - 1) / externalAlign * externalAlign
		at = t.offset + t.size()
		t.head.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		for _, kv := range [][2]string{{"location", location},
			{"offset", strconv.FormatInt(t.offset, 10)}, {"length", strconv.FormatInt(t.size(), 10)}} {
			t.head.ExternalData = append(t.head.ExternalData,
				&onnxpb.StringStringEntryProto{Key: proto.String(kv[0]), Value: proto.String(kv[1])})
		}
	}
}

// write writes the model and the external file.
func (m *file) write(w, data io.Writer) error {
	graph := int64(len(m.graph))
	for i := range m.weights {
		t := &m.weights[i]
		b, err := proto.Marshal(t.head)
		if err != nil {
			return err
		}
		if t.offset < 0 {
			b = protowire.AppendTag(b, fieldRaw, protowire.BytesType)
			b = protowire.AppendVarint(b, uint64(t.size()))
		}
		t.bytes = b
		graph += int64(len(t.prefix())) + int64(len(b)) + t.inside()
	}
	head := protowire.AppendTag(m.head, modelGraph, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(graph))
	if int64(len(head))+graph > math.MaxInt32 {
		return fmt.Errorf("the model has %d bytes; one file has at most 2 GB, so its weights need a file of external data", int64(len(head))+graph)
	}
	if err := writeAll(w, head, m.graph); err != nil {
		return err
	}
	return m.writeWeights(w, data)
}

// inside is the size of the elements within the model.
func (t *weight) inside() int64 {
	if t.offset >= 0 {
		return 0
	}
	return t.size()
}

// prefix is the tag and length before the initializer.
func (t *weight) prefix() []byte {
	b := protowire.AppendTag(nil, graphInitializer, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(int64(len(t.bytes))+t.inside()))
}

func (m *file) writeWeights(w, data io.Writer) error {
	at := int64(0)
	for i := range m.weights {
		t := &m.weights[i]
		if err := writeAll(w, t.prefix(), t.bytes); err != nil {
			return err
		}
		to := w
		if t.offset >= 0 {
			to = data
			if err := writeAll(to, make([]byte, t.offset-at)); err != nil {
				return err
			}
			at = t.offset + t.size()
		}
		if _, err := t.tensor.WriteTo(to); err != nil {
			return fmt.Errorf("weight %s: %w", show(t.head.GetName()), err)
		}
	}
	return nil
}

func writeAll(w io.Writer, parts ...[]byte) error {
	for _, b := range parts {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
