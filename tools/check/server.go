// Package check compares what compiled models answer with a reference.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"rules_dnn/gen/ir"
)

// Server is a running program that serves a model, as dnn_benchmark makes it.
type Server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
	dir string // for files that go to and fro
	// Version is the version that the program reports.
	Version string
	// LoadSeconds is how long it took to load the model, and RunSeconds how long the last Run took
	// in the program.
	LoadSeconds, RunSeconds float64
}

// request is what a server is asked.
type request struct {
	Cmd     string            `json:"cmd"`
	Threads int               `json:"threads,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	Seconds float64           `json:"seconds,omitempty"`
	MinRuns int               `json:"min_runs,omitempty"`
}

// answer is the program's answer.
type answer struct {
	Error   string            `json:"error"`
	Version string            `json:"version"`
	Files   map[string]string `json:"files"`
	Ms      []float64         `json:"ms"`
	LoadS   float64           `json:"load_s"`
	Values  []writtenValue    `json:"values"`
}

// Start runs a program and loads its model; files go through the folder dir.
func Start(dir string, threads int, command ...string) (*Server, error) {
	return StartLogged(os.Stderr, dir, threads, command...)
}

// StartLogged starts the program like Start, and writes its standard error to log.
func StartLogged(log io.Writer, dir string, threads int, command ...string) (*Server, error) {
	s := &Server{cmd: exec.Command(command[0], append(command[1:], "--serve")...), dir: dir}
	s.cmd.Stderr = log
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	loaded, err := s.ask(request{Cmd: "load", Threads: threads})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Version, s.LoadSeconds = loaded.Version, loaded.LoadS
	return s, nil
}

// Close ends the program; it is an error if the program fails.
func (s *Server) Close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// Run runs the model once and returns its outputs by name. A bf16 output becomes u16.
func (s *Server) Run(inputs map[string]*ir.Tensor) (map[string]*ir.Tensor, error) {
	files := map[string]string{}
	for name, t := range inputs {
		files[name] = filepath.Join(s.dir, fmt.Sprintf("in_%d.npy", len(files)))
		if err := WriteNpy(files[name], t); err != nil {
			return nil, err
		}
	}
	var last answer
	for _, r := range []request{{Cmd: "inputs", Files: files}, {Cmd: "run"}, {Cmd: "outputs", Dir: s.dir}} {
		var err error
		if last, err = s.ask(r); err != nil {
			return nil, err
		}
		if len(last.Ms) > 0 {
			s.RunSeconds = last.Ms[0] / 1e3
		}
	}
	outputs := map[string]*ir.Tensor{}
	for name, path := range last.Files {
		var err error
		if outputs[name], err = ReadNpy(path); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// BlockValue is a value that a block computed.
type BlockValue struct {
	Name, Nodes, Kernel string
	Tensor              *ir.Tensor
}

// writtenValue is one in a file.
type writtenValue struct {
	Name, Nodes, Kernel, File string
}

// Values runs the model once more with the inputs of the last Run, and returns what its blocks
// compute, in the program's order. It is an error if the model was not compiled with --observe.
func (s *Server) Values() ([]BlockValue, error) {
	a, err := s.ask(request{Cmd: "values", Dir: s.dir})
	if err != nil {
		return nil, err
	}
	out := make([]BlockValue, len(a.Values))
	for i, v := range a.Values {
		out[i] = BlockValue{Name: v.Name, Nodes: v.Nodes, Kernel: v.Kernel}
		if out[i].Tensor, err = ReadNpy(v.File); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Time runs the model repeatedly with the inputs of the last Run for some seconds, and returns the
// milliseconds of each run.
func (s *Server) Time(seconds float64) ([]float64, error) {
	a, err := s.ask(request{Cmd: "run", Seconds: seconds, MinRuns: 3})
	return a.Ms, err
}

func (s *Server) ask(r request) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	// A program that ended printed the reason to standard error. Here, the missing answer shows
	// it.
	_, _ = s.in.Write(append(line, '\n'))
	var a answer
	if err := s.out.Decode(&a); err != nil {
		return a, fmt.Errorf("the model's program did not answer %s: %w", r.Cmd, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("the model's program answered to %s: %s", r.Cmd, a.Error)
	}
	return a, nil
}
