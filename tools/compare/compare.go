package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"rules_dnn/gen/ir"
	"rules_dnn/tools/check"
	"rules_dnn/tools/command"
)

// outcome is what a comparison came to.
type outcome struct {
	times   times
	runs    []runOutcome
	divided *divided // nil: there is no device
	starts  *starts  // nil: they were not measured
	weights int64
	only    bool // compiled, and not run
}

// runOutcome is one run's: the greatest error, relative to the range of the output that it is in,
// how many outputs are wrong, and, where it was timed, times and ratios.
type runOutcome struct {
	inputs  []string // "x f32[1 3 224 224]"
	rel     float64
	abs     float64 // the greatest error itself
	wrong   int
	seconds float64 // of the first run, with loading the model before it
	timing  *timing
	layers  *layered // nil: they were not compared
}

// compare prints what it finds to out as it goes.
func compare(o *options, out io.Writer) (*outcome, error) {
	work, chips, m, done, err := prepare(o)
	defer done()
	if err != nil {
		return nil, err
	}
	if m.exceeds(o) {
		return m.compileOnly(o, chips, work, out)
	}
	ref, err := chooseReference(o, m, work)
	if err != nil {
		return nil, err
	}
	p, err := makeProgram(o, m, chips, work)
	if err != nil {
		return nil, err
	}
	if p.counted {
		fmt.Fprintf(out, "%s for %s: not compiled, because --counted has its code\n", filepath.Base(o.model), chips)
		return &outcome{times: p.times, weights: m.weights(), only: true}, nil
	}
	fmt.Fprintf(out, "%s for %s, %d thread(s): %s\nreference: %s\n", filepath.Base(o.model), chips, o.threads, p.times, ref.name)
	x := &outcome{times: p.times, weights: m.weights()}
	if o.device != "" {
		if x.divided, err = readDivided(work); err != nil {
			return nil, err
		}
		fmt.Fprintln(out, x.divided)
	}
	if err := x.compareRuns(o, m, p, ref, work, out); err != nil || !o.starts {
		return x, err
	}
	x.starts, err = measureStarts(o, m, p, work, out)
	return x, err
}

// prepare makes the work folder, which done cleans up whatever became of the rest, and reads the
// chips and the model.
func prepare(o *options) (work string, chips library, m *model, done func(), err error) {
	if work, done, err = workFolder(o); err != nil {
		return work, chips, m, func() {}, err
	}
	if chips, err = chooseChips(o, work); err != nil {
		return work, chips, m, done, err
	}
	m, err = open(o, work)
	return work, chips, m, done, err
}

// workFolder returns the folder for intermediate files, and a function that cleans up.
func workFolder(o *options) (string, func(), error) {
	if o.keep != "" {
		dir, err := filepath.Abs(command.Path(o.keep))
		if err == nil {
			err = os.MkdirAll(dir, 0o777)
		}
		return dir, func() {}, err
	}
	dir, err := os.MkdirTemp("", "compare")
	return dir, func() { os.RemoveAll(dir) }, err
}

func (x *outcome) compareRuns(o *options, m *model, p *program, ref *reference, work string, out io.Writer) (err error) {
	s, err := p.serve(o, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	wrong := 0
	for _, run := range o.allRuns() {
		r, err := compareRun(o, m, p, s, ref, run, work, out)
		if err != nil {
			return err
		}
		x.runs = append(x.runs, *r)
		wrong += r.wrong
	}
	if wrong > 0 {
		return fmt.Errorf("%d outputs differ by more than %g of their range", wrong, o.tolerance)
	}
	return nil
}

// allRuns returns the runs from the options, or one default run.
func (o *options) allRuns() []string {
	if len(o.runs) == 0 {
		return []string{""}
	}
	return o.runs
}

// compareRun compares the outputs of one run.
func compareRun(o *options, m *model, p *program, s served, ref *reference, run, work string, out io.Writer) (*runOutcome, error) {
	env, err := m.sizes(run)
	if err != nil {
		return nil, err
	}
	inputs, err := m.inputsOf(o, env)
	if err != nil {
		return nil, err
	}
	r := &runOutcome{}
	for _, v := range m.graph.Inputs {
		r.inputs = append(r.inputs, fmt.Sprintf("%s %s%v", v.Name, v.Type, inputs[v.Name].Shape))
		fmt.Fprintf(out, "input   %s\n", r.inputs[len(r.inputs)-1])
	}
	got, err := s.run(env, inputs)
	if err != nil {
		return nil, err
	}
	if h, ok := s.(*hosted); ok {
		r.seconds = h.firstSeconds()
	}
	reportExecuted(o, s, out)
	if err := p.counter.report(out); err != nil {
		return nil, err
	}
	if ref.run == nil {
		r.rel, r.abs = math.NaN(), math.NaN() // unknown, in a list's table
		return r, nil
	}
	want, err := ref.run(inputs)
	if err != nil {
		return nil, err
	}
	_, dsp := s.(*emulated) // by layer, it would be another program
	far, byLayer := "WRONG", ref.values != nil && len(m.quantized()) > 0 && !dsp
	if byLayer {
		far = "too far; its layers tell why"
	}
	for _, v := range m.graph.Outputs {
		rel, abs, ok := report(out, v.Name, got[v.Name], want[v.Name], o.tolerance, step(v), far)
		r.rel, r.abs = max(r.rel, rel), max(r.abs, abs)
		if !ok {
			r.wrong++
		}
	}
	if o.layers && !byLayer {
		if err := compareFloatLayers(o, m, s, ref, inputs, work, out); err != nil {
			return nil, err
		}
	}
	if (r.wrong > 0 || o.layers) && byLayer {
		// A different rounding in one layer causes others in later layers, so each layer is
		// checked separately.
		if r.layers, err = compareLayers(o, m, ref, inputs, work, out); err != nil {
			return nil, err
		}
		r.wrong = r.layers.wrong
	}
	r.timing, err = timeRun(o, s, ref, inputs, out)
	return r, err
}

// report prints the error of an output, returns it, and reports whether it is small enough;
// otherwise it prints far. Dequantized outputs have steps.
func report(out io.Writer, name string, got, want *ir.Tensor, tolerance, step float64, far string) (rel, abs float64, ok bool) {
	if got == nil || want == nil {
		fmt.Fprintf(out, "output  %s is missing\n", name)
		return math.Inf(1), math.Inf(1), false
	}
	if got.Type == ir.U16 && want.Type == ir.BF16 { // .npy files hold bf16 so
		numbers := *got
		numbers.Type = ir.BF16
		got = &numbers
	}
	d, err := check.Compare(got, want)
	if err != nil {
		fmt.Fprintf(out, "output  %s: %v\n", name, err)
		return math.Inf(1), math.Inf(1), false
	}
	ok = d.Rel() <= tolerance
	verdict := "ok"
	if bytes.Equal(got.Data, want.Data) {
		verdict = "the same bytes"
	}
	if !ok {
		verdict = fmt.Sprintf("%s: element %d is %g, want %g", far, d.At, d.Got, d.Want)
	}
	steps := ""
	if step > 0 {
		steps = fmt.Sprintf(" (%.3g quantization steps; %d of %d elements differ)", d.Abs/step, d.Differ, want.Len())
	}
	fmt.Fprintf(out, "output  %s %s%v: largest error %.3g absolute%s, %.3g of the range %.4g: %s\n",
		name, want.Type, want.Shape, d.Abs, steps, d.Rel(), d.Range, verdict)
	return d.Rel(), d.Abs, ok
}
