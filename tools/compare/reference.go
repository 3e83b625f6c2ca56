package main

import (
	"bytes"
	_ "embed" // ort.py
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/tools/check"
)

//go:embed ort.py
var ortProgram string

// reference runs a model by other means than its compiled program.
type reference struct {
	name string
	// run returns the outputs; it is nil if outputs are not compared.
	run func(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error)
	// time returns the milliseconds of each run; nil if times are meaningless.
	time func(inputs map[string]*ir.Tensor, seconds float64) ([]float64, error)
	// values runs another model, node by node as it is written; nil where that cannot be.
	values func(model string, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error)
}

// chooseReference returns ONNX Runtime if it is available, and otherwise prints why not.
func chooseReference(o *options, m *model, work string) (*reference, error) {
	if o.reference == "none" {
		return &reference{name: "none"}, nil
	}
	interpreter := &reference{name: "the compiler's interpreter", run: m.interpret}
	if o.reference == "interpreter" {
		return interpreter, nil
	}
	if o.reference == "graph" {
		g, err := m.compiled(o)
		return &reference{name: "the compiler's interpreter, of what dnnc graph makes of the network", run: func(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
			return interpret(g, inputs)
		}}, err
	}
	_, err := askOrt(o.python, ortRequest{})
	if err == nil {
		ort := &ort{python: o.python, model: m.path, work: work, threads: o.threads, large: m.large, plain: o.plainReference(m)}
		return &reference{name: ort.name(), run: ort.run, time: ort.time, values: ort.values}, nil
	}
	if o.reference == "ort" {
		return nil, fmt.Errorf("%w\nname another Python with --python, or use --reference=interpreter", err)
	}
	interpreter.name += fmt.Sprintf(" (%s has no onnxruntime and numpy; --python names another)", o.python)
	return interpreter, nil
}

// plainReference reports whether the reference runs the network as it is written. Its optimisations
// fuse quantized nodes to kernels of integers, which round otherwise; what they round is then no
// reference.
func (o *options) plainReference(m *model) bool {
	return o.optimizations == "none" || o.optimizations == "" && len(m.quantized()) > 0
}

// compiled returns the network after the passes of dnnc graph. Its quantized nodes compute in
// integers, like kernels.
func (m *model) compiled(o *options) (*ir.Graph, error) {
	g, err := m.read()
	if err != nil {
		return nil, err
	}
	disable := strings.FieldsFunc(o.disable, func(r rune) bool { return r == ',' })
	_, err = pipeline.Run(pipeline.GraphPasses, &pipeline.State{Graph: g}, pipeline.Options{Disable: disable})
	return g, err
}

func (m *model) interpret(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	return interpret(m.graph, inputs)
}

func interpret(g *ir.Graph, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	list, err := interp.Graph(g, inputs)
	if err != nil {
		return nil, err
	}
	outputs := map[string]*ir.Tensor{}
	for i, v := range g.Outputs {
		outputs[v.Name] = list[i]
	}
	return outputs, nil
}

// ort runs a model under ONNX Runtime, in a process of its own each time.
type ort struct {
	python, model, work string
	threads             int
	large               bool // the weights take a good part of the memory
	plain               bool // its answers are those without optimisations; times are always with them
}

func (x *ort) name() string {
	if x.plain {
		return "ONNX Runtime, its graph optimisations off: fused kernels of quantized nodes round otherwise (--reference-optimizations=all has them)"
	}
	return "ONNX Runtime"
}

type ortRequest struct {
	Model   string            `json:"model"`
	Inputs  map[string]string `json:"inputs"`
	Dir     string            `json:"dir"`
	Threads int               `json:"threads"`
	Seconds float64           `json:"seconds"`
	Large   bool              `json:"large"`
	Plain   bool              `json:"plain"`
}

type ortAnswer struct {
	Files map[string]string
	Ms    []float64
}

func (x *ort) run(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	a, err := x.ask(x.model, inputs, 0, x.plain)
	if err != nil {
		return nil, err
	}
	return a.read()
}

func (x *ort) values(model string, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	a, err := x.ask(model, inputs, 0, true)
	if err != nil {
		return nil, err
	}
	return a.read()
}

func (a ortAnswer) read() (outputs map[string]*ir.Tensor, err error) {
	outputs = map[string]*ir.Tensor{}
	for name, path := range a.Files {
		if outputs[name], err = check.ReadNpy(path); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

func (x *ort) time(inputs map[string]*ir.Tensor, seconds float64) ([]float64, error) {
	a, err := x.ask(x.model, inputs, seconds, false)
	return a.Ms, err
}

func (x *ort) ask(model string, inputs map[string]*ir.Tensor, seconds float64, plain bool) (ortAnswer, error) {
	var a ortAnswer
	r := ortRequest{Model: model, Inputs: map[string]string{}, Dir: x.work, Threads: x.threads, Seconds: seconds, Large: x.large, Plain: plain}
	for name, t := range inputs {
		r.Inputs[name] = filepath.Join(x.work, fmt.Sprintf("ort_in_%d.npy", len(r.Inputs)))
		if err := check.WriteNpy(r.Inputs[name], t); err != nil {
			return a, err
		}
	}
	out, err := askOrt(x.python, r)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("ONNX Runtime's answer %q: %w", out, err)
	}
	return a, nil
}

func askOrt(python string, r ortRequest) ([]byte, error) {
	ask, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd := exec.Command(python, "-c", ortProgram)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(ask), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime: %s: %w\n%s", python, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
