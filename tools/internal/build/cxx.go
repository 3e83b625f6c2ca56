package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// RuntimeFile is one of the files that Runtime compiles. Commands find the repository by it.
const RuntimeFile = "runtime/dnn_status.cc"

// KernelCopts are the options with which the rules compile kernels.
var KernelCopts = []string{"-std=c++17", "-O3", "-fno-fast-math", "-ffp-contract=fast", "-fno-math-errno", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"}

// ProgramCopts are the options with which the rules compile programs, and RuntimeCopts the options
// for the runtime in a library.
var (
	ProgramCopts = []string{"-std=c++17", "-O2"}
	RuntimeCopts = append(slices.Clone(ProgramCopts), "-fno-exceptions", "-fno-rtti")
)

// Served is the source that names a model, model_*, to the program around it, runtime/serve.
const Served = `extern "C" const void* model_describe(void);
extern "C" const void* model_profile(void);
extern "C" const void* dnn_served_model(void);
extern "C" const void* dnn_served_profile(void);
extern "C" const char* dnn_served_weights(void);
const void* dnn_served_model(void) { return model_describe(); }
const void* dnn_served_profile(void) { return model_profile(); }
const char* dnn_served_weights(void) { return nullptr; }
`

// WriteServed writes Served to a folder and returns the file.
func WriteServed(folder string) (string, error) {
	file := filepath.Join(folder, "served.cc")
	return file, os.WriteFile(file, []byte(Served), 0o666)
}

// Sources returns the files that match a pattern. It is an error if no file does.
func Sources(pattern string) ([]string, error) {
	files, err := filepath.Glob(pattern)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there are no files %s: run this command from the repository's root, or with bazel run", pattern)
	}
	return files, err
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
		files, err := Sources(pattern)
		if err != nil {
			return nil, err
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
	served, err := WriteServed(to)
	if err != nil {
		return nil, err
	}
	return Compile(cxx, ProgramCopts, to, "runtime/dnn_*.cc", "runtime/serve/*.cc", "runtime/bench/*.cc", served)
}

// Link makes a program of objects.
func Link(cxx, objects []string, program string) error {
	return Run(cxx[0], slices.Concat(cxx[1:], objects, []string{"-pthread", "-ldl", "-o", program})...)
}
