package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/selection/measure"
)

const tuneDoc = `dnnc tune measures the candidate kernels of a model's blocks, and writes the record that builds read.

'bazel run -c opt NAME.tune' runs it for the dnn_model NAME, with a program for each candidate. The programs take turns, in whole
runs of the model. The record is written after each round: an interrupted run continues there, and
times in the record are not measured again. Paths are relative to the working directory, the record's to
$BUILD_WORKSPACE_DIRECTORY if that is set.

Examples:
  Measure in one thread; then set tuning = "NAME.tune.json" in the dnn_model:
    bazel run -c opt //app:model.tune
  Measure everything again, in two threads and longer, because kernels changed:
    bazel run -c opt //app:model.tune -- --again --threads=2 --rounds=40
  Measure the next candidates of a genetic search, whose performance model learns from the record (tuning = in the dnn_model); each further run
  continues the search. It prints how well the model orders the kernels of blocks that it did not learn from, and how much longer than
  the fastest kernels those chosen by estimates take:
    bazel run -c opt --@rules_dnn//rules:search //app:model.tune
  A model with backend = "opencl", on an OpenCL device with the facts of dnn_model's device; choose it by number or name:
    bazel run -c opt //app:model_opencl.tune -- --program-arg=--device=0
  Only the four candidates of each block with the best estimates, and a value of a symbol:
    bazel run -c opt //app:model.tune -- --candidates=4 --dims=N=8
  A model with target = "@rules_dnn//platforms:android_arm64", on a device that adb reaches; or one in an emulator, to see that it works:
    bazel run -c opt //app:model_android.tune -- --run_under=adb
    bazel run -c opt //app:model_arm64.tune -- --run_under='qemu-aarch64 -L /usr/aarch64-linux-gnu'
  Without Bazel: plan.json is {"record": "net.tune.json", "programs": [{"program": "PATH", "manifest": "PATH", "weights": "PATH"}, ...]}
  with a program of runtime/bench for each of 'dnnc compile --candidate=1', --candidate=2, and so on:
    dnnc tune --plan=plan.json
`

// tunePlan is what the rules write for NAME.tune.
type tunePlan struct {
	Record   string            `json:"record"`
	Model    string            `json:"model"`    // its label
	Platform string            `json:"platform"` // likewise
	Programs []measure.Program `json:"programs"`
	path     string
}

// check refuses a record that cannot be written, or is one of the files that measuring reads.
func (p *tunePlan) check(record string) error {
	var plan files.Plan
	plan.Output("the record "+record, record)
	plan.Input("--plan="+p.path, p.path)
	for i, x := range p.Programs {
		plan.Input(fmt.Sprintf("program %d", i+1), x.Program)
		plan.Input(fmt.Sprintf("program %d's manifest", i+1), x.Manifest)
		if x.Weights != "" {
			plan.Input(fmt.Sprintf("program %d's weights", i+1), x.Weights)
		}
	}
	return plan.Check()
}

// tuneCommand is `dnnc tune`.
func tuneCommand(args []string, out io.Writer) error {
	var plan, runUnder, dims string
	var candidates int
	o := measure.Options{}
	c := newCommand("dnnc tune", tuneDoc, "plan")
	c.StringVar(&plan, "plan", "", "`FILE` that names the record and the programs (JSON)")
	c.StringVar(&o.Record, "record", "", "`FILE`: the record, instead of the plan's")
	c.IntVar(&candidates, "candidates", 0, "maximum `NUMBER` of kernels measured for a block; 0: the number of programs")
	c.IntVar(&o.Rounds, "rounds", 20, "`NUMBER` of rounds; every program runs in each round")
	c.Float64Var(&o.Seconds, "seconds", 0.1, "how long a program measures in a round; with many short rounds, other work of the machine disturbs less than with few long ones")
	c.IntVar(&o.Threads, "threads", 1, "`NUMBER` of threads")
	c.BoolVar(&o.Again, "again", false, "measure all kernels again, and drop other times of this chip or device from the record")
	c.StringVar(&dims, "dims", "", "`SYMBOL=N,...`: sizes of the model's symbols, as for NAME_bench")
	c.Var((*list)(&o.Args), "program-arg", "`ARGUMENT` for the programs, as in --input=NAME=FILE.npy; may be repeated")
	c.StringVar(&runUnder, "run_under", "", runUnderDoc)
	if err := c.parse(args, out); err != nil {
		return err
	}
	if o.Rounds < 1 || o.Threads < 1 || candidates < 0 || !(o.Seconds >= 0) {
		return c.hint("--rounds=%d, --threads=%d, --candidates=%d, --seconds=%g: want rounds and threads >= 1, candidates and seconds >= 0", o.Rounds, o.Threads, candidates, o.Seconds)
	}
	p, err := readTunePlan(plan)
	if err != nil {
		return err
	}
	if dims != "" {
		o.Args = append([]string{"--dims=" + dims}, o.Args...)
	}
	if o.Runner, err = measure.NewRunner(runUnder); err != nil {
		return c.hint("%w", err)
	}
	p.path = plan
	if candidates > 0 {
		p.Programs = p.Programs[:min(candidates, len(p.Programs))]
	}
	from := os.Getenv("BUILD_WORKSPACE_DIRECTORY")
	if o.Record != "" {
		from = os.Getenv("BUILD_WORKING_DIRECTORY")
	} else {
		o.Record = p.Record
	}
	if !filepath.IsAbs(o.Record) {
		o.Record = filepath.Join(from, o.Record)
	}
	if err := p.check(o.Record); err != nil {
		return err
	}
	if p.Model != "" {
		said, err := o.Runner.Describe("kernels of "+p.Model, p.Platform, p.Programs[0].Program)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, said)
	}
	if err := measure.Run(p.Programs, o, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %s\n", o.Record)
	return nil
}

func readTunePlan(path string) (*tunePlan, error) {
	data, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	p := &tunePlan{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Record == "" || len(p.Programs) == 0 {
		return nil, fmt.Errorf("%s: want a record and programs", path)
	}
	for i := range p.Programs {
		// Programs look for relative paths where the user is.
		if w := &p.Programs[i].Weights; *w != "" {
			if *w, err = filepath.Abs(*w); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}
