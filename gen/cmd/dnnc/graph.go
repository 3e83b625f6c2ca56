package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
)

const graphDoc = `dnnc graph reads an ONNX model, simplifies it and writes its graph as text.

Constants in the model's files stay there: the text refers to them by offset, and
'dnnc compile' reads the same files. Other constants go to --out-consts.

Examples:
  A model whose batch, N, is chosen at run time:
    dnnc graph --src=net.onnx --dim=N=1..64 --out=net.graph.txt --out-consts=net.consts
  A batch of 1 and images of one size; all shapes are constants:
    dnnc graph --src=net.onnx --dim=N=1 --dim=H=224 --dim=W=224 --out=net.graph.txt --out-consts=net.consts
  Weights in a file of their own, which the model calls weights.bin:
    dnnc graph --src=net.onnx --external=weights.bin=/data/weights.bin --out=net.graph.txt --out-consts=net.consts
  The graph after each pass, without output:
    dnnc graph --src=net.onnx --out=net.graph.txt --out-consts=net.consts --dump=all --dump-dir=dumps --stop-after=bnfold
`

// graphFlags are the options of `dnnc graph`.
type graphFlags struct {
	src, out, outConsts string
	external, dims      list
	keep                list
	fill                bool
	warnings            warnFlags
	passes              passFlags
}

// graphCommand is `dnnc graph`: ONNX to the graph's text form.
func graphCommand(args []string, out, log io.Writer) error {
	var f graphFlags
	c := newCommand("dnnc graph", graphDoc, "src", "out", "out-consts")
	c.StringVar(&f.src, "src", "", "`FILE`: the ONNX model")
	c.StringVar(&f.out, "out", "", "`FILE` where the graph's text goes")
	c.StringVar(&f.outConsts, "out-consts", "", "`FILE` where constants go that the model's files do not contain")
	c.BoolVar(&f.fill, "fill-random", false, "fill weights whose external data has the location 'random' with random numbers (for benchmarks)")
	c.Var(&f.external, "external", "`LOCATION=PATH` of a file of external data; may be repeated")
	c.Var(&f.dims, "dim", "`SYMBOL=NUMBER` or SYMBOL=LOW..HIGH binds or bounds a symbolic dimension; may be repeated")
	registerKeep(c.FlagSet, &f.keep)
	// It has no warnings of its own: one list of options serves both commands.
	f.warnings.mode = noWarnings
	f.warnings.registerAccept(c.FlagSet)
	f.passes.register(c.FlagSet)
	if err := c.parse(args, out); err != nil {
		return err
	}
	if err := f.warnings.check(); err != nil {
		return c.hint("%w", err)
	}
	return f.run(log)
}

// registerKeep registers the option that keeps inputs. One list of options serves 'dnnc graph', which follows it, and 'dnnc compile'.
func registerKeep(fs *flag.FlagSet, keep *list) {
	fs.Var(keep, "keep-input", "`NAME` of an input with a default value that stays an input of each run; other inputs with defaults become constants; for dnnc graph; may be repeated")
}

// plan is what the command reads and writes.
func (f *graphFlags) plan() *files.Plan {
	p := &files.Plan{}
	inputs(p, f.external, map[string]string{"src": f.src})
	outputs(p, map[string]string{"out": f.out, "out-consts": f.outConsts})
	f.passes.plan(p)
	return p
}

func (f *graphFlags) run(log io.Writer) error {
	if err := f.plan().Check(); err != nil {
		return err
	}
	o, err := f.passes.options(log)
	if err != nil {
		return err
	}
	defer f.passes.reportMemory(log)
	g, err := f.read()
	if err != nil {
		return err
	}
	if done, err := pipeline.Run(pipeline.GraphPasses, &pipeline.State{Graph: g}, o); err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	} else if !done {
		return nil
	}
	if err := onnx.Unused(g); err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	}
	return f.write(g)
}

func (f *graphFlags) read() (*ir.Graph, error) {
	model, err := openFile(f.src, "")
	if err != nil {
		return nil, err
	}
	external, err := openExternal(f.external)
	if err != nil {
		return nil, err
	}
	opt := onnx.Options{Dims: map[string]onnx.Dim{}, Fill: f.fill, KeepInputs: f.keep, Supported: ops.Supported, Operators: ops.Names()}
	if f.passes.seed != "" { // commands without options of passes leave it empty
		if opt.Seed, err = onnx.ParseSeed(f.passes.seed); err != nil {
			return nil, err
		}
	}
	for _, d := range f.dims {
		name, dim, err := onnx.ParseDim(d)
		if err != nil {
			return nil, err
		}
		if _, twice := opt.Dims[name]; twice {
			return nil, fmt.Errorf("--dim=%s: the symbol is given twice", d)
		}
		opt.Dims[name] = dim
	}
	g, err := onnx.Read(model, external, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.src, err)
	}
	return g, nil
}

func (f *graphFlags) write(g *ir.Graph) error {
	out := files.New()
	defer out.Close()
	consts, err := out.Create(f.outConsts)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := ir.PrintConsts(&text, g, ir.NewConstWriter(consts)); err != nil {
		return err
	}
	out.Add(f.out, text.Bytes())
	return out.Commit()
}
