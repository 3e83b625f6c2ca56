// Command agrees runs a compiled model on the numbers of check.Input and fails
// unless its one output is another engine's, which a .npy file holds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

func main() {
	program := flag.String("program", "", "the model's program, of dnn_benchmark")
	weights := flag.String("weights", "", "its file of weights, if it has one")
	input := flag.String("input", "", "NAME=1,3,224,224: the input and its shape")
	reference := flag.String("reference", "", "the output to be expected (.npy)")
	tolerance := flag.Float64("tolerance", 1e-4, "largest difference, relative to the output's range")
	threads := flag.Int("threads", 1, "threads to run with")
	flag.Parse()
	command := []string{*program}
	if *weights != "" {
		command = append(command, "--weights="+*weights)
	}
	if err := run(command, *threads, *input, *reference, *tolerance); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", *program, err)
		os.Exit(1)
	}
}

func run(command []string, threads int, input, reference string, tolerance float64) error {
	name, x, err := parseInput(input)
	if err != nil {
		return err
	}
	want, err := check.ReadNpy(reference)
	if err != nil {
		return err
	}
	got, err := answer(command, threads, map[string]*ir.Tensor{name: x})
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
func answer(command []string, threads int, inputs map[string]*ir.Tensor) (t *ir.Tensor, err error) {
	dir, err := os.MkdirTemp("", "agrees")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := check.Start(dir, threads, command...)
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
