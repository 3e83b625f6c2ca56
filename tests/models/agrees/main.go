// Command agrees runs a compiled model on the numbers of check.Input and fails
// unless its one output is another engine's, which a .npy file holds.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
	"rules_dnn/tools/command"
)

const usage = `agrees runs a compiled model, and fails unless its one output is another engine's.

usage: agrees [options]

options:
`

func main() {
	command.Exit("agrees", agrees(os.Args[1:]))
}

func agrees(args []string) error {
	fs := command.Options("agrees")
	program := fs.String("program", "", "the model's program, of dnn_benchmark")
	weights := fs.String("weights", "", "its file of weights, if it has one")
	input := fs.String("input", "", "NAME=1,3,224,224: the input and its shape")
	reference := fs.String("reference", "", "the output to be expected (.npy)")
	tolerance := fs.Float64("tolerance", 1e-4, "largest difference, relative to the output's range")
	threads := fs.Int("threads", 1, "threads to run with")
	if err := command.Parse(fs, args, usage, os.Stderr); err != nil {
		return err
	}
	if *program == "" {
		return errors.New("want --program; --help shows what there is")
	}
	started := []string{*program}
	if *weights != "" {
		started = append(started, "--weights="+*weights)
	}
	if err := run(started, *threads, *input, *reference, *tolerance); err != nil {
		return fmt.Errorf("%s: %w", *program, err)
	}
	return nil
}

func run(program []string, threads int, input, reference string, tolerance float64) error {
	name, x, err := parseInput(input)
	if err != nil {
		return err
	}
	want, err := check.ReadNpy(reference)
	if err != nil {
		return err
	}
	got, err := answer(program, threads, map[string]*ir.Tensor{name: x})
	if err != nil {
		return err
	}
	d, err := check.Compare(got, want)
	if err != nil {
		return err
	}
	fmt.Printf("largest error %.3g absolute, %.3g of the output's range %.4g\n", d.Abs, d.Rel(), d.Range)
	if !(d.Rel() <= tolerance) {
		return fmt.Errorf("element %d is %g, want %g: more than %g of the range apart", d.At, d.Got, d.Want, tolerance)
	}
	return nil
}

// answer is the model's one output.
func answer(program []string, threads int, inputs map[string]*ir.Tensor) (t *ir.Tensor, err error) {
	dir, err := os.MkdirTemp("", "agrees")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := check.Start(dir, threads, program...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	outputs, err := s.Run(inputs)
	if err != nil {
		return nil, err
	}
	if len(outputs) != 1 {
		return nil, fmt.Errorf("the model has %d outputs, want 1", len(outputs))
	}
	for _, t = range outputs {
	}
	return t, nil
}

func parseInput(s string) (string, *ir.Tensor, error) {
	name, dims, _ := strings.Cut(s, "=")
	var shape []int64
	for _, d := range strings.Split(dims, ",") {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil || n < 1 {
			return "", nil, fmt.Errorf("--input=%s: want NAME=1,3,224,224", s)
		}
		shape = append(shape, n)
	}
	return name, check.Input(ir.F32, shape, 0, 1), nil
}
