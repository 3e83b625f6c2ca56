// Package samples reads inputs of networks that calibration runs them on.
package samples

import (
	"errors"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/safetensors"
)

// Input is one input of a network: its tensors by name.
type Input map[string]*ir.Tensor

// batch is how many images are in an input of a network that takes any number.
const batch = 8

// Bounds of what is calibrated with.
const (
	maxInputs = 1 << 14
	maxBytes  = 1 << 30
)

// Read reads a safetensors file that has a tensor for each of a graph's inputs, of the input's shape but for the first
// dimension: of that there may be more, which are several inputs.
func Read(g *ir.Graph, file *ir.File) ([]Input, error) {
	if file.Size > maxBytes {
		return nil, fmt.Errorf("inputs of %d bytes; at most %d are supported", file.Size, int64(maxBytes))
	}
	f, err := safetensors.Read(file)
	if err != nil {
		return nil, err
	}
	if len(g.Inputs) == 0 {
		return nil, errors.New("the model has no inputs")
	}
	tensors := len(f.Tensors)
	if hasLabels(g, f) {
		tensors--
	}
	if tensors != len(g.Inputs) {
		return nil, fmt.Errorf("the file has %d tensors; the model has %d inputs, the first %s", tensors, len(g.Inputs), ir.Show(g.Inputs[0].Name))
	}
	var out []Input
	for i, v := range g.Inputs {
		t := f.Tensor(v.Name)
		if t == nil {
			return nil, fmt.Errorf("the file has no tensor %s, which is an input of the model", ir.Show(v.Name))
		}
		parts, err := split(v, t)
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", ir.Show(v.Name), err)
		}
		if i == 0 {
			out = make([]Input, len(parts))
			for k := range out {
				out[k] = Input{}
			}
		}
		if len(parts) != len(out) {
			return nil, fmt.Errorf("tensor %s has %d inputs; tensor %s has %d", ir.Show(v.Name), len(parts), ir.Show(g.Inputs[0].Name), len(out))
		}
		for k, p := range parts {
			out[k][v.Name] = p
		}
	}
	return out, nil
}

// labels is the tensor that says what images are of.
const labels = "labels"

// hasLabels reports whether a file has labels beside a graph's inputs.
func hasLabels(g *ir.Graph, f *safetensors.File) bool {
	return f.Tensor(labels) != nil && !slices.ContainsFunc(g.Inputs, func(v *ir.Value) bool { return v.Name == labels })
}

// Labels are the classes of a file's images, in their order: an integer tensor "labels" beside the inputs; nil where there is none.
func Labels(g *ir.Graph, file *ir.File) ([]int64, error) {
	f, err := safetensors.Read(file)
	if err != nil || !hasLabels(g, f) {
		return nil, err
	}
	t := f.Tensor(labels)
	if !t.Type.IsInteger() || len(t.Shape) != 1 {
		return nil, fmt.Errorf("tensor %s has type %s and shape %v; want integers and one dimension", labels, t.Type, t.Shape)
	}
	if images := f.Tensor(g.Inputs[0].Name); images != nil && len(images.Shape) > 0 && images.Shape[0] != t.Shape[0] {
		return nil, fmt.Errorf("%d labels for %d images", t.Shape[0], images.Shape[0])
	}
	return t.Ints()
}

// Labelled are a file's inputs, and its labels if it has some.
func Labelled(g *ir.Graph, file *ir.File) ([]Input, []int64, error) {
	inputs, err := Read(g, file)
	if err != nil {
		return nil, nil, err
	}
	classes, err := Labels(g, file)
	return inputs, classes, err
}

// split makes inputs of a tensor, each of which has as many images as the model takes.
func split(v *ir.Value, t *ir.Tensor) ([]*ir.Tensor, error) {
	switch {
	case t.Type != v.Type:
		return nil, fmt.Errorf("type %s; the model wants %s", t.Type, v.Type)
	case v.HasShape && len(v.Shape) == 0:
		return nil, errors.New("the model wants one number; only inputs with a first dimension, for several samples, are supported")
	case !v.HasShape || len(t.Shape) != len(v.Shape):
		return nil, fmt.Errorf("shape %v; the model wants %v", t.Shape, v.Shape)
	}
	for i, d := range v.Shape[1:] {
		if c, ok := d.Const(); ok && c != t.Shape[i+1] {
			return nil, fmt.Errorf("shape %v; the model wants %v, or a multiple of the first dimension", t.Shape, v.Shape)
		}
	}
	each, fixed := v.Shape[0].Const()
	if !fixed {
		each = batch
	}
	n := t.Shape[0]
	switch {
	case n == 0 || each == 0 || t.Len() == 0:
		return nil, errors.New("it has no elements")
	case fixed && n%each != 0:
		return nil, fmt.Errorf("its first dimension is %d; want a multiple of %d", n, each)
	case n/each >= maxInputs:
		return nil, fmt.Errorf("%d inputs; at most %d are supported", n/each, maxInputs)
	}
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	image := int64(len(data)) / n
	var out []*ir.Tensor
	for at := int64(0); at < n; at += each {
		count := min(each, n-at)
		shape := append([]int64{count}, t.Shape[1:]...)
		out = append(out, &ir.Tensor{Type: t.Type, Shape: shape, Data: data[at*image : (at+count)*image]})
	}
	return out, nil
}
