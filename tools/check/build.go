package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// RuntimeFile is one of the files that Runtime compiles, by which their folder is known.
const RuntimeFile = "runtime/dnn_status.cc"

// plainCopts are the options of the C++ compiler for what is around kernels.
var plainCopts = []string{"-std=c++17", "-O2"}

// Run runs a tool. Its error has what that printed.
func Run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), args[0], err, out)
	}
	return nil
}

// Parallel runs a tool once for each list of arguments, on all processors.
func Parallel(tool string, jobs [][]string) error {
	errs := make([]error, len(jobs))
	free := make(chan bool, runtime.NumCPU())
	var all sync.WaitGroup
	for i, args := range jobs {
		all.Add(1)
		free <- true
		go func() {
			defer all.Done()
			errs[i] = Run(tool, args...)
			<-free
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

// Compile compiles each file that matches a pattern separately, and returns the objects in the
// folder to.
func Compile(cxx, copts []string, to string, patterns ...string) ([]string, error) {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	var objects []string
	var jobs [][]string
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("there are no files %s: run this command from the repository's root", pattern)
		}
		for _, f := range files {
			o := filepath.Join(to, strings.TrimSuffix(filepath.Base(f), ".cc")+".o")
			objects = append(objects, o)
			jobs = append(jobs, slices.Concat(cxx[1:], copts, []string{"-I.", "-c", f, "-o", o}))
		}
	}
	return objects, Parallel(cxx[0], jobs)
}

// Runtime returns the objects around the kernels in a program of one model, model_*: the runtime,
// a server and a benchmark.
func Runtime(cxx []string, to string) ([]string, error) {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	served := filepath.Join(to, "served.cc")
	if err := os.WriteFile(served, []byte(Served), 0o666); err != nil {
		return nil, err
	}
	return Compile(cxx, plainCopts, to, "runtime/dnn_*.cc", "runtime/serve/*.cc", "runtime/bench/*.cc", served)
}

// Link makes a program of objects.
func Link(cxx, objects []string, program string) error {
	return Run(cxx[0], slices.Concat(cxx[1:], objects, []string{"-pthread", "-ldl", "-o", program})...)
}
