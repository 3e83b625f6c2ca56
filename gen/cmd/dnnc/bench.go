package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/selection/measure"
)

const benchDoc = `dnnc bench runs the benchmark program of a model that was built for its target.

'bazel run -c opt NAME_bench' runs it for the dnn_model NAME with a target. It first prints to standard error where it measures. It passes all other options to
the program: --dims, --threads, --html and more; the program's --help lists them.

Examples:
  On this machine, if the target is its platform:
    bazel run -c opt //app:model_here_bench -- --threads=2
  In an emulator, to see that the program works (its times do not apply to a processor):
    bazel run -c opt //app:model_arm64_bench -- --run_under='qemu-aarch64 -L /usr/aarch64-linux-gnu' --dims=N=8
  On an Android device that adb reaches, or on another machine by your own command, which takes a program's path and arguments:
    bazel run -c opt //app:model_android_bench -- --run_under='adb -s SERIAL'
    bazel run -c opt //app:model_arm64_bench -- --run_under=./on_board.sh
  Without Bazel: plan.json is {"model": "net", "platform": "linux_arm64", "program": "PATH", "weights": "PATH"}
    dnnc bench --plan=plan.json --run_under=./on_board.sh
`

const runUnderDoc = "`COMMAND` that runs the program if this machine cannot: an emulator, adb (which copies it to a device), or any command that takes a program's path and arguments"

// benchPlan is what the rules write for NAME_bench.
type benchPlan struct {
	Model    string `json:"model"`    // its label
	Platform string `json:"platform"` // likewise
	Program  string `json:"program"`
	Weights  string `json:"weights"` // "": the program has them
}

// benchCommand is `dnnc bench`.
func benchCommand(args []string, out, log io.Writer) error {
	own, rest := ownOptions(args, "plan", "run_under")
	var path, runUnder string
	c := newCommand("dnnc bench", benchDoc, "plan")
	c.StringVar(&path, "plan", "", "`FILE` that names the model, its platform and the program (JSON)")
	c.StringVar(&runUnder, "run_under", "", runUnderDoc)
	if err := c.parse(own, out); err != nil {
		return err
	}
	p, err := readBenchPlan(path)
	if err != nil {
		return err
	}
	r, err := measure.NewRunner(runUnder)
	if err != nil {
		return c.hint("%w", err)
	}
	said, err := r.Describe(p.Model, p.Platform, p.Program)
	if asksForHelp(rest) {
		c.help(out)
		if err != nil { // the program cannot say what it has
			return nil
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(log, said)
	return p.run(r, rest, out, log)
}

// run runs the program.
func (p *benchPlan) run(r *measure.Runner, args []string, out, log io.Writer) error {
	var read []string
	if p.Weights != "" {
		args, read = append([]string{"--weights=" + p.Weights}, args...), []string{p.Weights}
	}
	run, err := r.Command(p.Program, read, args...)
	if err != nil {
		return err
	}
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, out, log
	err = run.Run()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return fmt.Errorf("the program ended with %w", err)
	}
	return err
}

// ownOptions divides arguments: those of the names, with their values, and the others.
func ownOptions(args []string, names ...string) (own, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, whole := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		mine := false
		for _, n := range names {
			mine = mine || strings.HasPrefix(args[i], "-") && n == name
		}
		switch {
		case !mine:
			rest = append(rest, args[i])
		case whole || i+1 == len(args):
			own = append(own, args[i])
		default:
			own = append(own, args[i], args[i+1])
			i++
		}
	}
	return own, rest
}

func asksForHelp(args []string) bool {
	for _, a := range args {
		if a == "-h" || a == "-help" || a == "--help" {
			return true
		}
	}
	return false
}

func readBenchPlan(path string) (*benchPlan, error) {
	data, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	p := &benchPlan{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Program == "" || p.Model == "" {
		return nil, fmt.Errorf("%s: want a model and a program", path)
	}
	if p.Program, err = filepath.Abs(p.Program); err == nil && p.Weights != "" {
		p.Weights, err = filepath.Abs(p.Weights)
	}
	return p, err
}
