package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// compareLayers computes each quantized value of the network from the reference's own, so that what is rounded otherwise in one
// layer tells nothing of the next one. It prints where a value differs, and counts those that are wrong: by more than a step, or
// where the float does not lie between two steps.
func compareLayers(o *options, m *model, ref *reference, inputs map[string]*ir.Tensor, work string, out io.Writer) (int, error) {
	all := m.quantized()
	work = filepath.Join(work, "layers")
	if err := os.MkdirAll(work, 0o777); err != nil {
		return 0, err
	}
	if len(m.external) > 0 {
		return 0, errors.New("layer by layer: want a model whose weights are in its own file")
	}
	want, err := m.values(all, ref, inputs, work)
	if err != nil {
		return 0, fmt.Errorf("layer by layer: %w", err)
	}
	got, err := m.layers(o, all, want, inputs, work)
	if err != nil {
		return 0, fmt.Errorf("layer by layer: %w", err)
	}
	wrong, differ := 0, 0
	for _, q := range all {
		d, err := q.compare(got[q.name], want)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", q.name, err)
		}
		verdict := "rounded otherwise"
		if !d.rounding() {
			verdict = "WRONG"
			wrong++
		}
		if d.differ > 0 {
			differ++
			fmt.Fprintf(out, "layer   %s: %s: %s\n", q.name, d, verdict)
		}
	}
	fmt.Fprintf(out, "layers  %d quantized values, each computed from the reference's own: %d equal, %d rounded otherwise in some elements, %d wrong\n",
		len(all), len(all)-differ, differ-wrong, wrong)
	return wrong, nil
}

// deviation is how a quantized value differs from the reference's.
type deviation struct {
	differ, of int
	most       float64 // steps
	// far is how far from the middle between two steps the floats lie that are rounded otherwise; NaN: they are not known.
	far float64
}

func (d deviation) String() string {
	text := fmt.Sprintf("%d of %d elements differ, by at most %g steps", d.differ, d.of, d.most)
	if !math.IsNaN(d.far) {
		text += fmt.Sprintf(", from floats at most %.1e of a step from the middle between two", d.far)
	}
	return text
}

// rounding reports whether nothing but the order of sums need be another one.
func (d deviation) rounding() bool {
	if math.IsNaN(d.far) {
		return d.most <= 1 && d.differ <= 1+d.of/1000
	}
	return d.most <= 1 && d.far <= border
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
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		d.differ++
		d.most = max(d.most, math.Abs(float64(a[i]-b[i])))
		if from != nil {
			steps := from[i] / q.scale
			d.far = max(d.far, math.Abs(steps-math.Floor(steps)-0.5))
		}
	}
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
