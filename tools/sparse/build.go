package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/tools/check"
)

// tools are what programs are made with: dnnc, and objects of the runtime, made once.
type tools struct {
	folder, dnnc string
	cxx, copts   []string
	emulator     []string // empty: the processor runs programs
	objects      []string
	seconds      float64         // of a program in a round
	peak         float64         // multiply-adds of a core in a millisecond, measured once a program is there, or in 1e6 instructions
	built        map[string]bool // folders of programs
}

// newTools builds dnnc as it is in the working tree, and the runtime.
func newTools(o *options, folder string) (*tools, error) {
	t := &tools{folder: folder, dnnc: filepath.Join(folder, "dnnc"), cxx: strings.Fields(o.cxx), emulator: o.emulator, seconds: o.seconds, built: map[string]bool{}}
	if err := check.Run("go", "build", "-o", t.dnnc, "./gen/cmd/dnnc"); err != nil {
		return nil, err
	}
	facts, err := chips.Facts(o.chip)
	if err != nil {
		return nil, err
	}
	chip, err := target.Parse(facts)
	if err != nil {
		return nil, err
	}
	if len(t.emulator) > 0 {
		t.peak = peakCounted
	}
	t.copts = append(slices.Clone(check.KernelCopts), chip.Copts...)
	if err := os.WriteFile(t.in("chip.json"), facts, 0o666); err != nil {
		return nil, err
	}
	t.objects, err = check.Runtime(t.cxx, t.in("runtime"))
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
func (t *tools) compile(model, work, disable string, args ...string) error {
	if err := os.MkdirAll(work, 0o777); err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(work, name) }
	if err := check.Run(t.dnnc, "graph", "--src="+model, "--out="+in("graph.txt"), "--out-consts="+in("graph.consts"), "--disable="+disable); err != nil {
		return err
	}
	return check.Run(t.dnnc, append([]string{"compile", "--graph=" + in("graph.txt"), "--consts=" + in("graph.consts"), "--src=" + model, "--chip=" + t.in("chip.json"), "--disable=" + disable,
		"--api=model", "--prefix=model", "--namespace=model", "--weights=file", "--out-header=" + in("model.h"), "--out-kernels=" + in("kernels"),
		"--out-weights=" + in("model.weights"), "--out-manifest=" + in("model.manifest.json")}, args...)...)
}

// build compiles a network to a program.
func (t *tools) build(model, work, disable string, args ...string) error {
	in := func(name string) string { return filepath.Join(work, name) }
	if err := t.compile(model, work, disable, args...); err != nil {
		return err
	}
	objects, err := check.Compile(t.cxx, slices.Concat(t.copts, []string{"-I" + work, "-I" + in("kernels")}), work, in("kernels/model_*.cc"))
	if err != nil {
		return err
	}
	if err := check.Link(t.cxx, slices.Concat(objects, t.objects), in("program")); err != nil {
		return err
	}
	if t.peak == 0 {
		return t.measurePeak(in("program"), "--weights="+in("model.weights"))
	}
	return nil
}

// measurePeak asks a program for the machine's peak.
func (t *tools) measurePeak(program ...string) error {
	out, err := exec.Command(program[0], append(program[1:], "--json=-", "--seconds=0.3", "--probe-seconds=0.1")...).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", program[0], err)
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
