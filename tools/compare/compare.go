package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
)

func compare(o *options) error {
	work, done, err := workFolder(o)
	if err != nil {
		return err
	}
	defer done()
	chip, err := chooseChip(o, work)
	if err != nil {
		return err
	}
	m, err := open(o, work)
	if err != nil {
		return err
	}
	ref, err := chooseReference(o, m, work)
	if err != nil {
		return err
	}
	p, err := build(o, m, chip, work)
	if err != nil {
		return err
	}
	fmt.Printf("%s for %s, %d thread(s): %s\nreference: %s\n", filepath.Base(o.model), chip.Name, o.threads, p.times, ref.name)
	return compareRuns(o, m, p, ref, work)
}

// workFolder is where intermediate files go, and what cleans up.
func workFolder(o *options) (string, func(), error) {
	if o.keep != "" {
		dir, err := filepath.Abs(o.path(o.keep))
		if err == nil {
			// Sources of another run would be compiled too.
			err = errors.Join(os.RemoveAll(filepath.Join(dir, "kernels")), os.MkdirAll(dir, 0o777))
		}
		return dir, func() {}, err
	}
	dir, err := os.MkdirTemp("", "compare")
	return dir, func() { os.RemoveAll(dir) }, err
}

func compareRuns(o *options, m *model, p *program, ref *reference, work string) (err error) {
	s, err := check.Start(work, o.threads, p.command...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	runs := o.runs
	if len(runs) == 0 {
		runs = list{""}
	}
	wrong := 0
	for _, run := range runs {
		n, err := compareRun(o, m, s, ref, run)
		if err != nil {
			return err
		}
		wrong += n
	}
	if wrong > 0 {
		return fmt.Errorf("%d outputs differ by more than %g of their range", wrong, o.tolerance)
	}
	return nil
}

// compareRun compares the outputs of one run and counts those that are wrong.
func compareRun(o *options, m *model, s *check.Server, ref *reference, run string) (int, error) {
	env, err := m.sizes(run)
	if err != nil {
		return 0, err
	}
	inputs, err := m.inputsOf(o, env)
	if err != nil {
		return 0, err
	}
	for _, v := range m.graph.Inputs {
		fmt.Printf("input   %s %s%v\n", v.Name, v.Type, inputs[v.Name].Shape)
	}
	got, err := s.Run(inputs)
	if err != nil {
		return 0, err
	}
	want, err := ref.run(inputs)
	if err != nil {
		return 0, err
	}
	wrong := 0
	for _, v := range m.graph.Outputs {
		if !report(v.Name, got[v.Name], want[v.Name], o.tolerance) {
			wrong++
		}
	}
	return wrong, timeRun(o, s, ref, inputs)
}

// report prints how far an output is from the reference, and tells whether that is near enough.
func report(name string, got, want *ir.Tensor, tolerance float64) bool {
	if got == nil || want == nil {
		fmt.Printf("output  %s is missing\n", name)
		return false
	}
	// .npy files hold bf16 as u16: it is compared bit by bit.
	d, err := check.Compare(got, want)
	if err != nil {
		fmt.Printf("output  %s: %v\n", name, err)
		return false
	}
	ok := d.Rel() <= tolerance
	verdict := "ok"
	if !ok {
		verdict = fmt.Sprintf("WRONG: element %d is %g, want %g", d.At, d.Got, d.Want)
	}
	fmt.Printf("output  %s %s%v: largest error %.3g absolute, %.3g of the range %.4g: %s\n",
		name, want.Type, want.Shape, d.Abs, d.Rel(), d.Range, verdict)
	return ok
}
