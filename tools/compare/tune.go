package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/selection/measure"
	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

// roundsOfTuning is the default number of measurements of each program.
const roundsOfTuning = 20

// tuned measures the kernels of a list's model if its line asks for it, and returns the options
// that use the record. The number of rounds is the default of records, because --rounds applies to
// the comparison.
func (o *options) tuned(log io.Writer) (*options, error) {
	if o.tune == "" {
		return o, nil
	}
	measured := *o
	measured.rounds = roundsOfTuning
	if err := tune(&measured, log); err != nil {
		return nil, fmt.Errorf("%s: %w", o.tune, err)
	}
	tuned := *o
	tuned.tune, tuned.tuning = "", o.tune
	return &tuned, nil
}

// tune makes a program of each candidate and measures them, and those of as many searches as are
// asked for.
func tune(o *options, out io.Writer) error {
	var plan files.Plan
	plan.Input("the model "+o.model, o.model)
	plan.Output("--tune="+o.tune, command.Path(o.tune))
	if err := plan.Check(); err != nil {
		return err
	}
	work, done, err := workFolder(o)
	if err != nil {
		return err
	}
	defer done()
	if o.runtime == "" {
		if o.runtime, err = os.MkdirTemp(work, "runtime"); err != nil {
			return err
		}
	}
	if o.dnnc, err = compiler(o, work); err != nil {
		return err
	}
	m, err := open(o, work)
	if err != nil {
		return err
	}
	first := 0
	if _, err := os.Stat(command.Path(o.tune)); err == nil && o.search > 0 && !o.again {
		first = 1 // what is known leads on, and of other blocks what is proposed is measured first
	}
	for i := first; i <= o.search; i++ {
		programs, err := candidates(o, m, work, out, i > 0)
		if err != nil {
			return err
		}
		one := *o
		one.again = o.again && i == 0
		if err := one.measure(programs, out); err != nil {
			return err
		}
	}
	return nil
}

// candidates makes the programs: of the kernels that are proposed, or that a search finds by the
// record.
func candidates(o *options, m *model, work string, out io.Writer, searched bool) ([]measure.Program, error) {
	var programs []measure.Program
	for i := 1; i <= o.candidates; i++ {
		dir := filepath.Join(work, fmt.Sprintf("candidate%d", i))
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o777)); err != nil {
			return nil, err
		}
		chips, err := chooseChips(o, dir)
		if err != nil {
			return nil, err
		}
		args := []string{fmt.Sprintf("--candidate=%d", i)}
		if searched {
			args = append(args, "--tuning="+command.Path(o.tune))
		}
		p, err := makeProgram(o, m, chips, dir, args...)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "candidates %d of %d for %s: %s\n", i, o.candidates, chips, p.times)
		programs = append(programs, measure.Program{Program: dir + "/program", Manifest: filepath.Join(dir, build.Manifest), Weights: dir + "/model.weights"})
	}
	return programs, nil
}

// measure measures programs in turns.
func (o *options) measure(programs []measure.Program, out io.Writer) error {
	rounds := o.rounds
	if rounds == 0 {
		rounds = roundsOfTuning
	}
	var args []string
	for _, run := range o.runs {
		args = append(args, "--dims="+run)
	}
	return measure.Run(programs, measure.Options{Record: command.Path(o.tune), Rounds: rounds, Seconds: o.seconds, Threads: o.threads, Again: o.again, Args: args, Regret: o.regret}, out)
}
