package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rules_dnn/gen/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/masks"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/prune"
	"rules_dnn/gen/prune/policy"
	"rules_dnn/gen/prune/sensitivity"
	"rules_dnn/gen/shape"
)

const pruneDoc = `dnnc prune makes the weights of an ONNX model sparse by patterns and connectivity, as PatDNN does, and writes the model.

It trains nothing. With --settings it projects the weights as they are, once: kernels of a convolution keep the taps of one of a few
patterns, and the weakest kernels are dropped. With --masks it keeps what the masks of a trained network keep. All else of the model and of
its external data stays as it is, byte for byte.

Settings are a JSON object; what is left out has these values:
  {"patterns": 8, "entries": {"3x3": 4}, "set": "model", "connectivity": 1, "fully_connected": 1, "share": 1, "packed": false,
   "exempt_first": true}
  patterns         how many the set has; 0: kernels are kept whole
  entries          how many taps kernels of a size keep; those of other sizes are kept whole
  set              what has one set of patterns: "model" or each "layer"
  connectivity     how many times fewer kernels convolutions keep; 1 keeps all
  fully_connected  the same of Gemm and MatMul, whose kernels are single weights
  share            how many filters in a row have the same kernels: 1, 4, 8 or 16
  packed           whether compiled layers have the kernels that store what is left of weights and nothing else, where there are such, even if
                   others are faster; by default others are taken that are faster by a tenth
  exempt_first     whether the first layer stays dense
  exempt           names of weights, or of nodes, of further layers that stay dense
  sensitivity      numbers by names of weights, which a policy reads; --samples measures them of layers that are not named here

--policy is a file in Starlark with a function that decides for each layer that is not exempt:
  def policy(layer):
      if layer.op == "Gemm" or layer.macs_share < 0.01:
          return dense
      return settings(connectivity = 5 if layer.position > layer.count // 2 else 2)
A layer has name, node, op, shape, filters, channels, kernel ("3x3"), groups, depthwise, position, count (of layers), weights, macs,
macs_share, sensitivity (None: not known), and patterns, entries, connectivity, share and packed as the settings say. settings() takes these
five, and what is left out is as the settings say; dense leaves the layer as it is. With --samples the sensitivity is by how much the loss of
these labelled inputs grows when the layer alone is pruned as the settings say, without training.

Examples:
  8 patterns and 3.6 times fewer kernels, which together are PatDNN's 8 times fewer weights:
    echo '{"connectivity": 3.6}' > settings.json
    dnnc prune --src=net.onnx --settings=settings.json --out=pruned.onnx --out-masks=net.masks --out-report=net.pruning.json
  More kernels for layers that need them, by what 256 labelled images lose when each layer alone is pruned; the report has the numbers:
    printf 'def policy(layer):\n    return settings(connectivity = 2 if layer.sensitivity > 0.1 else 5)\n' > policy.star
    dnnc prune --src=net.onnx --settings=settings.json --policy=policy.star --samples=images.safetensors --out=pruned.onnx --out-page=net.html
  The masks of a network that was trained with them:
    dnnc prune --src=trained.onnx --masks=net.masks --out=pruned.onnx
  The same, of which 'dnnc compile --pruning' makes a library that is as much smaller as the weights, even if it is slower:
    dnnc prune --src=trained.onnx --masks=net.masks --packed --out=pruned.onnx --out-report=net.pruning.json
  Weights in a file of their own, which the model calls weights.bin:
    dnnc prune --src=net.onnx --external=weights.bin=weights.bin --settings=settings.json \
      --out=pruned/net.onnx --out-external=weights.bin=pruned/weights.bin
`

// pruneFlags are the options of `dnnc prune`.
type pruneFlags struct {
	graph               graphFlags
	settings, masks     string
	policy              string
	outMasks, outReport string
	outPage, log        string
	calibration         string
	samples             string
	shrink, packed      bool
	outExternal         list
	warn                warnFlags
}

// pruneCommand is `dnnc prune`: ONNX to ONNX.
func pruneCommand(args []string, out, log io.Writer) error {
	var f pruneFlags
	c := newCommand("dnnc prune", pruneDoc, "src", "out")
	c.StringVar(&f.graph.src, "src", "", "`FILE`: the ONNX model")
	c.Var(&f.graph.external, "external", "`LOCATION=PATH` of a file of external data; may be repeated")
	c.Var(&f.graph.dims, "dim", "`SYMBOL=NUMBER` or SYMBOL=LOW..HIGH binds or bounds a symbolic dimension, for numbers of operations; may be repeated")
	c.StringVar(&f.settings, "settings", "", "`FILE`: settings, by which weights are projected once, without training")
	c.StringVar(&f.policy, "policy", "", "`FILE` in Starlark that decides for each layer (with --settings, and only then)")
	c.StringVar(&f.masks, "masks", "", "`FILE` of masks to apply")
	c.StringVar(&f.graph.out, "out", "", "`FILE` where the pruned model goes")
	c.Var(&f.outExternal, "out-external", "`LOCATION=PATH` where a file of external data goes, which --external names; may be repeated")
	c.StringVar(&f.outMasks, "out-masks", "", "`FILE` where the masks go")
	c.StringVar(&f.outReport, "out-report", "", "`FILE` where the report goes, JSON: sparsity by layer, patterns and their frequencies, weights, operations and bytes")
	c.StringVar(&f.outPage, "out-page", "", "`FILE` where the report goes as a page with pictures, HTML")
	c.StringVar(&f.log, "log", "", "`FILE` of what training wrote as its log, for the page: accuracies, losses and residuals")
	c.StringVar(&f.calibration, "calibration", "", "`FILE` of inputs (safetensors, by the names of the model's inputs), of which BatchNormalizations get their mean and variance anew")
	c.StringVar(&f.samples, "samples", "", "`FILE` of labelled inputs (as --calibration, with a tensor \"labels\"), by which each layer's sensitivity is measured, for the policy and the report (with --settings, and only then)")
	c.BoolVar(&f.shrink, "shrink", false, "take out filters and channels that are empty or not read, with what computes and reads them; the model is written anew")
	c.BoolVar(&f.packed, "packed", false, "ask, of all layers of the masks, for kernels that store what is left of weights and nothing else, where there are such, even if others are faster (with --masks, and only then: settings say it themselves)")
	f.warn.register(c.FlagSet)
	if err := c.parse(args, out); err != nil {
		return err
	}
	if (f.settings == "") == (f.masks == "") {
		return c.hint("want one of --settings, by which weights are projected, and --masks, which are applied")
	}
	if f.policy != "" && f.settings == "" {
		return c.hint("--policy=%s: only --settings has a policy; masks say all", f.policy)
	}
	if f.samples != "" && f.settings == "" {
		return c.hint("--samples=%s: only --settings has a use for them; masks say all", f.samples)
	}
	if f.packed && f.masks == "" {
		return c.hint("--packed: only --masks takes it; settings say \"packed\": true")
	}
	if err := f.warn.check(); err != nil {
		return err
	}
	return f.run(log)
}

// plan is what the command reads and writes.
func (f *pruneFlags) plan() *files.Plan {
	p := &files.Plan{}
	inputs(p, f.graph.external, map[string]string{"src": f.graph.src, "settings": f.settings, "policy": f.policy, "masks": f.masks, "calibration": f.calibration, "samples": f.samples, "log": f.log})
	outputs(p, map[string]string{"out": f.graph.out, "out-masks": f.outMasks, "out-page": f.outPage, "out-report": f.outReport})
	for _, e := range f.outExternal {
		if _, path, ok := strings.Cut(e, "="); ok && path != "" {
			p.Output("--out-external="+e, path)
		}
	}
	return p
}

func (f *pruneFlags) run(log io.Writer) error {
	if err := f.plan().Check(); err != nil {
		return err
	}
	external, err := openExternal(f.graph.external)
	if err != nil {
		return err
	}
	outExternal, err := f.externalPaths(external)
	if err != nil {
		return err
	}
	g, err := f.graph.read()
	if err != nil {
		return err
	}
	// Only the numbers of operations need shapes.
	if err := shape.Infer(g); err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	model, err := openFile(f.graph.src, "")
	if err != nil {
		return err
	}
	p := &pruning{graph: g, network: prune.Find(g), model: model, external: external, outExternal: outExternal}
	if p.place, err = onnx.Places(model, external); err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	return f.prune(p, log)
}

// pruning is a model that is being pruned.
type pruning struct {
	graph       *ir.Graph
	network     *prune.Network
	sensitivity *prune.Sensitivity    // nil: not measured
	changed     map[string]*ir.Tensor // constants by name: pruned weights, statistics
	shrunk      *ir.Graph             // what is written instead of the model; nil: the model with other constants
	model       *ir.File
	external    map[string]*ir.File
	outExternal map[string]string
	place       func(string) (*ir.Source, error)
}

// externalPaths are where files of external data go, by location.
func (f *pruneFlags) externalPaths(external map[string]*ir.File) (map[string]string, error) {
	list, err := readLocated("out-external", f.outExternal)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, l := range list {
		if external[l.location] == nil {
			return nil, fmt.Errorf("--out-external=%s: no --external has this location", f.outExternal[i])
		}
		out[l.location] = l.path
	}
	return out, nil
}

func (f *pruneFlags) prune(p *pruning, log io.Writer) error {
	p.network.Keep(func(l *prune.Layer) error { _, err := p.place(l.Name); return err })
	options, err := f.choose(p)
	if err != nil {
		return err
	}
	report := p.network.Report(filepath.Base(f.graph.src), options)
	report.Sensitivity = p.sensitivity
	if err := p.change(); err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	if err := f.after(p, report); err != nil {
		return err
	}
	told, err := f.warn.lines(f.graph.src, warnings(report))
	if err != nil {
		return err
	}
	if err := f.write(p, report); err != nil {
		return err
	}
	for _, line := range told {
		fmt.Fprintln(log, line)
	}
	return nil
}

// choose makes the network's masks. It gives the options where weights were projected.
func (f *pruneFlags) choose(p *pruning) (*prune.Options, error) {
	n := p.network
	if f.masks != "" {
		file, err := openFile(f.masks, "")
		if err != nil {
			return nil, err
		}
		set, err := masks.Read(file)
		if err == nil {
			for _, m := range set.Layers {
				m.Packed = m.Packed || f.packed
			}
			err = n.Take(set)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.masks, err)
		}
		return nil, nil
	}
	text, err := files.Read(f.settings)
	if err != nil {
		return nil, err
	}
	o, err := prune.ParseOptions(text)
	if err != nil {
		return nil, fmt.Errorf("%s: settings of pruning: %w", f.settings, err)
	}
	decide, err := f.readPolicy()
	if err != nil {
		return nil, err
	}
	if f.samples != "" {
		if p.sensitivity, err = f.measure(p, o); err != nil {
			return nil, err
		}
		o = o.Sensitive(p.sensitivity)
	}
	if err := n.Project(o, decide); err != nil {
		return nil, fmt.Errorf("%s: %w", f.graph.src, err)
	}
	return &o, nil
}

// measure tells what each layer alone costs by the settings, before a policy has its say.
func (f *pruneFlags) measure(p *pruning, o prune.Options) (*prune.Sensitivity, error) {
	inputs, labels, err := readSamples(p.graph, f.samples)
	if err != nil {
		return nil, err
	}
	found, err := sensitivity.Measure(p.graph, p.network.Layers, o, inputs, labels)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.samples, err)
	}
	return found, nil
}

// readPolicy is the policy; nil where there is none. Its errors name the file.
func (f *pruneFlags) readPolicy() (prune.Policy, error) {
	if f.policy == "" {
		return nil, nil
	}
	text, err := files.Read(f.policy)
	if err != nil {
		return nil, err
	}
	return policy.Parse(f.policy, text)
}
