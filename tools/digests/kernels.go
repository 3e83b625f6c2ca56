package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/emit/manifest"
	"rules_dnn/gen/emit/opencl"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
)

// printers holds the printers of languages without a command in dnnc.
var printers = map[string]func(*plan.Program, *target.Target) ([]cpp.File, error){
	"hvx":    func(p *plan.Program, _ *target.Target) ([]cpp.File, error) { return hvx.Print(p, "net", 1) },
	"opencl": printOpenCL,
}

// generateKernels makes kernels in another language than C++, and what a host is told of their
// calls, as `dnnc compile` does.
func generateKernels(g *graph, c *chip, folder string) (err error) {
	src := g.name + ".onnx"
	defer func() {
		if x := recover(); x != nil {
			err = refusal{fmt.Sprintf("%s: internal error, a bug: %v", src, x)}
		}
	}()
	from := map[string]*ir.File{}
	for name, path := range map[string]string{"": src, ir.ConstsName: constsFile} {
		f, size, err := files.Open(filepath.Join(folder, path))
		if err != nil {
			return err
		}
		defer f.Close()
		from[name] = &ir.File{Name: name, R: f, Size: size}
	}
	text, _, err := files.Open(filepath.Join(folder, graphFile))
	if err != nil {
		return err
	}
	defer text.Close()
	read, err := ir.Parse(text, from)
	if err != nil {
		return err
	}
	s := &pipeline.State{Graph: read, Target: c.Target}
	if _, err := pipeline.Run(pipeline.CompilePasses, s, pipeline.Options{}); err != nil {
		return refusal{fmt.Sprintf("%s: %v", src, err)}
	}
	sources, err := printers[c.Language()](s.Program, c.Target)
	if err != nil {
		return refusal{fmt.Sprintf("%s: %v", src, err)}
	}
	return write(s.Program, c, sources, filepath.Join(folder, c.Name))
}

// write writes a chip's folder.
func write(p *plan.Program, c *chip, sources []cpp.File, folder string) error {
	text, err := manifest.JSON(p, cpp.Generator, "net", c.Name)
	if err != nil {
		return err
	}
	out := files.New()
	defer out.Close()
	weights, err := out.Create(filepath.Join(folder, weightsFile))
	if err != nil {
		return err
	}
	if _, err := weights.Write(cppapi.WeightsHeader(cppapi.Weights{Bytes: p.WeightsBytes})); err != nil {
		return err
	}
	if err := cpp.Weights(p, weights); err != nil {
		return fmt.Errorf("%s: %w", weightsFile, err)
	}
	for _, f := range sources {
		out.Add(filepath.Join(folder, f.Name), []byte(f.Text))
	}
	out.Add(filepath.Join(folder, manifestFile), text)
	return out.Commit()
}

// printOpenCL prints the kernels, and a line for each call.
func printOpenCL(p *plan.Program, t *target.Target) ([]cpp.File, error) {
	s, err := opencl.Print(p, t)
	if err != nil {
		return nil, err
	}
	var calls strings.Builder
	fmt.Fprintf(&calls, "index %d bytes, needs %s\n", s.IndexBytes, strings.Join(s.Needs, " "))
	for _, c := range s.Calls {
		fmt.Fprintf(&calls, "%s extents %v group %v:", c.Kernel, c.Extents, c.Group)
		for _, a := range c.Args {
			calls.WriteString(" " + argument(a))
		}
		calls.WriteString("\n")
	}
	return []cpp.File{{Name: "net_kernels.cl", Text: s.Text}, {Name: "net_calls.txt", Text: calls.String()}}, nil
}

func argument(a opencl.Arg) string {
	switch {
	case a.Value != nil:
		return ir.Show(a.Value.Name)
	case a.Symbol != "":
		return "symbol=" + a.Symbol
	case a.BadIndex:
		return "bad_index"
	}
	return "scratch=" + a.Scratch.String()
}
