package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rules_dnn/gen/files"
	"rules_dnn/gen/measure"
)

// roundsOfTuning is how often each program is measured where nobody says otherwise.
const roundsOfTuning = 20

// tuned measures the kernels of a list's model, where its line asks for that, in as many rounds as a record has where nobody
// says otherwise: --rounds are of the comparison. It gives the options to compare what the record chooses.
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

// tune makes a program of each candidate and measures them.
func tune(o *options, out io.Writer) error {
	var plan files.Plan
	plan.Input("the model "+o.model, o.model)
	plan.Output("--tune="+o.tune, o.path(o.tune))
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
	var programs []measure.Program
	for i := 1; i <= o.candidates; i++ {
		dir := filepath.Join(work, fmt.Sprintf("candidate%d", i))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		chips, err := chooseChips(o, dir)
		if err != nil {
			return err
		}
		p, err := build(o, m, chips, dir, fmt.Sprintf("--candidate=%d", i))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "candidates %d of %d for %s: %s\n", i, o.candidates, chips, p.times)
		programs = append(programs, measure.Program{Program: dir + "/program", Manifest: dir + "/model.manifest.json", Weights: dir + "/model.weights"})
	}
	rounds := o.rounds
	if rounds == 0 {
		rounds = roundsOfTuning
	}
	var args []string
	for _, run := range o.runs {
		args = append(args, "--dims="+run)
	}
	return measure.Run(programs, measure.Options{Record: o.path(o.tune), Rounds: rounds, Seconds: o.seconds, Threads: o.threads, Again: o.again, Args: args, Regret: o.regret}, out)
}
