package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"rules_dnn/gen/target"
	"rules_dnn/tools/check"
)

// builder makes programs of products.
type builder struct {
	work    string
	cxx     []string
	runtime []string // objects that all programs share
}

// prepare builds dnnc, and what all programs share.
func (b *builder) prepare() error {
	if err := check.Run("go", "build", "-o", b.work+"/dnnc", "./gen/cmd/dnnc"); err != nil {
		return err
	}
	if err := os.WriteFile(b.work+"/none", nil, 0o666); err != nil {
		return err
	}
	var err error
	b.runtime, err = check.Runtime(b.cxx, b.work+"/runtime")
	return err
}

// figures holds the parts of a program's report that the table needs.
type figures struct {
	Machine struct {
		Gflops float64 `json:"gflops"`
	} `json:"machine"`
	Blocks []struct {
		Kernel   string  `json:"kernel"`
		Products float64 `json:"products"` // that micro-kernels compute
		Ms       struct {
			Least float64 `json:"least"`
		} `json:"ms"`
	} `json:"blocks"`
}

// measure compiles a product for a chip and runs it.
func (b *builder) measure(p product, chip *target.Target, facts []byte, seconds float64) (*figures, error) {
	work := fmt.Sprintf("%s/%s_%s", b.work, p, chip.Name)
	if err := os.MkdirAll(work, 0o777); err != nil {
		return nil, err
	}
	if err := os.WriteFile(work+"/chip.json", facts, 0o666); err != nil {
		return nil, err
	}
	if err := os.WriteFile(work+"/graph.txt", []byte(p.graph()), 0o666); err != nil {
		return nil, err
	}
	if err := check.Run(b.work+"/dnnc", slices.Concat([]string{"compile", "--graph=" + work + "/graph.txt", "--consts=" + b.work + "/none", "--src=" + b.work + "/none", "--chip=" + work + "/chip.json", "--api=model", "--prefix=model",
		"--namespace=model", "--weights=file", "--out-header=" + work + "/model.h", "--out-kernels=" + work + "/kernels", "--out-weights=" + work + "/model.weights", "--out-manifest=" + work + "/manifest.json"}, p.options())...); err != nil {
		return nil, err
	}
	objects, err := check.Compile(b.cxx, slices.Concat(check.KernelCopts, chip.Copts, []string{"-I" + work, "-I" + work + "/kernels"}), work, work+"/kernels/model_*.cc")
	if err != nil {
		return nil, err
	}
	if err := check.Link(b.cxx, slices.Concat(objects, b.runtime), work+"/program"); err != nil {
		return nil, err
	}
	out, err := exec.Command(work+"/program", "--weights="+work+"/model.weights", fmt.Sprintf("--seconds=%g", seconds), "--probe-seconds=0.1", "--probe-bytes=16000000", "--json=-").Output()
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	f := &figures{}
	if err := json.Unmarshal(out, f); err != nil {
		return nil, err
	}
	if len(f.Blocks) != 1 {
		return nil, fmt.Errorf("found %d blocks; want 1", len(f.Blocks))
	}
	return f, nil
}
