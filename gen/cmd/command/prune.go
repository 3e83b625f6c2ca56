package command

import (
	"errors"
	"fmt"
	"os"
	"time"

	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/compress/prune/policy"
	"rules_dnn/gen/compress/prune/sensitivity"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/training/admm"
	"rules_dnn/gen/training/train"
	"rules_dnn/gen/training/trainer"
)

// pruneFlags are the options of `dnntrain admm`.
type pruneFlags struct {
	*common
	pruning, policy       string
	samples               string
	iterations, epochs    int
	steps                 int
	retrain               int
	choose, every         int
	fade                  float64
	rho, growth, most     float64
	settings, retrained   string
	out, outMasks, outLog string
	wait                  *time.Duration
	planned               []string // the trainer that a plan names
}

// runADMM prunes a network.
func runADMM(c *common, args []string) error {
	f := newPruneFlags(c)
	if err := f.Parse(args); err != nil {
		return err
	}
	return f.run()
}

func newPruneFlags(c *common) *pruneFlags {
	f := &pruneFlags{common: c}
	d := admm.Defaults()
	f.StringVar(&f.pruning, "pruning", "{}", "JSON: patterns, connectivity and more, as in dnn_pruning; or @FILE that contains it")
	f.StringVar(&f.policy, "policy", "", "a file in Starlark that decides for each layer, as `dnnc prune --help` describes")
	f.StringVar(&f.samples, "samples", "", "a safetensors file of labelled inputs, on which each layer's sensitivity is measured for the policy, as `dnnc prune --help` describes")
	f.IntVar(&f.iterations, "iterations", d.Iterations, "number of iterations of ADMM")
	f.IntVar(&f.steps, "steps", d.Steps, "number of masked trainings after them, with -settings; each drops a few more kernels")
	f.IntVar(&f.epochs, "epochs", d.Epochs, "epochs of each iteration and step")
	f.IntVar(&f.retrain, "retrain", d.Retrain, "epochs of masked training at the end")
	f.IntVar(&f.choose, "choose", d.Choose, "the first N of these, in which the trainer chooses the masks; 0: the masks are chosen before")
	f.IntVar(&f.every, "every", d.Every, "number of steps between two choices of the masks")
	f.Float64Var(&f.fade, "fade", d.Fade, "weight of a quadratic term that pulls dropped weights to 0 while the trainer chooses the masks")
	f.Float64Var(&f.rho, "rho", d.Rho, "weight of the quadratic terms in the first iteration")
	f.Float64Var(&f.growth, "growth", d.Growth, "factor by which rho grows in each further iteration")
	f.Float64Var(&f.most, "most", d.Most, "maximum of rho")
	f.StringVar(&f.settings, "settings", "{}", "JSON: settings of training, as in docs/trainers.md; or @FILE that contains them")
	f.StringVar(&f.retrained, "retrain-settings", "", "other settings of the masked training at the end; default: the same")
	f.StringVar(&f.out, "out", "", "where the pruned ONNX model goes; default: pruned.onnx in the folder")
	f.StringVar(&f.outMasks, "out-masks", "", "where its masks go; default: pruned.masks in the folder")
	f.StringVar(&f.outLog, "out-log", "", "where accuracies and residuals go; default: log.json in the folder")
	f.wait = f.patience()
	return f
}

func (f *pruneFlags) run() error {
	request, n, err := f.request()
	if err != nil {
		return err
	}
	if f.choose > 0 && len(f.trainer()) == 0 {
		return errors.New("-choose: the built-in trainer cannot choose masks while it trains; name one that can, such as trainers/pytorch, after --, or leave the option out")
	}
	if err := f.outputs(); err != nil {
		return err
	}
	write, err := newModelWriter(request.Model, n)
	if err != nil {
		return err
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	r := &admm.Run{Options: options, Folder: f.folder, Request: request, Log: f.log()}
	r.Trainer = pick(f.trainer(), *f.wait, f.log())
	p, err := f.plan(request.Model)
	if err != nil {
		return err
	}
	if r.Layers = admm.Layers(p.layers, p.plan); len(r.Layers) == 0 {
		return errors.New("nothing is pruned: the settings leave all layers dense; set patterns, connectivity or fully_connected")
	}
	out, err := r.Prune(trainer.Tensors(n))
	if err != nil {
		return err
	}
	return f.write(write, p, r, out)
}

// outputs are known before hours of training.
func (f *pruneFlags) outputs() error {
	for _, x := range []struct {
		path         *string
		name, option string
	}{{&f.out, "pruned.onnx", "-out"}, {&f.outMasks, "pruned.masks", "-out-masks"}, {&f.outLog, "log.json", "-out-log"}} {
		var err error
		if *x.path, err = f.in(*x.path, x.name, x.option); err != nil {
			return err
		}
	}
	return nil
}

// trainer is the command of the plan, or what follows --.
func (f *pruneFlags) trainer() []string {
	if len(f.Args()) > 0 {
		return f.Args()
	}
	return f.planned
}

// options are the schedule.
func (f *pruneFlags) options() (admm.Options, error) {
	o := admm.Defaults()
	o.Iterations, o.Steps, o.Epochs, o.Retrain = f.iterations, f.steps, f.epochs, f.retrain
	o.Choose, o.Every, o.Fade = f.choose, f.every, f.fade
	o.Rho, o.Growth, o.Most = f.rho, f.growth, f.most
	if f.retrained == "" {
		f.retrained = f.settings
	}
	for _, x := range []struct {
		flag, text string
		to         *train.Settings
	}{{"-settings", f.settings, &o.Train}, {"-retrain-settings", f.retrained, &o.Tune}} {
		if err := settings(x.text, x.to); err != nil {
			return o, fmt.Errorf("%s: %w", x.flag, err)
		}
	}
	o.Train.Schedule = "constant"
	return o, nil
}

// plan is what becomes of a model's layers.
type plan struct {
	options prune.Options
	layers  []*prune.Layer
	plan    *prune.Plan
}

func (f *pruneFlags) plan(model string) (*plan, error) {
	text, err := argument(f.pruning)
	if err != nil {
		return nil, fmt.Errorf("-pruning: %w", err)
	}
	p := &plan{}
	if p.options, err = prune.ParseOptions([]byte(text)); err != nil {
		return nil, fmt.Errorf("-pruning: %w", err)
	}
	decide, err := f.decide()
	if err != nil {
		return nil, err
	}
	file, err := readModel(model)
	if err != nil {
		return nil, err
	}
	g, err := onnx.Read(file, nil, onnx.Options{})
	if err != nil {
		return nil, err
	}
	if err := shape.Infer(g); err != nil { // policies read numbers of operations
		return nil, err
	}
	p.layers, _ = prune.Layers(g)
	if f.samples != "" {
		if p.options, err = f.measure(g, p); err != nil {
			return nil, fmt.Errorf("%s: %w", f.samples, err)
		}
	}
	p.plan, err = prune.Choose(p.layers, p.options, decide)
	return p, err
}

// measure adds to the options what each layer alone loses by them.
func (f *pruneFlags) measure(g *ir.Graph, p *plan) (prune.Options, error) {
	file, err := readModel(f.samples)
	if err != nil {
		return p.options, err
	}
	inputs, labels, err := samples.Labelled(g, file)
	if err != nil {
		return p.options, err
	}
	found, err := sensitivity.Measure(g, p.layers, p.options, inputs, labels)
	if err != nil {
		return p.options, err
	}
	for _, a := range found.Layers {
		fmt.Fprintf(f.log(), "%s alone: loss %.4f, accuracy %.4f\n", a.Name, a.Loss, a.Accuracy)
	}
	return p.options.Sensitive(found), nil
}

// decide is the policy; nil where there is none.
func (f *pruneFlags) decide() (prune.Policy, error) {
	if f.policy == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.policy)
	if err != nil {
		return nil, err
	}
	return policy.Parse(f.policy, text)
}
