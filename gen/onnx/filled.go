package onnx

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/base/limit"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// mostInModel is how many bytes of weights Fill leaves in the model. Its format ends at 2 GB, and whoever reads it
// holds all of it.
const mostInModel = 1 << 30

// dataAlign is the alignment of weights in a file of external data: pages, so that they can be mapped.
const dataAlign = 4096

// Filled is a model with weights, which are in the model or in a file beside it.
type Filled struct {
	Model []byte
	// External says that weights are in the file of external data.
	External bool
	weights  []placed
}

// placed are weights and where they are in the file of external data.
type placed struct {
	name    string
	weights *randomWeights
	offset  int64
}

// Fill gives a model whose weights were taken out weights by the formula of Options.Fill. All else stays as it is, so
// that other engines can be asked about the same model. More of them than a model can hold go to a file of external data,
// which the model calls location; all do where always says so.
func Fill(model []byte, location string, always bool) (*Filled, error) {
	most := int64(mostInModel)
	if always {
		most = -1
	}
	return fillUpTo(model, location, most)
}

func fillUpTo(model []byte, location string, most int64) (*Filled, error) {
	m := &onnxpb.ModelProto{}
	err := proto.Unmarshal(model, m)
	if err == nil && m.Graph == nil {
		err = errNoGraph
	}
	if err != nil {
		return nil, fmt.Errorf("filling ONNX model: %w", explain(&ir.File{R: bytes.NewReader(model), Size: int64(len(model))}, err))
	}
	size := int64(len(model))
	err = eachTensor(m, func(t *onnxpb.TensorProto) error {
		r, err := weightsFor(t)
		if err == nil && r != nil && r.size > limit.Tensor-size {
			err = fmt.Errorf("the weights have more than %d bytes, which is the limit", int64(limit.Tensor))
		}
		if err != nil {
			return fmt.Errorf("filling tensor %s: %w", show(t.GetName()), err)
		}
		if r != nil {
			size += r.size
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := &Filled{External: size > most}
	offset := int64(0)
	err = eachTensor(m, func(t *onnxpb.TensorProto) error {
		r, err := weightsFor(t)
		if err != nil || r == nil {
			return err
		}
		if f.External {
			offset += -offset & (dataAlign - 1)
			f.weights = append(f.weights, placed{t.GetName(), r, offset})
			setEntries(t, location, offset, r.size)
			offset += r.size
			return nil
		}
		t.ExternalData, t.DataLocation = nil, nil
		t.RawData = make([]byte, r.size)
		_, err = r.ReadAt(t.RawData, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.External = len(f.weights) > 0
	f.Model, err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return f, err
}

func setEntries(t *onnxpb.TensorProto, location string, offset, length int64) {
	t.ExternalData = nil
	for _, e := range [][2]string{{"location", location}, {"offset", strconv.FormatInt(offset, 10)}, {"length", strconv.FormatInt(length, 10)}} {
		t.ExternalData = append(t.ExternalData, &onnxpb.StringStringEntryProto{Key: proto.String(e[0]), Value: proto.String(e[1])})
	}
}

// WriteData writes the file of external data.
func (f *Filled) WriteData(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<20)
	at := int64(0)
	for _, p := range f.weights {
		if _, err := w.Write(make([]byte, p.offset-at)); err != nil {
			return err
		}
		if _, err := io.Copy(w, io.NewSectionReader(p.weights, 0, p.weights.size)); err != nil {
			return fmt.Errorf("filling tensor %s: %w", show(p.name), err)
		}
		at = p.offset + p.weights.size
	}
	return w.Flush()
}

// weightsFor are the weights of a tensor whose own were taken out; nil: it has its own.
func weightsFor(t *onnxpb.TensorProto) (*randomWeights, error) {
	d := externalEntries(t)
	if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL || !takenOut(d) {
		return nil, nil
	}
	typ, err := elementType(t.GetDataType())
	if err != nil {
		return nil, err
	}
	n, err := ir.Len(t.GetDims())
	if err != nil {
		return nil, err
	}
	if n > limit.Tensor/int64(typ.Size()) {
		return nil, fmt.Errorf("the shape %v has more than %d bytes, which is the limit of a tensor", t.GetDims(), int64(limit.Tensor))
	}
	return newRandomWeights(d, typ, n*int64(typ.Size()))
}
