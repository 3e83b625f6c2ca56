package main

import (
	_ "embed" // peers.py
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

//go:embed peers.py
var peersProgram string

// engines are those that peers.py drives; outputs are compared with the first one's.
var engines = []string{"onnxruntime", "openvino", "mnn", "ncnn"}

// pause is between runs of two engines: threads of the one go on spinning for a while.
const pause = 250 * time.Millisecond

func (o *options) readPeers(text string) error {
	switch text {
	case "":
		return nil
	case "all":
		o.peers = engines
	default:
		o.peers = strings.Split(text, ",")
	}
	for _, name := range o.peers {
		if !slices.Contains(engines, name) {
			return fmt.Errorf("--peers: there is no %q; known: %s, or all", name, strings.Join(engines, ", "))
		}
	}
	if o.rounds < 1 {
		return fmt.Errorf("--peers wants --rounds from 1")
	}
	return nil
}

func (o *options) readThreads(text string) error {
	for _, one := range strings.Split(text, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 1 {
			return fmt.Errorf("--threads=%s: want a number from 1, or several with commas between", text)
		}
		o.threadCounts = append(o.threadCounts, n)
	}
	o.threads = o.threadCounts[0]
	return nil
}

// entrant is one engine in a contest, ours too.
type entrant struct {
	name, version string
	server        *check.Server
	ms            []float64 // the least of each round
	rel           float64   // error of its outputs, relative to their range; negative: not compared
	failure       string    // why it is left out
}

// contest is a model's run on a number of threads.
type contest struct {
	model    string
	threads  int
	entrants []*entrant // ours first
}

// comparePeers times models against other engines: a row of the table for each run and number of
// threads. What is found on the way goes to log.
func comparePeers(o *options, args []string, table, log io.Writer) error {
	models := []*options{o}
	if o.list != "" {
		var err error
		if models, err = listed(o, args); err != nil {
			return err
		}
		done, err := share(models)
		if err != nil {
			return err
		}
		defer done()
	}
	peerHead(table, columns(models))
	var failed []string
	var all []*contest
	for _, one := range models {
		done, err := contests(one, columns(models), table, log)
		all = append(all, done...)
		if err != nil {
			failed = append(failed, one.name())
			failure(table, one.name(), err)
		}
	}
	peerMeans(table, columns(models), all)
	return failures(failed)
}

// columns are the table's besides ours: our kernels of dense weights where a model is pruned, and the peers.
func columns(models []*options) []string {
	peers := models[0].peers
	if slices.ContainsFunc(models, func(o *options) bool { return o.pruning != "" }) {
		return append([]string{denseName}, peers...)
	}
	return peers
}

// contests builds a model's program and lets it run against the peers.
func contests(o *options, columns []string, table, log io.Writer) ([]*contest, error) {
	o, err := o.tuned(log)
	if err != nil {
		return nil, err
	}
	work, done, err := workFolder(o)
	if err != nil {
		return nil, err
	}
	defer done()
	chips, err := chooseChips(o, work)
	if err != nil {
		return nil, err
	}
	m, err := open(o, work)
	if err != nil {
		return nil, err
	}
	p, err := build(o, m, chips, work)
	if err != nil {
		return nil, err
	}
	plain := &program{}
	if o.pruning != "" {
		if plain, err = dense(o, m, work); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(work, "peers.py")
	if err := os.WriteFile(script, []byte(peersProgram), 0o666); err != nil {
		return nil, err
	}
	var out []*contest
	for i, run := range o.allRuns() {
		env, err := m.sizes(run)
		if err != nil {
			return out, err
		}
		inputs, err := m.inputsOf(o, env)
		if err != nil {
			return out, err
		}
		s := &stage{o: o, m: m, ours: p.command, dense: plain.command, script: script, inputs: inputs, folder: fmt.Sprintf("%s/run%d", work, i)}
		for _, threads := range o.threadCounts {
			c, err := s.contest(threads, run, log)
			if err != nil {
				return out, err
			}
			peerRow(table, columns, c)
			out = append(out, c)
		}
	}
	return out, nil
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

// peer is the command that serves the model under another engine.
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

// enter starts an engine, on as many processors as it has threads where that can be had.
func (s *stage) enter(name string, threads int, command ...string) (*entrant, error) {
	e := &entrant{name: name, rel: -1}
	dir := filepath.Join(s.folder, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return e, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return e, err
	}
	defer log.Close() // the program has its own
	if _, err := exec.LookPath("taskset"); err == nil && threads < runtime.NumCPU() {
		command = append([]string{"taskset", "-c", fmt.Sprintf("0-%d", threads-1)}, command...)
	}
	if e.server, err = check.StartLogged(log, dir, threads, command...); err == nil {
		e.version = e.server.Version
	}
	return e, err
}

// agree runs a peer once. Of ONNX Runtime the outputs are kept as what ours are measured by; those of
// others are measured by ours.
func (s *stage) agree(e, ours *entrant, got map[string]*ir.Tensor) error {
	theirs, err := e.server.Run(s.inputs)
	if err != nil {
		return err
	}
	e.rel = 0
	for _, v := range s.m.graph.Outputs {
		want := theirs[v.Name]
		if want == nil {
			return fmt.Errorf("it gives no output %q", v.Name)
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

// round adds the least time of some runs.
func (e *entrant) round(seconds float64) error {
	ms, err := e.server.Time(seconds)
	if err == nil {
		e.ms = append(e.ms, slices.Min(ms))
	}
	return err
}

// leave takes an engine that failed out of the contest.
func (e *entrant) leave(err error) {
	if err == nil {
		return
	}
	e.failure = strings.Join(strings.Fields(err.Error()), " ")
	if e.server != nil {
		_ = e.server.Close() // it failed already
		e.server = nil
	}
}

func (c *contest) close() {
	for _, e := range c.entrants {
		if e.server != nil {
			_ = e.server.Close() // all answers are there
			e.server = nil
		}
	}
}
