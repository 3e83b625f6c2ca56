package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

// contest is a model's run on a number of threads.
type contest struct {
	model    string
	threads  int
	entrants []*entrant // ours first
}

// stage is what contests of one run share.
type stage struct {
	o              *options
	m              *model
	ours, dense    []string // dense: nil where the model is not pruned
	script, folder string
	inputs         map[string]*ir.Tensor
}

// contest runs all engines in turn, round by round, so that a noisy machine disturbs all alike.
func (s *stage) contest(threads int, run string, log io.Writer) (*contest, error) {
	c := &contest{model: strings.TrimSpace(s.o.name() + " " + run), threads: threads}
	fmt.Fprintf(log, "%s, %d thread(s)\n", c.model, threads)
	defer c.close()
	ours, err := s.enter("ours", threads, s.ours...)
	if err != nil {
		return nil, err
	}
	c.entrants = append(c.entrants, ours)
	want, err := ours.server.Run(s.inputs)
	if err != nil {
		return nil, err
	}
	others := s.o.peers
	if s.dense != nil {
		others = append([]string{denseName}, others...)
	}
	for _, name := range others {
		command, err := s.peer(name)
		if err != nil {
			return nil, err
		}
		e, err := s.enter(name, threads, command...)
		c.entrants = append(c.entrants, e)
		if err == nil {
			err = s.agree(e, ours, want)
		}
		e.leave(err)
	}
	for range s.o.rounds {
		for _, e := range c.entrants {
			if e.failure != "" {
				continue
			}
			time.Sleep(pause)
			e.leave(e.round(s.o.seconds))
		}
	}
	c.print(log)
	if ours.failure != "" {
		return nil, errors.New(ours.failure)
	}
	if ours.rel > s.o.tolerance {
		return c, fmt.Errorf("with %d thread(s) an output differs from ONNX Runtime's by %.3g of its range; --tolerance is %g", threads, ours.rel, s.o.tolerance)
	}
	return c, nil
}

// peer returns the command that serves the model with another engine.
func (s *stage) peer(name string) ([]string, error) {
	if name == denseName {
		return s.dense, nil
	}
	var inputs []string
	for _, v := range s.m.graph.Inputs { // in the model's order
		key, err := json.Marshal(v.Name)
		if err != nil {
			return nil, err
		}
		shape := strings.Join(strings.Fields(fmt.Sprint(s.inputs[v.Name].Shape)), ",")
		inputs = append(inputs, fmt.Sprintf("%s: [%q, %s]", key, v.Type.String(), shape))
	}
	path, err := filepath.Abs(s.m.path)
	return []string{s.o.python, s.script, name, path, filepath.Join(s.folder, name), "{" + strings.Join(inputs, ", ") + "}"}, err
}

// agree runs a peer once. Of ONNX Runtime the outputs are kept as what ours are measured by; those
// of others are measured by ours.
func (s *stage) agree(e, ours *entrant, got map[string]*ir.Tensor) error {
	theirs, err := e.server.Run(s.inputs)
	if err != nil {
		return err
	}
	e.rel = 0
	for _, v := range s.m.graph.Outputs {
		want := theirs[v.Name]
		if want == nil {
			return fmt.Errorf("it has no output %q", v.Name)
		}
		// Engines may drop dimensions of 1, and number in 32 bits.
		if want.Type == got[v.Name].Type && len(want.Data) == len(got[v.Name].Data) {
			want.Shape = got[v.Name].Shape
		}
		d, err := check.Compare(got[v.Name], want)
		if err != nil {
			return fmt.Errorf("output %q: %w", v.Name, err)
		}
		e.rel = max(e.rel, d.Rel())
	}
	if e.name == engines[0] {
		ours.rel = e.rel
	}
	return nil
}

func (c *contest) close() {
	for _, e := range c.entrants {
		if e.server != nil {
			_ = e.server.Close() // all answers are there
			e.server = nil
		}
	}
}
