package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

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
	if err := tool("go", "build", "-o", b.work+"/dnnc", "./gen/cmd/dnnc"); err != nil {
		return err
	}
	if err := os.WriteFile(b.work+"/served.cc", []byte(check.Served), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(b.work+"/none", nil, 0o666); err != nil {
		return err
	}
	var err error
	b.runtime, err = b.compile(b.work+"/runtime", []string{"-std=c++17", "-O2"}, nil, "runtime/dnn_*.cc", "runtime/serve/*.cc", "runtime/bench/*.cc", b.work+"/served.cc")
	return err
}

// compile gives the objects of files.
func (b *builder) compile(to string, copts, include []string, patterns ...string) ([]string, error) {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	var objects []string
	var all sync.WaitGroup
	free := make(chan bool, runtime.NumCPU())
	var lock sync.Mutex
	var errs []error
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("there are no files %s: run this command from the repository's root", pattern)
		}
		for _, f := range files {
			o := fmt.Sprintf("%s/%s.o", to, strings.ReplaceAll(filepath.Base(f), ".cc", ""))
			objects = append(objects, o)
			free <- true
			all.Add(1)
			go func() {
				defer all.Done()
				err := tool(b.cxx[0], slices.Concat(b.cxx[1:], copts, []string{"-I."}, include, []string{"-c", f, "-o", o})...)
				lock.Lock()
				errs = append(errs, err)
				lock.Unlock()
				<-free
			}()
		}
	}
	all.Wait()
	return objects, errors.Join(errs...)
}

// figures are those of a program that are needed of what it prints.
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
	if err := tool(b.work+"/dnnc", "compile", "--graph="+work+"/graph.txt", "--consts="+b.work+"/none", "--src="+b.work+"/none", "--chip="+work+"/chip.json", "--api=model", "--prefix=model",
		"--namespace=model", "--weights=file", "--out-header="+work+"/model.h", "--out-kernels="+work+"/kernels", "--out-weights="+work+"/model.weights", "--out-manifest="+work+"/manifest.json"); err != nil {
		return nil, err
	}
	objects, err := b.compile(work, slices.Concat(check.KernelCopts, chip.Copts), []string{"-I" + work, "-I" + work + "/kernels"}, work+"/kernels/model_*.cc")
	if err != nil {
		return nil, err
	}
	if err := tool(b.cxx[0], slices.Concat(b.cxx[1:], objects, b.runtime, []string{"-pthread", "-o", work + "/program"})...); err != nil {
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

func tool(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), args[0], err, out)
	}
	return nil
}
