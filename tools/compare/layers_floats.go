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

// floatLayers is what came of the values that blocks of a network of floats compute.
type floatLayers struct {
	values, compared int
	// first is the first value, in the program's order, that is farther from the reference's than
	// the tolerance; nil: none is.
	first *check.BlockValue
}

// compareFloats runs the network again, compiled to report the results of its blocks, and compares
// each value with a name in the model with the reference. It prints the values that differ too
// much; the first one names the block with the error.
func compareFloats(o *options, m *model, ref *reference, inputs map[string]*ir.Tensor, work string, out io.Writer) (*floatLayers, error) {
	x, err := m.floatLayers(o, ref, inputs, filepath.Join(work, "observed"), out)
	if err != nil {
		return nil, fmt.Errorf("layer by layer: %w", err)
	}
	return x, nil
}

// compareFloatLayers implements compareFloats for programs whose blocks can report their results.
func compareFloatLayers(o *options, m *model, s served, ref *reference, inputs map[string]*ir.Tensor, work string, out io.Writer) error {
	if _, dsp := s.(*emulated); dsp || len(m.quantized()) > 0 || o.list != "" {
		return errors.New("--layers: want a model with quantized values and ONNX Runtime as the reference, or one of floats alone, without --list, on a processor or an OpenCL device")
	}
	_, err := compareFloats(o, m, ref, inputs, work, out)
	return err
}

func (m *model) floatLayers(o *options, ref *reference, inputs map[string]*ir.Tensor, work string, out io.Writer) (*floatLayers, error) {
	if err := os.MkdirAll(work, 0o777); err != nil {
		return nil, err
	}
	got, err := m.observed(o, inputs, work)
	if err != nil {
		return nil, err
	}
	m.nameAsGiven(got, o.precision)
	want, err := m.named(got, ref, inputs, work)
	if err != nil {
		return nil, err
	}
	x := &floatLayers{values: len(got)}
	far := 0
	for i, v := range got {
		w := want[v.Name]
		if w == nil {
			continue
		}
		x.compared++
		d, err := check.Compare(widened(v.Tensor, w), w)
		if err == nil && d.Rel() <= o.tolerance {
			continue
		}
		if far++; x.first == nil {
			x.first = &got[i]
		}
		if far > mostPrinted {
			continue
		}
		what := fmt.Sprintf("largest error %.3g absolute, %.3g of the range %.4g: element %d is %g, want %g", d.Abs, d.Rel(), d.Range, d.At, d.Got, d.Want)
		if err != nil {
			what = err.Error()
		}
		fmt.Fprintf(out, "layer   %s, of the block %s (%s): %s\n", v.Name, v.Nodes, v.Kernel, what)
	}
	fmt.Fprintf(out, "layers  %d values of blocks, %d of them in the model: %d are farther from the reference than %g of their range", x.values, x.compared, far, o.tolerance)
	if x.first != nil {
		fmt.Fprintf(out, "; the first is %s, of the block %s", x.first.Name, x.first.Nodes)
	}
	fmt.Fprintln(out)
	return x, nil
}

// mostPrinted is how many values are printed that are too far: the first ones tell.
const mostPrinted = 10

// observed returns the results of blocks in the program's order.
func (m *model) observed(o *options, inputs map[string]*ir.Tensor, work string) ([]check.BlockValue, error) {
	chips, err := chooseChips(o, work)
	if err != nil {
		return nil, err
	}
	built, err := makeProgram(o, m, chips, work, "--observe")
	if err != nil {
		return nil, err
	}
	s, err := check.Start(work, o.threads, built.command...)
	if err != nil {
		return nil, err
	}
	_, err = s.Run(inputs)
	var got []check.BlockValue
	if err == nil {
		got, err = s.Values()
	}
	return got, errors.Join(err, s.Close())
}

// nameAsGiven sets the names of values to those in the model. A precision of 16 bits appends its
// type to the names of the values that it stores.
func (m *model) nameAsGiven(got []check.BlockValue, precision string) {
	has := map[string]bool{}
	for _, n := range m.graph.Nodes {
		for _, v := range n.Outputs {
			has[v.Name] = true
		}
	}
	for i, v := range got {
		if name, ok := strings.CutSuffix(v.Name, map[string]string{"fp16": ".f16", "bf16": ".bf16"}[precision]); ok && !has[v.Name] && has[name] {
			got[i].Name = name
		}
	}
}

// named returns the reference's values by their names in the graph itself, for values that blocks
// compute. It leaves out values of regions, which differ in each iteration.
func (m *model) named(got []check.BlockValue, ref *reference, inputs map[string]*ir.Tensor, work string) (map[string]*ir.Tensor, error) {
	is := map[string]bool{}
	for _, v := range got {
		is[v.Name] = true
	}
	var all []*ir.Value
	for _, n := range m.graph.Nodes {
		for _, v := range n.Outputs {
			if is[v.Name] && v.Name != "" {
				all = append(all, v)
			}
		}
	}
	if ref.values == nil {
		g, err := m.read()
		if err != nil {
			return nil, err
		}
		return interpret(withOutputs(g, all), inputs)
	}
	path, err := m.edited(func(g *onnxpb.GraphProto) {
		for _, v := range all {
			if !slices.ContainsFunc(g.Output, func(x *onnxpb.ValueInfoProto) bool { return x.GetName() == v.Name }) {
				g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(v.Name)})
			}
		}
	}, filepath.Join(work, "all.onnx"))
	if err != nil {
		return nil, err
	}
	if len(m.external) > 0 {
		return nil, errors.New("want a model whose weights are in its own file, or --reference=interpreter")
	}
	return ref.values(path, inputs)
}

// withOutputs makes values of these names the graph's outputs.
func withOutputs(g *ir.Graph, values []*ir.Value) *ir.Graph {
	is := map[string]bool{}
	for _, v := range values {
		is[v.Name] = true
	}
	g.Outputs = nil
	for _, n := range g.Nodes {
		for _, v := range n.Outputs {
			if is[v.Name] {
				g.Outputs = append(g.Outputs, v)
			}
		}
	}
	return g
}

// widened converts a 16-bit value to f32 if the reference is f32.
func widened(x, want *ir.Tensor) *ir.Tensor {
	number := map[ir.DType]func(uint16) float64{ir.F16: ir.F16Float, ir.U16: ir.BF16Float, ir.BF16: ir.BF16Float}[x.Type] // .npy files hold bf16 as u16
	if want.Type != ir.F32 || number == nil {
		return x
	}
	out := ir.NewTensor(ir.F32, x.Shape...)
	for i := range x.Len() {
		bits := math.Float32bits(float32(number(binary.LittleEndian.Uint16(x.Data[2*i:]))))
		binary.LittleEndian.PutUint32(out.Data[4*i:], bits)
	}
	return out
}
