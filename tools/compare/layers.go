package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/tools/check"
)

// quantized is a value of a network that is rounded to a few integers.
type quantized struct {
	name string
	// from is the float that is rounded, in steps of scale; "" where the operator has none in between or steps differ.
	from  string
	scale float64
}

// quantized are the values that nodes of the graph itself quantize, but constants.
func (m *model) quantized() []quantized {
	var out []quantized
	for _, n := range m.graph.Nodes {
		switch {
		case n.Op == "QuantizeLinear" && n.Inputs[0].Const == nil:
			q := quantized{name: n.Outputs[0].Name}
			if scale, ok := scalar(n.Inputs[1]); ok {
				q.from, q.scale = n.Inputs[0].Name, scale
			}
			out = append(out, q)
		case strings.HasPrefix(n.Op, "QLinear"):
			out = append(out, quantized{name: n.Outputs[0].Name})
		}
	}
	return out
}

// scalar is the one element of a constant of float32.
func scalar(v *ir.Value) (float64, bool) {
	if v.Const == nil || v.Const.Len() != 1 || v.Type != ir.F32 {
		return 0, false
	}
	data, err := v.Const.Bytes()
	if err != nil {
		return 0, false
	}
	x := floats(data)[0]
	return x, x > 0
}

// floats are the elements of a tensor of float32.
func floats(data []byte) []float64 {
	out := make([]float64, len(data)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return out
}

// step is how far apart neighbours of an output's elements are that was dequantized; 0: any float, or steps differ.
func step(v *ir.Value) float64 {
	if v.Def == nil || v.Def.Op != "DequantizeLinear" {
		return 0
	}
	scale, _ := scalar(v.Def.Inputs[1])
	return scale
}

// layered is what came of a network's quantized values, each computed from the reference's own.
type layered struct {
	values, differ, wrong int
	share                 float64 // the most elements of a value that differ, as a part of them
	most                  float64 // steps
	// moved is how far the reference's own outputs are away, of their range, when it goes on from ours of the first value that differs; at most one
	// is then not its own.
	moved float64
}

// compareLayers computes each quantized value of the network from the reference's own, so that what is rounded otherwise in one
// layer tells nothing of the next one. It prints where a value differs, and counts those that are wrong: by more than a step, in more than one
// element of a thousand that are not all of one number, or where the float does not lie between two steps.
func compareLayers(o *options, m *model, ref *reference, inputs map[string]*ir.Tensor, work string, out io.Writer) (*layered, error) {
	work = filepath.Join(work, "layers")
	if err := os.MkdirAll(work, 0o777); err != nil {
		return nil, err
	}
	if len(m.external) > 0 {
		return nil, errors.New("layer by layer: want a model whose weights are in its own file")
	}
	x, err := m.layered(o, ref, inputs, work, out)
	if err != nil {
		return nil, fmt.Errorf("layer by layer: %w", err)
	}
	return x, nil
}

func (m *model) layered(o *options, ref *reference, inputs map[string]*ir.Tensor, work string, out io.Writer) (*layered, error) {
	all := m.quantized()
	want, err := m.values(all, ref, inputs, work)
	if err != nil {
		return nil, err
	}
	got, err := m.layers(o, all, want, inputs, work)
	if err != nil {
		return nil, err
	}
	x := &layered{values: len(all)}
	first := ""
	for _, q := range all {
		d, err := q.compare(got[q.name], want)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		if d.differ == 0 {
			continue
		}
		if first == "" {
			first = q.name
		}
		verdict := "rounded otherwise"
		if !d.rounding() {
			verdict = "WRONG"
			x.wrong++
		}
		x.differ++
		x.share, x.most = max(x.share, float64(d.differ)/float64(d.of)), max(x.most, d.most)
		fmt.Fprintf(out, "layer   %s: %s: %s\n", q.name, d, verdict)
	}
	fmt.Fprintf(out, "layers  %d quantized values, each computed from the reference's own: %d equal, %d rounded otherwise in some elements, %d wrong\n",
		x.values, x.values-x.differ, x.differ-x.wrong, x.wrong)
	if first == "" {
		return x, nil
	}
	if x.moved, err = m.moved(first, got[first], ref, want, inputs, work); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "layers  the reference's own outputs are %.3g of their range away when %s alone is ours\n", x.moved, first)
	return x, nil
}

// moved is how far the reference's outputs are from its own, of their range, when it goes on from another one of a quantized value.
func (m *model) moved(name string, value *ir.Tensor, ref *reference, want, inputs map[string]*ir.Tensor, work string) (float64, error) {
	path, err := m.edited(func(g *onnxpb.GraphProto) {
		for _, n := range g.Node {
			for i, x := range n.Input {
				if x == name {
					n.Input[i] = given(x)
				}
			}
		}
		g.Input = append(g.Input, info(given(name), value))
	}, filepath.Join(work, "moved.onnx"))
	if err != nil {
		return 0, err
	}
	with := maps.Clone(inputs)
	with[given(name)] = value
	got, err := ref.values(path, with)
	if err != nil {
		return 0, err
	}
	most := 0.0
	for _, v := range m.graph.Outputs {
		if v.Name == name || want[v.Name] == nil {
			continue
		}
		d, err := check.Compare(got[v.Name], want[v.Name])
		if err != nil {
			return 0, fmt.Errorf("%s: %w", v.Name, err)
		}
		most = max(most, d.Rel())
	}
	return most, nil
}
