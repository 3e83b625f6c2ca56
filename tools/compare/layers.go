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
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

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

// border is how far, in steps, from the middle between two steps a float may lie that is rounded to either of them: sums of floats
// in another order differ by less.
const border = 1e-3

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

// deviation is how a quantized value differs from the reference's.
type deviation struct {
	differ, of int
	most       float64 // steps
	// far is how far from the middle between two steps the floats lie that are rounded otherwise; NaN: they are not known.
	far float64
	// one is that all of them are one number, as a function of 256 numbers has in many elements.
	one bool
}

func (d deviation) String() string {
	text := fmt.Sprintf("%d of %d elements differ, by at most %g steps", d.differ, d.of, d.most)
	if !math.IsNaN(d.far) {
		text += fmt.Sprintf(", from floats at most %.1e of a step from the middle between two", d.far)
	}
	if d.one {
		text += ", all of them one number"
	}
	return text
}

// rounding reports whether nothing but the order of sums, or the last digits of a function, need be another one: some elements, of a thousand one at
// most or those of one number, are a step away, where the float lies between two.
func (d deviation) rounding() bool {
	return d.most <= 1 && (d.one || d.differ <= max(1, d.of/1000)) && !(d.far > border)
}

func (q quantized) compare(got *ir.Tensor, all map[string]*ir.Tensor) (deviation, error) {
	want := all[q.name]
	if got == nil || want == nil || got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) {
		return deviation{}, errors.New("it is missing, or of another type or shape than the reference's")
	}
	a, err := got.Ints()
	if err != nil {
		return deviation{}, err
	}
	b, err := want.Ints()
	if err != nil {
		return deviation{}, err
	}
	d := deviation{of: len(a)}
	var from []float64
	if x := all[q.from]; x != nil && x.Type == ir.F32 && int(x.Len()) == len(a) {
		from = floats(x.Data)
	} else {
		d.far = math.NaN()
	}
	numbers := map[float64]bool{}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		d.differ++
		d.most = max(d.most, math.Abs(float64(a[i]-b[i])))
		if from != nil {
			steps := from[i] / q.scale
			d.far = max(d.far, math.Abs(steps-math.Floor(steps)-0.5))
			numbers[from[i]] = true
		}
	}
	d.one = d.differ > 1 && len(numbers) == 1
	return d, nil
}

// values are the reference's of all that is quantized, and of what is rounded there.
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

// given is the name of the input from which those read a quantized value that are computed of it.
func given(name string) string { return name + "/given" }

// layers are the quantized values, each computed by the compiled program from those that are given.
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
	built, err := build(&own, cut, chips, work)
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
