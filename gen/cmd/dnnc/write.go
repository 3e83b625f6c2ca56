package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/ir/sym"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// mostEmbedded is how many bytes of weights a library may hold: code reaches 2 GB, less what else a program has.
const mostEmbedded = 1<<31 - 1<<27

// write writes all outputs, or none. The manifest, which tells of the others, comes last.
func (f *compileFlags) write(s *pipeline.State) error {
	p := s.Program
	if f.mode == cppapi.Embed && cpp.WeightsBytes(p) > mostEmbedded {
		return fmt.Errorf("%s: the weights have %d bytes; a library or program can contain at most %d. Use --weights=file (weights = \"file\" in a dnn_model): the program then opens a file of weights",
			f.src, cpp.WeightsBytes(p), int64(mostEmbedded))
	}
	out := files.New()
	defer out.Close()
	hash, err := f.writeWeights(p, out)
	if err != nil {
		return err
	}
	m := f.model(p, cppapi.Weights{Mode: f.mode, Bytes: cpp.WeightsBytes(p), Hash: hash, Align: alignment(p)}, s.Target)
	if err := f.writeSources(s, m, out); err != nil {
		return err
	}
	if f.mode == cppapi.Embed {
		text, err := cppapi.WeightsAsm(m, filepath.Base(f.weightsOut))
		if err != nil {
			return fmt.Errorf("%s: %w", f.src, err)
		}
		out.Add(f.asm, []byte(text))
	}
	text, err := manifest.JSON(p, cpp.Generator, f.api, s.Target.Name, chipsOf(s)...)
	if err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	}
	if err := f.writePage(s, out); err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	}
	out.Add(f.mf, text)
	return out.Commit()
}

// alignment is what places of values in the host's memory are multiples of.
func alignment(p *plan.Program) int { return int(max(p.Align, plan.Alignment)) }

func (f *compileFlags) model(p *plan.Program, w cppapi.Weights, t *target.Target) *cppapi.Model {
	m := &cppapi.Model{Api: f.api, Prefix: f.prefix, Namespace: f.namespace, Generator: cpp.Generator,
		Arena: []sym.Expr{p.ArenaBytes}, Scratch: p.ScratchBytes, Weights: w, Bare: t.Bare(), Observed: f.observe}
	for _, v := range p.Inputs {
		m.Inputs = append(m.Inputs, cppapi.Tensor{Name: v.Name, Type: v.Type, Shape: v.Shape})
	}
	for i, v := range p.Outputs {
		m.Outputs = append(m.Outputs, cppapi.Tensor{Name: v.Name, Type: v.Type, Shape: p.Shapes[i]})
	}
	for _, x := range p.Warnings {
		if x.Kind == ir.Declared || x.Kind == ir.Default {
			m.Notes = append(m.Notes, x.Text)
		}
	}
	for _, x := range p.Symbols {
		m.Symbols = append(m.Symbols, cppapi.Symbol{Name: x.Name, Lo: x.Lo, Hi: x.Hi, Computed: x.Computed, Max: x.Max})
	}
	for _, c := range p.Counters {
		m.Symbols = append(m.Symbols, cppapi.Symbol{Name: c.Name, Hi: sym.MaxDim, Computed: true, Max: c.Max})
	}
	for _, x := range p.Checks {
		m.Checks = append(m.Checks, cppapi.Check{Relation: relations[x.Kind], A: x.A, B: x.B, Text: x.Text()})
	}
	return m
}

// profile is what programs that measure the model are told of its blocks.
func profile(p *plan.Program, t *target.Target) cppapi.Profile {
	out := cppapi.Profile{Chip: t.Name, VectorBytes: t.Lanes(ir.F32) * ir.F32.Size(), VectorRegisters: t.VectorRegisters}
	var kinds cpp.Products
	add := func(c *plan.Call, device bool) {
		w, product := p.Work(c), cppapi.FloatProducts
		if !device {
			product = kinds.Of(c.Kernel)
		}
		out.Blocks = append(out.Blocks, cppapi.Block{Name: c.Block.Label(), Kernel: c.Kernel.Anchor, FLOPs: w.FLOPs, Products: w.Products, Bytes: w.Bytes, Device: device, Product: product})
	}
	for _, c := range p.Calls() {
		add(c, false)
	}
	for _, l := range p.Launches() { // in the order of their numbers in the host program
		add(l.Call, true)
	}
	out.Products = kinds.All
	return out
}

var relations = map[ops.CheckKind]cppapi.Relation{ops.SameDim: cppapi.Equal, ops.Broadcastable: cppapi.Broadcast, ops.AtLeast: cppapi.AtLeast}

// writeWeights writes the constants and gives their hash, for which the header that stands before them
// leaves space.
func (f *compileFlags) writeWeights(p *plan.Program, out *files.Set) (hash [32]byte, err error) {
	file, err := out.Create(f.weightsOut)
	if err != nil {
		return hash, err
	}
	if _, err := file.Write(cppapi.WeightsHeader(cppapi.Weights{Align: alignment(p)})); err != nil {
		return hash, err
	}
	sum := sha256.New()
	if err := cpp.Weights(p, io.MultiWriter(file, sum)); err != nil {
		return hash, fmt.Errorf("writing %s: %w", f.weightsOut, err)
	}
	sum.Sum(hash[:0])
	_, err = file.WriteAt(cppapi.WeightsHeader(cppapi.Weights{Bytes: cpp.WeightsBytes(p), Hash: hash, Align: alignment(p)}), 0)
	return hash, err
}

// foldersOf are where a source goes: what is in C has a folder of its own, which other options are for, and both read the kernels' header.
func (f *compileFlags) foldersOf(name string) []string {
	switch {
	case f.kernelsC == "":
		return []string{f.kernels}
	case strings.HasSuffix(name, "_kernels.h"):
		return []string{f.kernels, f.kernelsC}
	case strings.HasSuffix(name, ".cc") || strings.HasSuffix(name, ".h"):
		return []string{f.kernels}
	}
	return []string{f.kernelsC}
}

func (f *compileFlags) writeSources(s *pipeline.State, m *cppapi.Model, out *files.Set) error {
	if err := f.printDevice(s, m, out); err != nil {
		return err
	}
	variants := variantsOf(chipsOf(s))
	language := *languages[s.Target.Language()]
	language.Observed = f.observe
	folders, same, err := language.Library(s.Program, f.prefix, f.shards, variants)
	if err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	}
	f.addVariants(s, m, variants, same)
	if err := f.addRemote(m); err != nil {
		return err
	}
	api, err := cppapi.Print(m)
	if err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	}
	f.addVariantSources(m, api, folders[1:], out)
	sources := append(folders[0], cpp.File{Name: m.InternalName(), Text: api.Internal}, cpp.File{Name: m.SourceName(), Text: api.Source},
		cpp.File{Name: m.ProfileName(), Text: api.Profile})
	if m.Device != nil {
		sources = append(sources, cpp.File{Name: m.DeviceName(), Text: api.Device})
	}
	if m.Skeleton != nil {
		sources = append(sources, cpp.File{Name: m.SkeletonName(), Text: api.Skeleton})
	}
	for _, x := range sources {
		for _, folder := range f.foldersOf(x.Name) {
			out.Add(filepath.Join(folder, x.Name), []byte(x.Text))
		}
	}
	// Another number of shards would leave kernels of the last run behind.
	out.Owns(f.kernels, shardNames(f.prefix))
	if f.kernelsC != "" {
		out.Owns(f.kernelsC, shardNames(f.prefix))
	}
	out.Add(f.header, []byte(api.Header))
	return nil
}
