package main

import (
	"bytes"
	_ "embed" // ort.py
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"rules_dnn/gen/interp"
	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

//go:embed ort.py
var ortProgram string

// reference runs a model by other means than its compiled program.
type reference struct {
	name string
	run  func(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error)
}

// chooseReference takes ONNX Runtime if there is one, and says why if there is none.
func chooseReference(o *options, m *model, work string) (*reference, error) {
	interpreter := &reference{"the compiler's interpreter", m.interpret}
	if o.reference == "interpreter" {
		return interpreter, nil
	}
	_, err := askOrt(o.python, ortRequest{})
	if err == nil {
		return &reference{"ONNX Runtime", func(in map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
			return runOrt(o.python, m.path, work, in)
		}}, nil
	}
	if o.reference == "ort" {
		return nil, fmt.Errorf("%w\nname another Python with --python, or use --reference=interpreter", err)
	}
	interpreter.name += fmt.Sprintf(" (%s has no onnxruntime and numpy; --python names another)", o.python)
	return interpreter, nil
}

func (m *model) interpret(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	list, err := interp.Graph(m.graph, inputs)
	if err != nil {
		return nil, err
	}
	outputs := map[string]*ir.Tensor{}
	for i, v := range m.graph.Outputs {
		outputs[v.Name] = list[i]
	}
	return outputs, nil
}

type ortRequest struct {
	Model  string            `json:"model"`
	Inputs map[string]string `json:"inputs"`
	Dir    string            `json:"dir"`
}

func runOrt(python, model, work string, inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	r := ortRequest{Model: model, Inputs: map[string]string{}, Dir: work}
	for name, t := range inputs {
		r.Inputs[name] = filepath.Join(work, fmt.Sprintf("ort_in_%d.npy", len(r.Inputs)))
		if err := check.WriteNpy(r.Inputs[name], t); err != nil {
			return nil, err
		}
	}
	out, err := askOrt(python, r)
	if err != nil {
		return nil, err
	}
	var a struct{ Files map[string]string }
	if err := json.Unmarshal(out, &a); err != nil {
		return nil, fmt.Errorf("ONNX Runtime's answer %q: %w", out, err)
	}
	outputs := map[string]*ir.Tensor{}
	for name, path := range a.Files {
		if outputs[name], err = check.ReadNpy(path); err != nil {
			return nil, err
		}
	}
	return outputs, nil
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
