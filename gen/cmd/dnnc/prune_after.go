package main

import (
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/compress/prune/recalibrate"
	"rules_dnn/gen/compress/prune/shrink"
	"rules_dnn/gen/graph/samples"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
)

// What follows pruning on request: statistics of BatchNormalization, and smaller shapes.

// change makes the pruned weights.
func (p *pruning) change() error {
	p.changed = map[string]*ir.Tensor{}
	for _, m := range p.network.Masks.Layers {
		w, err := p.network.Pruned(m)
		if err != nil {
			return err
		}
		p.changed[m.Name] = w
	}
	return nil
}

// put gives a graph the constants that changed.
func (p *pruning) put(g *ir.Graph) {
	for _, n := range g.Nodes {
		for _, v := range n.Inputs {
			if v != nil && v.Const != nil && p.changed[v.Name] != nil {
				v.Const = p.changed[v.Name]
			}
		}
	}
}

func (f *pruneFlags) after(p *pruning, report *prune.Report) error {
	if f.calibration != "" {
		n, err := f.recalibrate(p)
		if err != nil {
			return err
		}
		report.Recalibrated = n
	}
	if !f.shrink {
		return nil
	}
	if len(p.external) > 0 && len(p.outExternal) != 1 {
		return fmt.Errorf("--shrink writes all weights of a model with external data to one file; want one --out-external, found %d", len(p.outExternal))
	}
	// What is written has the model's own symbols.
	whole := f.graph
	whole.dims = nil
	g, err := whole.read()
	if err != nil {
		return err
	}
	p.put(g)
	r, err := shrink.Run(g)
	if err != nil {
		return fmt.Errorf("%s: %w", f.graph.src, err)
	}
	p.shrunk = g
	report.Channels = r.Channels
	return p.network.Shrink(func(name string) (axes [2][]int) {
		if k := r.Weights[name]; k != nil {
			axes = *k
		}
		return axes
	})
}

// recalibrate gives BatchNormalizations their statistics, and says how many constants changed.
func (f *pruneFlags) recalibrate(p *pruning) (int, error) {
	file, err := openFile(f.calibration, "")
	if err != nil {
		return 0, err
	}
	inputs, err := samples.Read(p.graph, file)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.calibration, err)
	}
	p.put(p.graph)
	changed, err := recalibrate.Run(p.graph, inputs)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.graph.src, err)
	}
	maps.Copy(p.changed, changed)
	return len(changed) / 2, nil
}

// writeShrunk writes the graph as a model, with a file of external data where the model that was read has some.
func (p *pruning) writeShrunk(path string, out *files.Set) error {
	model, err := out.Create(path)
	if err != nil {
		return err
	}
	locations := slices.Sorted(maps.Keys(p.outExternal))
	if len(locations) == 0 {
		return onnx.Write(model, p.shrunk)
	}
	data, err := out.Create(p.outExternal[locations[0]])
	if err != nil {
		return err
	}
	return onnx.WriteExternal(model, data, locations[0], p.shrunk)
}
