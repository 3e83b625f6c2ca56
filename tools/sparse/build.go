package main

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"rules_dnn/tools/check"
	"rules_dnn/tools/internal/build"
)

// tools make the programs of networks for one chip.
type tools struct {
	*build.Tools
	folder   string
	chip     string
	emulator []string        // empty: the processor runs programs
	seconds  float64         // of a program in a round
	peak     float64         // multiply-adds of a core in a millisecond, measured once a program is there, or in 1e6 instructions
	built    map[string]bool // folders of programs
}

// newTools builds what all programs need.
func newTools(o *options, folder string) (*tools, error) {
	t := &tools{folder: folder, chip: o.chip, emulator: o.emulator, seconds: o.seconds, built: map[string]bool{}}
	if len(t.emulator) > 0 {
		t.peak = peakCounted
	}
	var err error
	t.Tools, err = build.NewTools(folder, strings.Fields(o.cxx))
	return t, err
}

func (t *tools) in(name string) string { return filepath.Join(t.folder, name) }

// program compiles a network in a folder, unless it is there, and starts it. The counter is nil
// unless there is an emulator.
func (t *tools) program(model, work string, w way) (*check.Server, *counter, error) {
	if !t.built[work] {
		args := []string{"--precision=" + w.precision}
		if w.tuned {
			record, err := t.tune(model, work, w.disable)
			if err != nil {
				return nil, nil, err
			}
			args = append(args, "--tuning="+record)
		}
		if err := t.build(model, work, w.disable, args...); err != nil {
			return nil, nil, err
		}
		t.built[work] = true
	}
	c, command, err := t.command(work)
	if err != nil {
		return nil, nil, err
	}
	s, err := check.Start(work, w.threads, append(command, "--weights="+filepath.Join(work, "model.weights"))...)
	return s, c, err
}

// compile makes a network's kernels, with further options of dnnc compile.
func (t *tools) compile(model, work, disable string, args ...string) (*build.Model, error) {
	m, err := t.Model(work, t.chip)
	if err != nil {
		return nil, err
	}
	if err := m.Import(model, "--disable="+disable); err != nil {
		return nil, err
	}
	return m, m.Compile(model, append(args, "--disable="+disable)...)
}

// build compiles a network to a program.
func (t *tools) build(model, work, disable string, args ...string) error {
	m, err := t.compile(model, work, disable, args...)
	if err != nil {
		return err
	}
	program, err := m.Program()
	if err == nil && t.peak == 0 {
		return t.measurePeak(program, "--weights="+m.Weights())
	}
	return err
}

// measurePeak asks a program for the machine's peak.
func (t *tools) measurePeak(program ...string) error {
	out, err := build.Stdout(program[0], append(program[1:], "--json=-", "--seconds=0.3", "--probe-seconds=0.1")...)
	if err != nil {
		return err
	}
	var report struct {
		Machine struct {
			GFLOPS float64 `json:"gflops"`
		} `json:"machine"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return err
	}
	const perMAC, perMs = 2, 1e6 // 1e9 a second
	t.peak = report.Machine.GFLOPS * perMs / perMAC
	return nil
}
