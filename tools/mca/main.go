// Command mca compiles a model's kernels for 64-bit ARM and asks llvm-mca how many cycles their
// innermost loops take on processors that are not here.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"rules_dnn/gen/target/chips"
	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

const usage = `mca compiles a model's kernels for 64-bit ARM as the rules do, extracts the innermost loops with vector multiply-adds
from the assembly, and estimates their cycles on some processors with llvm-mca. For each block of
the model it prints the cycles of one vector multiply-add, dot product or matrix product, and their
share of the processor's limit: the cycles of one in a loop of only these, also from llvm-mca.

usage: mca MODEL.onnx [options]
  ./bazelw run //tools/mca -- MODEL.onnx [options]         with the set-up's clang and llvm-mca
  go run ./tools/mca MODEL.onnx [options]                  with the machine's, from the repository's root

examples, for MODEL.onnx [options]:
  tests/models/resnet50.onnx --fill                  a graph whose weights were removed
  net.onnx --dims N=1 --cpus neoverse-n1             a symbol; one processor
  net.onnx --channels 64                             blocks with at least 64 channels in and out
  quantized.onnx --chip arm64_dotprod                dot products of bytes
  quantized.onnx --chip arm64_i8mm --cpus neoverse-v1,neoverse-n2    matrix products, on processors that have them
  pruned.onnx                                        loops over the stored weights of a pruned model
  net.onnx --at-least 85                             fail if a block reaches less than 85 % of its limit
  net.onnx --keep DIR                                keep sources and assembly

options:
`

// options holds the command line.
type options struct {
	model            string
	dims, copts      list
	cpus             []string
	chip, clang, mca string
	disable, keep    string
	channels         int64
	atLeast          float64
	fill             bool
}

// list is an option that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	missing := command.EnterFiles(build.RuntimeFile)
	o, err := parse(os.Args[1:])
	if err == nil {
		err = missing
	}
	if err == nil {
		err = run(o, os.Stdout)
	}
	command.Exit("mca", err)
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := command.Options("mca")
	fs.Var(&o.dims, "dims", "SYMBOL=NUMBER or SYMBOL=LOW..HIGH for the compiler; may be repeated")
	cpus := fs.String("cpus", "cortex-a55,cortex-a78,neoverse-n1", "processors, by LLVM's names")
	fs.StringVar(&o.chip, "chip", "arm64", "the chip of the kernels: one of platforms/chips/chips.bzl, or a `FILE.json` of facts")
	fs.Var(&o.copts, "copt", "an option for the C++ compiler, after the rules', as in -mtune=cortex-a55; may be repeated")
	fs.StringVar(&o.clang, "clang", "clang++", "the C++ compiler")
	fs.StringVar(&o.mca, "llvm-mca", "llvm-mca", "the program llvm-mca")
	fs.StringVar(&o.disable, "disable", "", "passes or parts to disable (see 'dnnc passes')")
	fs.StringVar(&o.keep, "keep", "", "folder for sources and assembly")
	fs.Int64Var(&o.channels, "channels", 0, "minimum number of channels in and out of a block; others are left out")
	fs.Float64Var(&o.atLeast, "at-least", 0, "fail if a printed block reaches less of its limit, in percent")
	fs.BoolVar(&o.fill, "fill", false, "fill the model with random weights if its own were removed")
	// The model may stand anywhere among the options.
	var models []string
	for {
		if err := command.Parse(fs, args, usage, os.Stderr); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			break
		}
		models, args = append(models, fs.Arg(0)), fs.Args()[1:]
	}
	if len(models) != 1 {
		return nil, fmt.Errorf("found %d models (%s), want one; --help shows examples", len(models), strings.Join(models, " "))
	}
	if *cpus == "" {
		return nil, fmt.Errorf("--cpus: want one or more of LLVM's names, with commas between")
	}
	o.cpus = strings.Split(*cpus, ",")
	o.model = command.Path(models[0])
	if chips.IsPath(o.chip) {
		o.chip = command.Path(o.chip)
	}
	return o, nil
}

func run(o *options, out io.Writer) error {
	work, err := os.MkdirTemp("", "mca")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if o.keep != "" {
		work = command.Path(o.keep)
		if err := os.MkdirAll(work, 0o777); err != nil {
			return err
		}
	}
	p, chip, err := program(o)
	if err != nil {
		return err
	}
	functions, err := compile(o, p, chip, work)
	if err != nil {
		return err
	}
	a := &analyser{program: o.mca, known: map[string]cycles{}}
	blocks, err := analyse(o, p, functions, a)
	if err != nil {
		return err
	}
	limits, err := a.limits(o.cpus, blocks)
	if err != nil {
		return err
	}
	printTable(out, o, limits, blocks)
	return failures(o, blocks)
}
