package main

import (
	"crypto/sha256"
	"flag"
	"os"
	"path/filepath"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/manifest"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/plan"
	"rules_dnn/gen/print/cpp"
	"rules_dnn/gen/print/cppapi"
	"rules_dnn/gen/sym"
	"rules_dnn/gen/target"
)

// compileFlags are the options of `dnnc compile`.
type compileFlags struct {
	graph, consts, src, chip             string
	api, prefix, namespace, weights      string
	header, kernels, weightsOut, asm, mf string
	shards                               int
	external                             list
	passes                               passFlags
}

// compileCommand is `dnnc compile`: the graph's text form to C++.
func compileCommand(args []string) error {
	var c compileFlags
	fs := flag.NewFlagSet("dnnc compile", flag.ContinueOnError)
	fs.StringVar(&c.graph, "graph", "", "the graph, from dnnc graph")
	fs.StringVar(&c.consts, "consts", "", "its constants, from dnnc graph")
	fs.StringVar(&c.src, "src", "", "the ONNX model that holds the other constants")
	fs.StringVar(&c.chip, "chip", "", "facts of the chip (JSON)")
	fs.StringVar(&c.api, "api", "", "name of the header, without .h")
	fs.StringVar(&c.prefix, "prefix", "", "what C names begin with")
	fs.StringVar(&c.namespace, "namespace", "", "C++ namespace")
	fs.StringVar(&c.weights, "weights", "embed", "embed: in the library; file: given to create()")
	fs.IntVar(&c.shards, "shards", 4, "number of files of kernels")
	fs.StringVar(&c.header, "out-header", "", "the public header")
	fs.StringVar(&c.kernels, "out-kernels", "", "folder of the sources")
	fs.StringVar(&c.weightsOut, "out-weights", "", "the packed weights")
	fs.StringVar(&c.asm, "out-weights-asm", "", "assembly that embeds the weights (--weights=embed)")
	fs.StringVar(&c.mf, "out-manifest", "", "the manifest (JSON)")
	fs.Var(&c.external, "external", "LOCATION=PATH of a file of external data; may be repeated")
	c.passes.register(fs)
	if err := parse(fs, args, "graph", "consts", "src", "chip", "api", "prefix", "namespace", "out-header", "out-kernels", "out-weights", "out-manifest"); err != nil {
		return err
	}
	return c.run()
}

func (c *compileFlags) run() error {
	s, err := c.read()
	if err != nil {
		return err
	}
	o, err := c.passes.options()
	if err != nil {
		return err
	}
	if done, err := pipeline.Run(pipeline.CompilePasses, s, o); err != nil || !done {
		return err
	}
	return c.write(s)
}

func (c *compileFlags) read() (*pipeline.State, error) {
	facts, err := os.ReadFile(c.chip)
	if err != nil {
		return nil, err
	}
	t, err := target.Parse(facts)
	if err != nil {
		return nil, err
	}
	files, err := openExternal(c.external)
	if err != nil {
		return nil, err
	}
	for name, path := range map[string]string{"": c.src, ir.ConstsName: c.consts} {
		if files[name], err = openFile(path, name); err != nil {
			return nil, err
		}
	}
	text, err := os.Open(c.graph)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	g, err := ir.Parse(text, files)
	if err != nil {
		return nil, err
	}
	return &pipeline.State{Graph: g, Target: t}, nil
}

func (c *compileFlags) write(s *pipeline.State) error {
	p := s.Program
	mode, err := cppapi.ParseMode(c.weights)
	if err != nil {
		return err
	}
	hash, err := c.writeWeights(p)
	if err != nil {
		return err
	}
	m := c.model(p, s.Target, cppapi.Weights{Mode: mode, Bytes: p.WeightsBytes, Hash: hash})
	if err := c.writeSources(p, m); err != nil {
		return err
	}
	if mode == cppapi.Embed && c.asm != "" {
		text, err := cppapi.WeightsAsm(m, filepath.Base(c.weightsOut))
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.asm, []byte(text), 0o666); err != nil {
			return err
		}
	}
	out, err := manifest.JSON(p, cpp.Generator, c.api, s.Target.Name)
	if err != nil {
		return err
	}
	return os.WriteFile(c.mf, out, 0o666)
}

func (c *compileFlags) model(p *plan.Program, t *target.Target, w cppapi.Weights) *cppapi.Model {
	m := &cppapi.Model{Api: c.api, Prefix: c.prefix, Namespace: c.namespace, Generator: cpp.Generator,
		Arena: []sym.Expr{p.ArenaBytes}, Scratch: p.ScratchBytes, Weights: w, CPUFeatures: t.CPUFeatures}
	for _, v := range p.Inputs {
		m.Inputs = append(m.Inputs, cppapi.Tensor{Name: v.Name, Type: v.Type, Shape: v.Shape})
	}
	for _, v := range p.Outputs {
		m.Outputs = append(m.Outputs, cppapi.Tensor{Name: v.Name, Type: v.Type, Shape: v.Shape})
	}
	for _, x := range p.Symbols {
		m.Symbols = append(m.Symbols, cppapi.Symbol{Name: x.Name, Lo: x.Lo, Hi: x.Hi})
	}
	for _, x := range p.Checks {
		m.Checks = append(m.Checks, cppapi.Check{Relation: relations[x.Kind], A: x.A, B: x.B, Text: x.Text()})
	}
	return m
}

var relations = map[ops.CheckKind]cppapi.Relation{ops.SameDim: cppapi.Equal, ops.Broadcastable: cppapi.Broadcast, ops.AtLeast: cppapi.AtLeast}

// writeWeights writes the constants and gives their hash. The header, which holds the
// hash, is written last, over the space left for it.
func (c *compileFlags) writeWeights(p *plan.Program) (hash [32]byte, err error) {
	f, err := os.Create(c.weightsOut)
	if err != nil {
		return hash, err
	}
	defer f.Close()
	head := int64(len(cppapi.WeightsHeader(cppapi.Weights{})))
	sum, at := sha256.New(), int64(0)
	err = cpp.Weights(p, func(offset int64, data []byte) error {
		sum.Write(make([]byte, offset-at))
		sum.Write(data)
		at = offset + int64(len(data))
		_, err := f.WriteAt(data, head+offset)
		return err
	})
	if err != nil {
		return hash, err
	}
	sum.Write(make([]byte, p.WeightsBytes-at))
	sum.Sum(hash[:0])
	if err := f.Truncate(head + p.WeightsBytes); err != nil {
		return hash, err
	}
	_, err = f.WriteAt(cppapi.WeightsHeader(cppapi.Weights{Bytes: p.WeightsBytes, Hash: hash}), 0)
	return hash, err
}

func (c *compileFlags) writeSources(p *plan.Program, m *cppapi.Model) error {
	api, err := cppapi.Print(m)
	if err != nil {
		return err
	}
	files, err := cpp.Print(p, c.prefix, max(1, c.shards))
	if err != nil {
		return err
	}
	files = append(files, cpp.File{Name: m.InternalName(), Text: api.Internal}, cpp.File{Name: m.SourceName(), Text: api.Source})
	if err := os.MkdirAll(c.kernels, 0o777); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(c.kernels, f.Name), []byte(f.Text), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(c.header, []byte(api.Header), 0o666)
}
