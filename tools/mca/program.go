package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/emit/asm"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/ops"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/program/plan"
	"rules_dnn/gen/target"
	"rules_dnn/gen/target/chips"
	"rules_dnn/tools/internal/build"
)

const triple = "aarch64-linux-gnu"

// program compiles the model as dnnc does.
func program(o *options) (*plan.Program, *target.Target, error) {
	chip, err := chips.Target(o.chip)
	if err != nil {
		return nil, nil, err
	}
	if chip.Triple() != triple {
		return nil, nil, fmt.Errorf("--chip=%s is of cpu %s; this command knows arm64", o.chip, chip.CPU)
	}
	g, err := read(o)
	if err != nil {
		return nil, nil, err
	}
	s := &pipeline.State{Graph: g}
	var passes pipeline.Options
	if o.disable != "" {
		passes.Disable = strings.Split(o.disable, ",")
	}
	if _, err := pipeline.Run(pipeline.GraphPasses, s, passes); err != nil {
		return nil, nil, err
	}
	s = &pipeline.State{Graph: s.Graph, Target: chip}
	if _, err := pipeline.Run(pipeline.CompilePasses, s, passes); err != nil {
		return nil, nil, err
	}
	return s.Program, chip, nil
}

func read(o *options) (*ir.Graph, error) {
	model, err := openFile(o.model)
	if err != nil {
		return nil, err
	}
	locations, err := onnx.ExternalLocations(model)
	if err != nil {
		return nil, err
	}
	external := map[string]*ir.File{}
	for _, location := range locations {
		if external[location], err = openFile(filepath.Join(filepath.Dir(o.model), location)); err != nil {
			return nil, err
		}
	}
	opt := onnx.Options{Dims: map[string]onnx.Dim{}, Fill: o.fill, Supported: ops.Supported, Operators: ops.Names()}
	for _, d := range o.dims {
		name, dim, err := onnx.ParseDim(d)
		if err != nil {
			return nil, err
		}
		opt.Dims[name] = dim
	}
	return onnx.Read(model, external, opt)
}

// openFile opens a file that constants are read from; it stays open.
func openFile(path string) (*ir.File, error) {
	f, size, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	return &ir.File{R: f, Size: size}, nil
}

// compile returns the functions of the kernels' assembly; printing names those that the program
// calls.
func compile(o *options, p *plan.Program, chip *target.Target, work string) (map[string]*asm.Function, error) {
	sources, err := cpp.Print(p, prefix, 4)
	if err != nil {
		return nil, err
	}
	functions := map[string]*asm.Function{}
	for _, f := range sources {
		if err := files.Write(filepath.Join(work, f.Name), []byte(f.Text)); err != nil {
			return nil, err
		}
	}
	for _, f := range sources {
		if !strings.Contains(f.Name, "_kernels_") {
			continue
		}
		source := filepath.Join(work, f.Name)
		text, err := assembly(o, chip, work, source)
		if err != nil {
			return nil, err
		}
		for name, f := range asm.Functions(text) {
			functions[name] = f
		}
	}
	return functions, nil
}

const prefix = "model"

// assembly compiles a file of kernels.
func assembly(o *options, chip *target.Target, work, source string) (string, error) {
	to := strings.TrimSuffix(source, ".cc") + ".s"
	args := slices.Concat(build.KernelCopts, chip.Copts, o.copts, []string{"-DDNN_JOINED=DNN_LEAF", "--target=" + triple, "-nostdlibinc", "-I.", "-I" + work, "-S", source, "-o", to})
	if out, err := exec.Command(o.clang, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%.2000s", o.clang, err, out)
	}
	text, err := os.ReadFile(to)
	return string(text), err
}
