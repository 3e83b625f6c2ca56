package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
)

// Places are where the elements of constants lie, by the constants' names: initializers of the model's graph, or results of its Constant nodes.
// They are ranges of the model's file (called "") or of a file of external data (called as Read calls it) that hold the elements as
// memory does, and that no other constant shares: who writes other bytes there changes these constants and nothing else.
// A constant that has no such place is an error of its own.
func Places(model *ir.File, external map[string]*ir.File) (func(name string) (*ir.Source, error), error) {
	m, payloads, err := scanModel(model)
	if err != nil {
		return nil, fmt.Errorf("reading ONNX model: %w", err)
	}
	im, err := newImporter(m, payloads, model, external, Options{})
	if err != nil {
		return nil, fmt.Errorf("reading ONNX model: %w", err)
	}
	p := &places{im: im, named: map[string]*onnxpb.TensorProto{}}
	p.name(m.Graph)
	if err := eachTensor(m, p.note); err != nil {
		return nil, fmt.Errorf("reading ONNX model: %w", err)
	}
	return p.of, nil
}

// places finds where constants lie.
type places struct {
	im    *importer
	named map[string]*onnxpb.TensorProto
	// ranges are those of all external tensors, of which several may be the same.
	ranges []tensorRange
}

// tensorRange is a tensor's range of a file of external data.
type tensorRange struct {
	tensor *onnxpb.TensorProto
	source *ir.Source
}

// name notes the constants of the model's graph.
func (p *places) name(g *onnxpb.GraphProto) {
	for _, t := range g.GetInitializer() {
		p.named[t.GetName()] = t
	}
	for _, n := range g.GetNode() {
		if n.GetOpType() != "Constant" || domain(n.GetDomain()) != "" || len(n.GetOutput()) != 1 {
			continue
		}
		for _, a := range n.GetAttribute() {
			if a.GetName() == "value" && a.GetT() != nil {
				p.named[n.GetOutput()[0]] = a.GetT()
			}
		}
	}
}

// note keeps the ranges of external tensors. What is wrong with them importing the model reports.
func (p *places) note(t *onnxpb.TensorProto) error {
	if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
		return nil
	}
	if s, err := p.source(t); err == nil && s != nil {
		p.ranges = append(p.ranges, tensorRange{t, s})
	}
	return nil
}

// source is the range of a tensor's elements.
func (p *places) source(t *onnxpb.TensorProto) (*ir.Source, error) {
	typ, err := elementType(t.GetDataType())
	if err != nil {
		return nil, err
	}
	if isNibble(t.GetDataType()) {
		return nil, errors.New("its elements have 4 bits and share bytes")
	}
	n, err := ir.Len(t.GetDims())
	if err != nil {
		return nil, err
	}
	if t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		if p.im.isRandom(externalEntries(t)) {
			return nil, errors.New("its elements were removed from the model")
		}
		return p.im.external(t, typ, n)
	}
	from, err := p.im.tensorPayload(t)
	if err != nil {
		return nil, err
	}
	verbatim := from != nil && (from.field == fieldRaw || from.field == typedField(typ) && typ.IsFloat() && typ.Size() >= 4)
	switch {
	case n == 0:
		return nil, errors.New("it has no elements")
	case !verbatim || from.parts != 1 || from.other != 0:
		return nil, errors.New("its elements are not stored as raw_data; save the model again with the onnx package, which stores raw_data")
	}
	x := &ir.Tensor{Type: typ, Shape: t.GetDims()}
	return &ir.Source{File: p.im.file, Offset: from.at, Length: from.bytes}, p.im.verbatim(x, from, n*int64(typ.Size()))
}

// of is the place of a constant.
func (p *places) of(name string) (*ir.Source, error) {
	t := p.named[name]
	if t == nil {
		return nil, fmt.Errorf("constant %s: it is neither an initializer of the model's graph nor the tensor of a Constant node there (is it within a function?)", show(name))
	}
	s, err := p.source(t)
	if err != nil {
		return nil, fmt.Errorf("constant %s: %w", show(name), err)
	}
	for _, other := range p.ranges {
		if other.tensor != t && overlap(other.source, s) {
			return nil, fmt.Errorf("constant %s: it shares bytes of the file %s with constant %s; store each separately", show(name), show(s.File.Name), show(other.tensor.GetName()))
		}
	}
	return s, nil
}

func overlap(a, b *ir.Source) bool {
	return a.File == b.File && a.Offset < b.Offset+b.Length && b.Offset < a.Offset+a.Length
}

// WriteChanged writes a file with other bytes at places of some length, and all else as it is. Changes are by their sources, which
// must be of this file.
func WriteChanged(w io.Writer, file *ir.File, changes map[*ir.Source][]byte) error {
	order := slices.SortedFunc(maps.Keys(changes), func(a, b *ir.Source) int { return cmp.Compare(a.Offset, b.Offset) })
	at := int64(0)
	for _, s := range order {
		if s.Offset < at || int64(len(changes[s])) != s.Length || s.Offset+s.Length > file.Size {
			return fmt.Errorf("a change of %d bytes at offset %d of the file %s, which has %d bytes, of them %d written", len(changes[s]), s.Offset, show(file.Name), file.Size, at)
		}
		if _, err := io.Copy(w, io.NewSectionReader(file.R, at, s.Offset-at)); err != nil {
			return err
		}
		if _, err := w.Write(changes[s]); err != nil {
			return err
		}
		at = s.Offset + s.Length
	}
	_, err := io.Copy(w, io.NewSectionReader(file.R, at, file.Size-at))
	return err
}
