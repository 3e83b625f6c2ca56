package masks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"rules_dnn/gen/base/jsonfile"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/safetensors"
	"rules_dnn/gen/kernel/fkw"
)

// Format is the value of the metadata's entry "format".
const Format = "rules_dnn masks 1"

// Keys of the metadata.
const (
	formatKey = "format"
	layersKey = "layers"
)

// head is what the metadata say of a layer.
type head struct {
	Name       string   `json:"name"`
	Shape      []int64  `json:"shape"`
	FilterAxis int      `json:"filter_axis"`
	Groups     int      `json:"groups"`
	Patterns   []string `json:"patterns"`
	Share      int      `json:"share"`
	Packed     bool     `json:"packed,omitempty"`
}

// Write writes masks, which must be valid.
func Write(w io.Writer, s *Set) error {
	if err := s.Verify(); err != nil {
		return fmt.Errorf("writing masks: %w", err)
	}
	heads := []head{}
	f := &safetensors.File{}
	for _, l := range s.Layers {
		h := head{Name: l.Name, Shape: l.Shape, FilterAxis: l.FilterAxis, Groups: l.Groups, Share: l.Share, Packed: l.Packed}
		for _, p := range l.Patterns {
			h.Patterns = append(h.Patterns, strconv.FormatUint(uint64(p), 16))
		}
		heads = append(heads, h)
		t := &ir.Tensor{Type: ir.U8, Shape: []int64{int64(l.Filters()), int64(l.Channels())}, Data: l.Kernels}
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: l.Name, Tensor: t})
	}
	text, err := json.Marshal(heads)
	if err != nil {
		return fmt.Errorf("writing masks: %w", err)
	}
	f.Metadata = map[string]string{formatKey: Format, layersKey: string(text)}
	return safetensors.Write(w, f)
}

// Read reads and verifies masks.
func Read(file *ir.File) (*Set, error) {
	f, err := safetensors.Read(file)
	if err != nil {
		return nil, fmt.Errorf("reading masks: %w", err)
	}
	s, err := fromFile(f)
	if err == nil {
		err = s.Verify()
	}
	if err != nil {
		return nil, fmt.Errorf("reading masks: %w", err)
	}
	return s, nil
}

func fromFile(f *safetensors.File) (*Set, error) {
	if x := f.Metadata[formatKey]; x != Format {
		return nil, fmt.Errorf("the metadata's %q is %s; want %q", formatKey, ir.Show(x), Format)
	}
	heads, err := parseHeads(f.Metadata[layersKey])
	if err != nil {
		return nil, fmt.Errorf("the metadata's %q: %w", layersKey, err)
	}
	if len(heads) != len(f.Tensors) {
		return nil, fmt.Errorf("the metadata's %q has %d layers; the file has %d tensors", layersKey, len(heads), len(f.Tensors))
	}
	tensors := map[string]*ir.Tensor{}
	for _, t := range f.Tensors {
		tensors[t.Name] = t.Tensor
	}
	s := &Set{}
	for _, h := range heads {
		l, err := h.layer(tensors[h.Name])
		if err != nil {
			return nil, fmt.Errorf("mask of %s: %w", ir.Show(h.Name), err)
		}
		s.Layers = append(s.Layers, l)
	}
	return s, nil
}

func parseHeads(text string) ([]head, error) {
	var heads []head
	if err := jsonfile.Parse([]byte(text), &heads); err != nil {
		return nil, err
	}
	return heads, nil
}

// layer makes a layer of what the metadata say and its tensor. What makes no sense Verify refuses.
func (h *head) layer(t *ir.Tensor) (*Layer, error) {
	l := &Layer{Name: h.Name, Shape: h.Shape, FilterAxis: h.FilterAxis, Groups: h.Groups, Share: h.Share, Packed: h.Packed}
	for _, text := range h.Patterns {
		p, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a pattern; want its taps as bits, in hexadecimal", ir.Show(text))
		}
		l.Patterns = append(l.Patterns, fkw.Pattern(p))
	}
	if err := l.verifyAxes(); err != nil {
		return nil, err
	}
	switch want := []int64{h.Shape[h.FilterAxis], h.Shape[1-h.FilterAxis]}; {
	case t == nil:
		return nil, errors.New("the file has no tensor of this name")
	case t.Type != ir.U8:
		return nil, fmt.Errorf("the tensor has type %s; want U8", t.Type)
	case !slices.Equal(t.Shape, want):
		return nil, fmt.Errorf("the tensor has shape %v; want [filters, channels], which are %v", t.Shape, want)
	}
	var err error
	l.Kernels, err = t.Bytes()
	return l, err
}
