package main

import (
	"bytes"
	"flag"
	"os"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
)

// graphCommand is `dnnc graph`: ONNX to the graph's text form.
func graphCommand(args []string) error {
	fs := flag.NewFlagSet("dnnc graph", flag.ContinueOnError)
	var external, dims list
	var passes passFlags
	src := fs.String("src", "", "the ONNX model")
	out := fs.String("out", "", "where the graph's text goes")
	outConsts := fs.String("out-consts", "", "where constants that are not in the model's files go")
	fill := fs.Bool("fill-random", false, "fill weights whose external data has the location 'random' (benchmarks)")
	fs.Var(&external, "external", "LOCATION=PATH of a file of external data; may be repeated")
	fs.Var(&dims, "dim", "SYMBOL=NUMBER or SYMBOL=LOW..HIGH; may be repeated")
	passes.register(fs)
	if err := parse(fs, args, "src", "out", "out-consts"); err != nil {
		return err
	}
	g, err := importModel(*src, external, dims, *fill)
	if err != nil {
		return err
	}
	o, err := passes.options()
	if err != nil {
		return err
	}
	if done, err := pipeline.Run(pipeline.GraphPasses, &pipeline.State{Graph: g}, o); err != nil || !done {
		return err
	}
	return writeGraph(g, *out, *outConsts)
}

func importModel(src string, external, dims []string, fill bool) (*ir.Graph, error) {
	model, err := openFile(src, "")
	if err != nil {
		return nil, err
	}
	files, err := openExternal(external)
	if err != nil {
		return nil, err
	}
	opt := onnx.Options{Dims: map[string]onnx.Dim{}, Fill: fill, Supported: ops.Supported}
	for _, d := range dims {
		name, dim, err := onnx.ParseDim(d)
		if err != nil {
			return nil, err
		}
		opt.Dims[name] = dim
	}
	return onnx.Read(model, files, opt)
}

func writeGraph(g *ir.Graph, out, outConsts string) error {
	consts, err := os.Create(outConsts)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := ir.PrintConsts(&text, g, ir.NewConstWriter(consts)); err != nil {
		return err
	}
	if err := consts.Close(); err != nil {
		return err
	}
	return os.WriteFile(out, text.Bytes(), 0o666)
}
