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
	// from is the float that is rounded, in steps of scale; "" where the operator has none in
	// between or steps differ.
	from  string
	scale float64
}

// quantized returns the values, other than constants, that nodes of the graph itself quantize.
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

// scalar returns the element of a float32 constant that has only one.
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

// floats returns the elements of a float32 tensor.
func floats(data []byte) []float64 {
	out := make([]float64, len(data)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return out
}

// step returns the distance between neighbouring values of a dequantized output, or 0 if it can
// have any float or steps differ.
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
	// moved is how far the reference's own outputs are away, of their range, when it goes on from
	// ours of the first value that differs; at most one is then not its own.
	moved float64
}

// compareLayers computes each quantized value of the network from the reference's operands, so
// that differences in rounding do not propagate. It prints values that differ and counts wrong
// ones. A value is wrong if elements differ by more than a step, if more than one of 1000 elements
// differs (unless all have the same value), or if the float is not between two steps.
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

// moved returns the difference of the reference's outputs, relative to their range, after a
// quantized value is replaced by another one.
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
