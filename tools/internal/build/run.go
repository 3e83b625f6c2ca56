// Package build makes programs of models for the commands in tools: with dnnc as it is in the
// working tree, and a C++ compiler.
package build

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// Run runs a tool. Its error has what the tool printed.
func Run(name string, args ...string) error {
	_, err := Output(name, args...)
	return err
}

// Output runs a tool and returns what it printed. Its error has that, too.
func Output(name string, args ...string) (string, error) {
	return output(exec.Command(name, args...))
}

// Stdout runs a program and returns its standard output. Its error has the standard error.
func Stdout(name string, args ...string) ([]byte, error) {
	out, err := exec.Command(name, args...).Output()
	if x := (*exec.ExitError)(nil); errors.As(err, &x) {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, x.Stderr)
	}
	return out, err
}

func output(tool *exec.Cmd) (string, error) {
	out, err := tool.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(tool.Args[0]), tool.Args[1], err, out)
	}
	return string(out), nil
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
