package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/masks"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/prune"
	"rules_dnn/gen/shape"
)

const pruneDoc = `dnnc prune makes the weights of an ONNX model sparse by patterns and connectivity, as PatDNN does, and writes the model.

It trains nothing. With --settings it projects the weights as they are, once: kernels of a convolution keep the taps of one of a few
patterns, and the weakest kernels are dropped. With --masks it keeps what the masks of a trained network keep. All else of the model and of
its external data stays as it is, byte for byte.

Settings are a JSON object; what is left out has these values:
  {"patterns": 8, "entries": {"3x3": 4}, "set": "model", "connectivity": 1, "fully_connected": 1, "share": 1, "exempt_first": true}
  patterns         how many the set has; 0: kernels are kept whole
  entries          how many taps kernels of a size keep; those of other sizes are kept whole
  set              what has one set of patterns: "model" or each "layer"
  connectivity     how many times fewer kernels convolutions keep; 1 keeps all
  fully_connected  the same of Gemm and MatMul, whose kernels are single weights
  share            how many filters in a row have the same kernels: 1, 4, 8 or 16
  exempt_first     whether the first layer stays dense
  exempt           names of weights, or of nodes, of further layers that stay dense
  sensitivity      numbers by names of weights, which a policy reads

Examples:
  8 patterns and 3.6 times fewer kernels, which together are PatDNN's 8 times fewer weights:
    echo '{"connectivity": 3.6}' > settings.json
    dnnc prune --src=net.onnx --settings=settings.json --out=pruned.onnx --out-masks=net.masks --out-report=net.pruning.json
  The masks of a network that was trained with them:
    dnnc prune --src=trained.onnx --masks=net.masks --out=pruned.onnx
  Weights in a file of their own, which the model calls weights.bin:
    dnnc prune --src=net.onnx --external=weights.bin=weights.bin --settings=settings.json \
      --out=pruned/net.onnx --out-external=weights.bin=pruned/weights.bin
`

// pruneFlags are the options of `dnnc prune`.
type pruneFlags struct {
	graph               graphFlags
	settings, masks     string
	outMasks, outReport string
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
	c.StringVar(&f.masks, "masks", "", "`FILE` of masks to apply")
	c.StringVar(&f.graph.out, "out", "", "`FILE` where the pruned model goes")
	c.Var(&f.outExternal, "out-external", "`LOCATION=PATH` where a file of external data goes, which --external names; may be repeated")
	c.StringVar(&f.outMasks, "out-masks", "", "`FILE` where the masks go")
	c.StringVar(&f.outReport, "out-report", "", "`FILE` where the report goes, JSON: sparsity by layer, patterns and their frequencies, weights, operations and bytes")
	f.warn.register(c.FlagSet)
	if err := c.parse(args, out); err != nil {
		return err
	}
	if (f.settings == "") == (f.masks == "") {
		return c.hint("want one of --settings, by which weights are projected, and --masks, which are applied")
	}
	if err := f.warn.check(); err != nil {
		return err
	}
	return f.run(log)
}

// plan is what the command reads and writes.
func (f *pruneFlags) plan() *files.Plan {
	p := &files.Plan{}
	inputs(p, f.graph.external, map[string]string{"src": f.graph.src, "settings": f.settings, "masks": f.masks})
	outputs(p, map[string]string{"out": f.graph.out, "out-masks": f.outMasks, "out-report": f.outReport})
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
	p := &pruning{network: prune.Find(g), model: model, external: external, outExternal: outExternal}
	if p.place, err = onnx.Places(model, external); err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	return f.prune(p, log)
}

// pruning is a model that is being pruned.
type pruning struct {
	network     *prune.Network
	model       *ir.File
	external    map[string]*ir.File
	outExternal map[string]string
	place       func(string) (*ir.Source, error)
}

// externalPaths are where files of external data go, by location.
func (f *pruneFlags) externalPaths(external map[string]*ir.File) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range f.outExternal {
		location, path, ok := strings.Cut(e, "=")
		switch {
		case !ok || location == "" || path == "":
			return nil, fmt.Errorf("--out-external=%s: want LOCATION=PATH", e)
		case out[location] != "":
			return nil, fmt.Errorf("--out-external=%s: the location is given twice", e)
		case external[location] == nil:
			return nil, fmt.Errorf("--out-external=%s: no --external has this location", e)
		}
		out[location] = path
	}
	return out, nil
}

func (f *pruneFlags) prune(p *pruning, log io.Writer) error {
	p.network.Keep(func(l *prune.Layer) error { _, err := p.place(l.Name); return err })
	options, err := f.choose(p.network)
	if err != nil {
		return err
	}
	report := p.network.Report(filepath.Base(f.graph.src), options)
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
func (f *pruneFlags) choose(n *prune.Network) (*prune.Options, error) {
	if f.masks != "" {
		file, err := openFile(f.masks, "")
		if err != nil {
			return nil, err
		}
		set, err := masks.Read(file)
		if err == nil {
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
	if err := n.Project(o, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", f.graph.src, err)
	}
	return &o, nil
}

// write writes all outputs, or none.
func (f *pruneFlags) write(p *pruning, report *prune.Report) error {
	out := files.New()
	defer out.Close()
	if err := p.writeModel(f.graph.out, out); err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	if f.outMasks != "" {
		var text bytes.Buffer
		if err := masks.Write(&text, p.network.Masks); err != nil {
			return err
		}
		out.Add(f.outMasks, text.Bytes())
	}
	if f.outReport != "" {
		text, err := report.JSON()
		if err != nil {
			return err
		}
		out.Add(f.outReport, text)
	}
	return out.Commit()
}

// writeModel writes the model and its external data with other bytes for the pruned weights.
func (p *pruning) writeModel(path string, out *files.Set) error {
	changes := map[string]map[*ir.Source][]byte{} // by location; "" is the model
	for _, m := range p.network.Masks.Layers {
		s, err := p.place(m.Name)
		if err != nil {
			return err
		}
		if changes[s.File.Name] == nil {
			changes[s.File.Name] = map[*ir.Source][]byte{}
		}
		if changes[s.File.Name][s], err = p.network.Bytes(m); err != nil {
			return err
		}
	}
	if err := copyChanged(out, path, p.model, changes[""]); err != nil {
		return err
	}
	clean := map[string]bool{"": true}
	for _, location := range slices.Sorted(maps.Keys(p.outExternal)) {
		name, err := onnx.CleanLocation(location)
		if err != nil {
			return err
		}
		clean[name] = true
		if err := copyChanged(out, p.outExternal[location], p.external[location], changes[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !clean[name] {
			return fmt.Errorf("weights in the external data %s are pruned: say by --out-external=%s=PATH where the changed file goes", ir.Show(name), name)
		}
	}
	return nil
}

func copyChanged(out *files.Set, path string, from *ir.File, changes map[*ir.Source][]byte) error {
	w, err := out.Create(path)
	if err != nil {
		return err
	}
	return onnx.WriteChanged(w, from, changes)
}

// warnings are what a report of pruning tells whoever builds the model.
func warnings(r *prune.Report) []plan.Warning {
	if text := r.Warning(); text != "" {
		return []plan.Warning{{Kind: pipeline.Pruning, Text: text}}
	}
	return nil
}

// readPruning adds what pruning made of the model to the program.
func (f *compileFlags) readPruning(p *plan.Program) error {
	if f.pruning == "" {
		return nil
	}
	text, err := files.Read(f.pruning)
	if err != nil {
		return err
	}
	r, err := prune.ParseReport(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.pruning, err)
	}
	p.Pruning = &plan.Pruning{Retrained: r.Retrained, Layers: len(r.Layers), Weights: r.Total.Weights, KeptWeights: r.Total.KeptWeights,
		MACs: r.Total.MACs, KeptMACs: r.Total.KeptMACs, Kernels: prune.DenseKernels}
	p.Warnings = append(p.Warnings, warnings(r)...)
	return nil
}
