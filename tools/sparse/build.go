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

// plainCopts are the options of the C++ compiler for what is around kernels.
var plainCopts = []string{"-std=c++17", "-O2"}

// tools are what programs are made with: dnnc, and objects of the runtime, made once.
type tools struct {
	folder, dnnc string
	cxx, copts   []string
	objects      []string
	peak         float64 // multiply-adds of a core in a millisecond, measured once a program is there
}

// newTools builds dnnc as it is in the working tree, and the runtime.
func newTools(o *options, folder string) (*tools, error) {
	t := &tools{folder: folder, dnnc: filepath.Join(folder, "dnnc"), cxx: strings.Fields(o.cxx)}
	if err := run("go", "build", "-o", t.dnnc, "./gen/cmd/dnnc"); err != nil {
		return nil, err
	}
	facts, err := chips.Facts(".", o.chip)
	if err != nil {
		return nil, err
	}
	chip, err := target.Parse(facts)
	if err != nil {
		return nil, err
	}
	t.copts = append(slices.Clone(check.KernelCopts), chip.Copts...)
	if err := os.WriteFile(t.in("chip.json"), facts, 0o666); err != nil {
		return nil, err
	}
	if err := os.WriteFile(t.in("served.cc"), []byte(check.Served), 0o666); err != nil {
		return nil, err
	}
	for _, pattern := range []string{"runtime/dnn_*.cc", "runtime/serve/*.cc", "runtime/bench/*.cc", t.in("served.cc")} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("there are no files %s: run this command from the repository's root", pattern)
		}
		for _, f := range files {
			object := t.in(fmt.Sprintf("%d.o", len(t.objects)))
			t.objects = append(t.objects, object)
			if err := t.compile(plainCopts, f, object); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *tools) in(name string) string { return filepath.Join(t.folder, name) }

func (t *tools) compile(copts []string, file, object string) error {
	return run(t.cxx[0], slices.Concat(t.cxx[1:], copts, []string{"-I.", "-I" + t.folder, "-c", file, "-o", object})...)
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}

// program compiles a network and starts it.
func (t *tools) program(model, work, disable string, threads int) (*check.Server, error) {
	if err := os.MkdirAll(work, 0o777); err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(work, name) }
	if err := run(t.dnnc, "graph", "--src="+model, "--out="+in("graph.txt"), "--out-consts="+in("graph.consts"), "--disable="+disable); err != nil {
		return nil, err
	}
	if err := run(t.dnnc, "compile", "--graph="+in("graph.txt"), "--consts="+in("graph.consts"), "--src="+model, "--chip="+t.in("chip.json"), "--disable="+disable,
		"--api=model", "--prefix=model", "--namespace=model", "--weights=file", "--out-header="+in("model.h"), "--out-kernels="+in("kernels"),
		"--out-weights="+in("model.weights"), "--out-manifest="+in("model.manifest.json")); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(in("kernels/model_*.cc"))
	if err != nil {
		return nil, err
	}
	objects := slices.Clone(t.objects)
	for i, f := range files {
		object := in(fmt.Sprintf("%d.o", i))
		objects = append(objects, object)
		if err := t.compile(slices.Concat(t.copts, []string{"-I" + work, "-I" + in("kernels")}), f, object); err != nil {
			return nil, err
		}
	}
	if err := run(t.cxx[0], slices.Concat(t.cxx[1:], objects, []string{"-pthread", "-ldl", "-o", in("program")})...); err != nil {
		return nil, err
	}
	if t.peak == 0 {
		if err := t.measurePeak(in("program"), "--weights="+in("model.weights")); err != nil {
			return nil, err
		}
	}
	return check.Start(work, threads, in("program"), "--weights="+in("model.weights"))
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
