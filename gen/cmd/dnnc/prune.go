package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/compress/prune/policy"
	"rules_dnn/gen/compress/prune/sensitivity"
	"rules_dnn/gen/graph/shape"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

const pruneDoc = `dnnc prune makes the weights of an ONNX model sparse by patterns and connectivity, as PatDNN does, and writes the model.

It does not train. With --settings it projects the given weights once: each kernel of a convolution keeps the taps of one of a few
patterns, and the weakest kernels are dropped. With --masks it applies the masks of a trained network. Everything else in the model and
its external data stays the same, byte for byte.

Settings are a JSON object with these defaults:
  {"patterns": 8, "entries": {"3x3": 4}, "set": "model", "connectivity": 1, "fully_connected": 1, "share": 1, "packed": false,
   "exempt_first": true}
  patterns         number of patterns in the set; 0 keeps kernels whole
  entries          number of taps that kernels of a size keep; kernels of other sizes are kept whole
  set              "model": one set of patterns; "layer": a set for each layer
  connectivity     convolutions keep 1 of this many kernels; 1 keeps all
  fully_connected  the same for Gemm and MatMul, whose kernels are single weights
  share            number of consecutive filters with the same kernels: 1, 4, 8 or 16
  packed           whether the compiler takes kernels that store only the remaining weights, if it has one for the layer, even if
                   others are faster; by default it takes another kernel that is faster by 10 %
  exempt_first     whether the first layer stays dense
  exempt           further layers that stay dense, by the names of weights or nodes
  sensitivity      numbers for policies, by names of weights; --samples measures the layers that are not named here

--policy is a file in Starlark with a function that decides for each layer that is not exempt:
  def policy(layer):
      if layer.op == "Gemm" or layer.macs_share < 0.01:
          return dense
      return settings(connectivity = 5 if layer.position > layer.count // 2 else 2)
A layer has name, node, op, shape, filters, channels, kernel ("3x3"), groups, depthwise, position, count (number of layers), weights, macs,
macs_share, sensitivity (None if unknown), and patterns, entries, connectivity, share and packed from the settings. settings() takes these
five, with the same defaults; dense leaves the layer as it is. With --samples, the sensitivity is the increase of the loss on
these labelled inputs when only this layer is pruned by the settings, without training.

Examples:
  8 patterns and 1 of 3.6 kernels; together, 1 of 8 weights remains, as in PatDNN:
    echo '{"connectivity": 3.6}' > settings.json
    dnnc prune --src=net.onnx --settings=settings.json --out=pruned.onnx --out-masks=net.masks --out-report=net.pruning.json
  More kernels for sensitive layers. The sensitivity is measured on 256 labelled images by pruning one layer at a time; the report has it:
    printf 'def policy(layer):\n    return settings(connectivity = 2 if layer.sensitivity > 0.1 else 5)\n' > policy.star
    dnnc prune --src=net.onnx --settings=settings.json --policy=policy.star --samples=images.safetensors --out=pruned.onnx --out-page=net.html
  The masks with which a network was trained:
    dnnc prune --src=trained.onnx --masks=net.masks --out=pruned.onnx
  The same, but 'dnnc compile --pruning' then makes the library smaller by all dropped weights, even if it becomes slower:
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
	c.Var(&f.graph.dims, "dim", "`SYMBOL=NUMBER` or SYMBOL=LOW..HIGH binds or bounds a symbolic dimension, to count operations; may be repeated")
	c.StringVar(&f.settings, "settings", "", "`FILE`: settings that project the weights once, without training")
	c.StringVar(&f.policy, "policy", "", "`FILE` in Starlark that decides for each layer (only with --settings)")
	c.StringVar(&f.masks, "masks", "", "`FILE` of masks to apply")
	c.StringVar(&f.graph.out, "out", "", "`FILE` where the pruned model goes")
	c.Var(&f.outExternal, "out-external", "`LOCATION=PATH` where a changed file of --external goes; may be repeated")
	c.StringVar(&f.outMasks, "out-masks", "", "`FILE` where the masks go")
	c.StringVar(&f.outReport, "out-report", "", "`FILE` where the report goes, JSON: sparsity by layer, patterns and their frequencies, weights, operations and bytes")
	c.StringVar(&f.outPage, "out-page", "", "`FILE` where the report goes as a page with pictures, HTML")
	c.StringVar(&f.log, "log", "", "`FILE`: the log of training, with accuracies, losses and residuals, for the page")
	c.StringVar(&f.calibration, "calibration", "", "`FILE` of inputs (safetensors, by the names of the model's inputs) from which the mean and variance of BatchNormalizations are computed again")
	c.StringVar(&f.samples, "samples", "", "`FILE` of labelled inputs (as --calibration, with a tensor \"labels\") on which each layer's sensitivity is measured, for the policy and the report (only with --settings)")
	c.BoolVar(&f.shrink, "shrink", false, "remove filters and channels that are empty or unread, and the nodes that compute and read them; writes a new model")
	c.BoolVar(&f.packed, "packed", false, "for all layers of the masks, take kernels that store only the remaining weights, if the compiler has one, even if others are faster (only with --masks; settings have \"packed\")")
	f.warn.register(c.FlagSet)
	if err := c.parse(args, out); err != nil {
		return err
	}
	if (f.settings == "") == (f.masks == "") {
		return c.hint("want one of --settings, which projects weights, and --masks, which applies masks")
	}
	if f.policy != "" && f.settings == "" {
		return c.hint("--policy=%s: only --settings has a policy; leave it out with --masks", f.policy)
	}
	if f.samples != "" && f.settings == "" {
		return c.hint("--samples=%s: only --settings uses samples; leave them out with --masks", f.samples)
	}
	if f.packed && f.masks == "" {
		return c.hint("--packed: only for --masks; with --settings, write \"packed\": true in the file")
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
		return nil, fmt.Errorf("%s: pruning settings: %w", f.settings, err)
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
