package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/tools/check"
	"rules_dnn/tools/command"
	"rules_dnn/tools/fill/fill"
)

// model is the network as it is compiled and as the reference runs it.
type model struct {
	path     string
	graph    *ir.Graph // as read, before any pass
	external []string  // LOCATION=PATH of its files of external data
	large    bool      // whether these have more than 1 GB
	pruned   bool      // whether it is a copy with fewer weights, beside its data
	report   string    // of what pruning made of it
	random   bool      // whether weights that were taken out are made where they are read
	// read reads it anew, for passes that change it.
	read func() (*ir.Graph, error)
}

// open reads the model, from a copy with weights if they are to be filled in; not where it is not
// to be run.
func open(o *options, work string) (*model, error) {
	path, err := o.written(work)
	if err != nil {
		return nil, err
	}
	m := &model{path: path}
	if o.mostWeights > 0 {
		m.random = o.fill
		if err := m.load(o); err != nil || m.exceeds(o) || !o.fill && o.pruning == "" {
			return m, err
		}
		m = &model{path: path} // which is another file from here on
	}
	if o.fill {
		m.path = filepath.Join(work, "filled.onnx")
		if err := fill.File(o.model, m.path, ""); err != nil {
			return nil, err
		}
	}
	if o.pruning != "" {
		if err := m.prune(o, work); err != nil {
			return nil, err
		}
	}
	return m, m.load(o)
}

// load reads the graph, and finds its files of external data.
func (m *model) load(o *options) error {
	file, err := openFile(m.path)
	if err != nil {
		return err
	}
	locations, err := onnx.ExternalLocations(file)
	if err != nil {
		return err
	}
	external := map[string]*ir.File{}
	for _, location := range locations {
		path := m.data(o, location)
		m.external = append(m.external, location+"="+path)
		if external[location], err = openFile(path); err != nil {
			return err
		}
		m.large = m.large || external[location].Size > 1<<30
	}
	dims := map[string]onnx.Dim{}
	for _, d := range o.dims {
		name, dim, err := onnx.ParseDim(d)
		if err != nil {
			return err
		}
		dims[name] = dim
	}
	m.read = func() (*ir.Graph, error) { return onnx.Read(file, external, onnx.Options{Dims: dims, Fill: m.random}) }
	m.graph, err = m.read()
	return err
}

// weights returns the number of elements of all constants.
func (m *model) weights() (n int64) {
	for _, c := range m.graph.Constants() {
		n += c.Len()
	}
	return n
}

// exceeds reports whether the model has more weights than are to be run.
func (m *model) exceeds(o *options) bool {
	return o.mostWeights > 0 && float64(m.weights()) > o.mostWeights*1e6
}

// data returns the path of a file of external data.
func (m *model) data(o *options, location string) string {
	made := m.path + ".data"
	switch {
	case m.pruned:
		return filepath.Join(filepath.Dir(m.path), location)
	case o.fill && location == filepath.Base(made):
		return made
	}
	return filepath.Join(filepath.Dir(o.model), location)
}

// openFile opens a file that constants are read from; it stays open.
func openFile(path string) (*ir.File, error) {
	f, size, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	return &ir.File{R: f, Size: size}, nil
}

// sizes returns the values of the model's symbols in a run: those from a text such as "N=3,H=32",
// and the smallest sensible values for others.
func (m *model) sizes(run string) (map[string]int64, error) {
	env := map[string]int64{}
	for _, s := range m.graph.Symbols {
		env[s.Name] = min(max(s.Lo, 1), s.Hi)
	}
	for _, pair := range strings.FieldsFunc(run, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--run %s: want SYMBOL=NUMBER, or several with commas between", run)
		}
		if _, ok := env[name]; !ok {
			return nil, fmt.Errorf("--run %s: the model has no symbol %s; it has: %s", run, name, strings.Join(m.symbols(), ", "))
		}
		env[name] = n
	}
	return env, nil
}

func (m *model) symbols() []string {
	names := []string{}
	for _, s := range m.graph.Symbols {
		names = append(names, s.Name)
	}
	return names
}

// inputsOf returns the inputs of a run.
func (m *model) inputsOf(o *options, env map[string]int64) (map[string]*ir.Tensor, error) {
	inputs := map[string]*ir.Tensor{}
	for i, v := range m.graph.Inputs {
		shape := make([]int64, len(v.Shape))
		for k, d := range v.Shape {
			var err error
			if shape[k], err = d.Eval(env); err != nil {
				return nil, fmt.Errorf("input %q: %w", v.Name, err)
			}
		}
		seed := uint32(o.seed)<<16 + uint32(i)<<24
		inputs[v.Name] = madeUp(v, shape, seed, o.intLimit)
	}
	for _, pair := range o.inputs {
		name, text, _ := strings.Cut(pair, "=")
		if inputs[name] == nil {
			return nil, fmt.Errorf("--input %s: the model has no input %q", pair, name)
		}
		var err error
		if low, high, ok := bounds(text); ok {
			err = spread(inputs[name], low, high)
		} else {
			inputs[name], err = check.ReadNpy(command.Path(text))
		}
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", pair, err)
		}
	}
	return inputs, nil
}

// bounds reads "LOW..HIGH", or a number, which is both.
func bounds(text string) (low, high float64, ok bool) {
	from, to, two := strings.Cut(text, "..")
	if !two {
		to = from
	}
	low, err := strconv.ParseFloat(from, 64)
	if err != nil {
		return 0, 0, false
	}
	high, err = strconv.ParseFloat(to, 64)
	return low, high, err == nil
}

// spread moves synthetic numbers between bounds: floats, which lie in [-2, 2), or integers if there
// is nothing between the bounds.
func spread(t *ir.Tensor, low, high float64) error {
	switch {
	case t.Type == ir.F32:
		for i := 0; i < len(t.Data); i += 4 {
			x := float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Data[i:])))
			binary.LittleEndian.PutUint32(t.Data[i:], math.Float32bits(float32(low+(x+2)/4*(high-low))))
		}
	case t.Type == ir.I64 && low == high && low == math.Trunc(low):
		for i := 0; i < len(t.Data); i += 8 {
			binary.LittleEndian.PutUint64(t.Data[i:], uint64(int64(low)))
		}
	default:
		return fmt.Errorf("an input of type %s takes a file; bounds are for f32, a whole number for i64", t.Type)
	}
	return nil
}

// madeUp returns an input with values that fit its name: identifiers are below the limit, token
// types are 0 or 1, and a mask hides nothing.
func madeUp(v *ir.Value, shape []int64, seed uint32, limit int) *ir.Tensor {
	name := strings.ToLower(v.Name)
	switch {
	case strings.Contains(name, "mask") && !v.Type.IsFloat():
		t := ir.NewTensor(v.Type, shape...)
		for i := 0; i < len(t.Data); i += v.Type.Size() {
			t.Data[i] = 1
		}
		return t
	case strings.Contains(name, "type"):
		limit = min(limit, 2)
	case v.Type == ir.I8:
		limit = min(limit, 1<<7)
	case v.Type == ir.U8:
		limit = min(limit, 1<<8)
	case v.Type == ir.I16:
		limit = min(limit, 1<<15)
	}
	return check.Input(v.Type, shape, seed, limit)
}
