package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"rules_dnn/gen/graph/interp"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	looprun "rules_dnn/gen/program/run"
	"rules_dnn/gen/testing/modeltest"
)

// graph is what `dnnc graph` wrote for the case, with types and shapes.
func (a *attempt) graph() (*ir.Graph, error) {
	if g, ok := parsed.Load(a.number); ok {
		return g.(*ir.Graph), nil
	}
	g, err := a.parse()
	if err == nil {
		parsed.Store(a.number, g)
	}
	return g, err
}

func (a *attempt) parse() (*ir.Graph, error) {
	files, err := a.open()
	if err != nil {
		return nil, err
	}
	text, err := os.Open(filepath.Join(a.dir, "net.graph.txt"))
	if err != nil {
		return nil, err
	}
	defer text.Close()
	return ir.Parse(text, files)
}

// open opens the files that the case's graph refers to.
func (a *attempt) open() (map[string]*ir.File, error) {
	files := map[string]*ir.File{}
	names := map[string]string{"": "model.onnx", ir.ConstsName: "net.consts"}
	for name := range a.Files {
		names[name] = name
	}
	for name, path := range names {
		data, err := os.ReadFile(filepath.Join(a.dir, path))
		if err != nil {
			return nil, err
		}
		files[name] = &ir.File{Name: name, R: bytes.NewReader(data), Size: int64(len(data))}
	}
	return files, nil
}

// inputsOf are the run's inputs in the order of a graph's.
func (r *Run) inputsOf(g *ir.Graph) ([]*ir.Tensor, error) {
	var out []*ir.Tensor
	for _, v := range g.Inputs {
		i := slices.IndexFunc(r.Inputs, func(x Value) bool { return x.Name == v.Name })
		if i < 0 {
			return nil, fmt.Errorf("the case has no input %q", v.Name)
		}
		out = append(out, r.Inputs[i].Tensor)
	}
	return out, nil
}

// dims are the symbols that the inputs' shapes tell, and those that the run gives instead.
func (r *Run) dims(g *ir.Graph, inputs []*ir.Tensor) map[string]int64 {
	out := map[string]int64{}
	for i, v := range g.Inputs {
		for k, e := range v.Shape {
			if name, ok := e.AsVar(); ok && k < len(inputs[i].Shape) {
				out[name] = inputs[i].Shape[k]
			}
		}
	}
	for name, x := range r.Dims {
		out[name] = x
	}
	return out
}

// judge compares what a run came to with what it must be.
func (r *Run) judge(status, text string, results []*ir.Tensor) error {
	switch {
	case r.Status == OK && status != "OK":
		return fmt.Errorf("status %s (%s), must be right", status, text)
	case r.Status != OK && status == "OK":
		return fmt.Errorf("status OK, want %s", r.Status)
	case r.Status != OK && r.Status != Any && string(r.Status) != status:
		return fmt.Errorf("status %s (%s), want %s", status, text, r.Status)
	case r.Status == Any && status == "BUFFER_SIZE":
		return nil // the shapes contradict each other where the model's do not
	case r.Status == Any && status != string(BadDims) && status != string(BadValue) && status != string(TooLarge):
		return fmt.Errorf("status %s (%s), want one of wrong values or dimensions", status, text)
	case r.Status != OK:
		for _, w := range r.Words {
			if !containsAny(text, w) {
				return fmt.Errorf("status %s: %q lacks %q", status, text, w)
			}
		}
		return nil
	}
	if len(results) != len(r.Want) {
		return fmt.Errorf("%d results, want %d", len(results), len(r.Want))
	}
	for i, w := range r.Want {
		if err := w.Check(results[i]); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil
}

// interpreters are ways to run a case in this process: the interpreter of stages on the model, that of loops on
// programs with all passes and with few.
var interpreters = []struct {
	name string
	run  func(*attempt, *Run) ([]*ir.Tensor, error)
}{
	{"stages", stages},
	{"loops", func(a *attempt, r *Run) ([]*ir.Tensor, error) {
		return loops(a, r, modeltest.Config{Chip: wideChip})
	}},
	{"loops, plain", func(a *attempt, r *Run) ([]*ir.Tensor, error) {
		return loops(a, r, modeltest.Config{Chip: chipName, Disable: []string{"fuse", "sweep", "anchors"}})
	}},
}

const wideChip = "x86_64_v4"

// interpretTime is how long an interpreter may take.
const interpretTime = 2 * time.Minute

// interpret runs the case in every interpreter.
func interpret(a *attempt) {
	a.namesModel()
	for i := range a.Runs {
		r := &a.Runs[i]
		if len(r.Dims) > 0 || r.KeepDenormals {
			continue // the interpreters learn dimensions from shapes, and denormals count there
		}
		for _, in := range interpreters {
			type answer struct {
				results []*ir.Tensor
				err     error
			}
			done := make(chan answer, 1)
			go func() {
				results, err := guarded(a, r, in.run)
				done <- answer{results, err}
			}()
			select {
			case x := <-done:
				if err := r.compare(x.results, x.err); err != nil {
					a.fail("%s: %v", in.name, err)
				}
			case <-time.After(interpretTime):
				a.fail("%s: it does not end", in.name)
			}
		}
	}
}

var errPanic = errors.New("panic")

func guarded(a *attempt, r *Run, f func(*attempt, *Run) ([]*ir.Tensor, error)) (results []*ir.Tensor, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%w: %v\n%.1500s", errPanic, x, debug.Stack())
		}
	}()
	return f(a, r)
}

// compare is judge for an interpreter, whose errors stand for statuses.
func (r *Run) compare(results []*ir.Tensor, err error) error {
	switch {
	case errors.Is(err, errPanic):
		return err
	case err != nil && r.Status == OK:
		return fmt.Errorf("%.400s; must be right", err)
	case err != nil:
		return nil
	}
	return (&Run{Status: r.Status, Want: r.Want}).judge("OK", "", results)
}

// stages runs the model as it was read.
func stages(a *attempt, r *Run) ([]*ir.Tensor, error) {
	opt := onnx.Options{Dims: map[string]onnx.Dim{}, Supported: ops.Supported, Operators: ops.Names()}
	for _, f := range a.Flags {
		if d, ok := trimmed(f, "--dim="); ok {
			name, dim, err := onnx.ParseDim(d)
			if err != nil {
				return nil, err
			}
			opt.Dims[name] = dim
		}
		if name, ok := trimmed(f, "--keep-input="); ok {
			opt.KeepInputs = append(opt.KeepInputs, name)
		}
	}
	external, err := a.open()
	if err != nil {
		return nil, err
	}
	model := external[""]
	delete(external, "")
	delete(external, ir.ConstsName)
	g, err := onnx.Read(model, external, opt)
	if err != nil {
		return nil, err
	}
	var unknown *shape.UnknownError
	if err := shape.Infer(g); err != nil && !errors.As(err, &unknown) {
		return nil, err
	}
	inputs := map[string]*ir.Tensor{}
	for _, v := range r.Inputs {
		inputs[v.Name] = v.Tensor
	}
	return interp.Interp{MaxBytes: 1 << 28, MaxTrips: 10000}.Graph(g, inputs)
}

func trimmed(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return "", false
	}
	return s[len(prefix):], true
}

// loops runs the program that the passes make of dnnc's graph.
func loops(a *attempt, r *Run, c modeltest.Config) ([]*ir.Tensor, error) {
	p, err := a.program(c)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errPanic, c, err) // dnnc compiled it: this must not fail
	}
	g := &ir.Graph{Inputs: p.Inputs}
	in, err := r.inputsOf(g)
	if err != nil {
		return nil, err
	}
	return looprun.Program(p, in)
}

// program compiles the graph for a configuration.
func (a *attempt) program(c modeltest.Config) (*plan.Program, error) {
	g, err := a.parse()
	if err != nil {
		return nil, err
	}
	chip, err := modeltest.Chip(c.Chip)
	if err != nil {
		return nil, err
	}
	s := &pipeline.State{Graph: g, Target: chip}
	_, err = pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{Disable: c.Disable})
	return s.Program, err
}
