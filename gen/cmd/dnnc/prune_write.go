package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/compress/masks"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/compress/prune/page"
	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
)

// What `dnnc prune` writes, and what `dnnc compile` reads of it.

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
	for _, x := range []struct {
		path  string
		print func() ([]byte, error)
	}{{f.outReport, report.JSON}, {f.outPage, func() ([]byte, error) { return f.page(report) }}} {
		if x.path == "" {
			continue
		}
		text, err := x.print()
		if err != nil {
			return err
		}
		out.Add(x.path, text)
	}
	return out.Commit()
}

// page is the page of a report, and of the log of training if there is one.
func (f *pruneFlags) page(report *prune.Report) ([]byte, error) {
	trained, err := readTraining(f.log)
	if err != nil {
		return nil, err
	}
	return page.HTML(report, trained, nil)
}

// readTraining reads a log of training; nil: there is none.
func readTraining(path string) (*page.Training, error) {
	if path == "" {
		return nil, nil
	}
	text, err := files.Read(path)
	if err != nil {
		return nil, err
	}
	trained, err := page.ParseTraining(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return trained, nil
}

// writeModel writes the model and its external data with other bytes for the constants that changed.
func (p *pruning) writeModel(path string, out *files.Set) error {
	if p.shrunk != nil {
		return p.writeShrunk(path, out)
	}
	changes := map[string]map[*ir.Source][]byte{} // by location; "" is the model
	for _, name := range slices.Sorted(maps.Keys(p.changed)) {
		s, err := p.place(name)
		if err != nil {
			return err
		}
		if changes[s.File.Name] == nil {
			changes[s.File.Name] = map[*ir.Source][]byte{}
		}
		changes[s.File.Name][s] = p.changed[name].Data
	}
	if err := copyChanged(out, path, p.model, changes[""]); err != nil {
		return err
	}
	for _, location := range slices.Sorted(maps.Keys(p.outExternal)) {
		if err := copyChanged(out, p.outExternal[location], p.external[location], changes[location]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if name != "" && p.outExternal[name] == "" {
			return fmt.Errorf("weights in the external data %s are pruned: name the changed file with --out-external=%s=PATH", ir.Show(name), name)
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

// readPruning reads what pruning made of the model.
func (f *compileFlags) readPruning(s *pipeline.State) error {
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
	f.report = r
	for _, l := range r.Layers {
		if l.Packed {
			if s.Packed == nil {
				s.Packed = map[string]bool{}
			}
			for _, label := range append([]string{l.Label}, l.Also...) {
				s.Packed[label] = true
			}
		}
	}
	return nil
}

// addPruning adds what pruning made of the model to the program.
func (f *compileFlags) addPruning(p *plan.Program) {
	r := f.report
	if r == nil {
		return
	}
	p.Pruning = &plan.Pruning{Retrained: r.Retrained, Layers: len(r.Layers), Weights: r.Total.Weights, KeptWeights: r.Total.KeptWeights,
		MACs: r.Total.MACs, KeptMACs: r.Total.KeptMACs, Kernels: prune.Computed}
	for _, l := range r.Layers {
		p.Pruning.Pruned = append(p.Pruning.Pruned, plan.PrunedLayer{Weights: l.Name, Node: l.Label, Packed: l.Packed})
	}
	p.Warnings = append(p.Warnings, warnings(r)...)
}

// writePage writes the page of pruning, with what was chosen for the chip, where it is asked for.
func (f *compileFlags) writePage(s *pipeline.State, out *files.Set) error {
	if f.page == "" {
		return nil
	}
	trained, err := readTraining(f.log)
	if err != nil {
		return err
	}
	layers, err := manifest.Chosen(s.Program)
	if err != nil {
		return err
	}
	chosen := &page.Chosen{Chip: s.Target.Name, Layers: map[string][]page.Block{}}
	for _, l := range layers {
		for _, b := range l.Blocks {
			chosen.Layers[l.Weights] = append(chosen.Layers[l.Weights], page.Block{Where: b.Where, Device: b.Device, Encoding: b.Encoding, Cycles: b.Cycles})
		}
	}
	text, err := page.HTML(stored(f.report, s.Program.Precision), trained, chosen)
	if err != nil {
		return err
	}
	out.Add(f.page, text)
	return nil
}

// stored returns a report with the bytes that weights have in a precision; nil: those of the model.
func stored(r *prune.Report, p *plan.Precision) *prune.Report {
	if p == nil {
		return r
	}
	wide := map[string]bool{}
	for _, k := range p.Kept {
		wide[k.Node] = true
	}
	return r.In16Bits(wide)
}
