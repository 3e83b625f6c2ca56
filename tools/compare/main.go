// Command compare compiles any ONNX model for this machine and compares what it
// answers with ONNX Runtime.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"rules_dnn/tools/check"
	"rules_dnn/tools/command"
)

const usage = `compare compiles an ONNX model for this machine, runs it on synthetic inputs, and compares each
output with ONNX Runtime's, or, where Python has no onnxruntime, with that of the compiler's own interpreter.
It fails if an output is further away than --tolerance.

A network with quantized nodes is compared with ONNX Runtime without its graph optimisations: these fuse nodes to kernels of integers
that round in another order, and answer up to several quantization steps apart from the network as it is written. Sums of
floats in another order round a few elements otherwise, too, and each layer makes more of the last one's. So where an output of such a
network is too far away, or --layers is given, each quantized value is computed from the reference's own, and compared: the verdict is that
none differs by more than one step, in more than one element of a thousand (or those of one number), and only where the float before it lies
between two. Of a network of floats --layers compares what each block computes, in a program that is compiled to tell it, and prints the first
block that is too far away.

usage: compare MODEL.onnx [options]
  ./bazelw run //tools/compare -- MODEL.onnx [options]
  go run ./tools/compare MODEL.onnx [options]             without Bazel, from the repository's root

examples, for MODEL.onnx [options]:
  net.onnx --dims N=3                             the symbol N is 3
  net.onnx --dims N=1..64 --run N=1 --run N=7     one library for every N; run it twice
  net.onnx --disable=anchors --chip x86_64        no register-tiled kernels; another chip's code
  net.onnx --chip x86_64,x86_64_v3,x86_64_v4      one library for several chips; DNN_VARIANT=NAME before the command forces one
  net.onnx --rounds 9                             time it and ONNX Runtime in turn
  net.onnx --input image=cat.npy --threads 2      an input of one's own
  net.onnx --device platforms/devices/opencl_buffers.json      on the machine's OpenCL device, too
  graph.onnx --fill                               a graph whose weights were taken out
  net.onnx --peers=all --threads 1,2 --rounds 9   time it and four engines in turn, and print a table
  net.onnx --pruning '{"connectivity":3.6,"share":16}' --peers=all --rounds 9    pruned, beside our dense kernels and four engines
  net.onnx --tune net.tune.json                   measure kernels and write the record
  net.onnx --tuning net.tune.json --rounds 9      use it
  net.onnx --tune net.tune.json --regret          what estimates say of kernels beside what was measured
  net.onnx --tune net.tune.json --search 3        search for faster kernels, three times as many as without, and compare both
  --list tests/models/graphs.txt --models FOLDER  a table of the list's models, which are in the folder
  relu --node 'Relu;x:f32[1,64,56,56]'            a network of one node
  --list tests/models/graphs.txt,tests/models/more.txt --models FOLDER --device platforms/devices/opencl_buffers.json --disable=processor --most-weights=100
                                                  a table of what the machine's OpenCL device answers
  --pack FOLDER                                   for a machine without Go: bin/compare --dnnc=bin/dnnc ... in FOLDER there
  --list tests/models/nodes.txt --peers=onnxruntime --rounds 5    which networks of one node are slow
  --list tests/models/quantized.txt --models FOLDER --layers      a table of quantized networks, layer by layer
  net.onnx --chip hexagon_v68 --reference=graph --tolerance=0 --executed    on a DSP, under qemu-hexagon
  net.onnx --chip arm64 --cxx "aarch64-linux-gnu-g++ -static" --emulator qemu-aarch64
  net.onnx --chip arm64 --cxx "aarch64-linux-gnu-g++ -static" --emulator qemu-aarch64 --count    what each block executes

options:
`

// options are what the command line says.
type options struct {
	model                   string
	dims, runs, inputs      list
	disable, chip, device   string
	precision               string
	cxx, emulator, dnnc     string
	python, reference, keep string
	optimizations           string // of the reference: none, all or ""
	list, models, only      string
	peers                   []string
	tolerance               float64
	intLimit, seed, rounds  int
	threads                 int   // of a run
	threadCounts            []int // with peers: threads takes each value
	seconds                 float64
	tune, tuning            string
	candidates, search      int
	again, regret           bool
	fill, layers, executed  bool
	mostWeights             float64 // millions; 0: any number
	atOnce                  int     // models of a list
	pack                    string  // folder
	starts                  bool
	count                   bool
	pruning                 string // settings, or a file of them
	node                    string // in place of a model's file
	// threadsGiven and peersGiven are what the user wrote.
	threadsGiven, peersGiven string
	runtime                  string // folder for objects that several programs share
}

func main() {
	missing := command.EnterFiles(check.RuntimeFile)
	o, err := parse(os.Args[1:])
	switch {
	case err != nil:
	case missing != nil:
		err = missing
	case o.pack != "":
		err = pack(o)
	case o.tune != "" && o.list == "":
		err = tune(o, os.Stdout)
	case o.peers != nil:
		err = comparePeers(o, os.Args[1:], os.Stdout, os.Stderr)
	case o.list != "":
		err = compareList(o, os.Args[1:], os.Stdout, os.Stderr)
	default:
		_, err = compare(o, os.Stdout)
	}
	command.Exit("compare", err)
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := command.Options("compare")
	o.define(fs)
	// The model may stand anywhere among the options.
	var models []string
	for {
		if err := command.Parse(fs, args, usage, os.Stderr); err != nil {
			return nil, err
		}
		if fs.NArg() == 0 {
			break
		}
		models = append(models, fs.Arg(0))
		args = fs.Args()[1:]
	}
	if strings.Contains(o.python, "/") {
		o.python = command.Path(o.python) // and not a name to look up
	}
	if err := errors.Join(o.readThreads(o.threadsGiven), o.readPeers(o.peersGiven)); err != nil {
		return nil, err
	}
	return o, o.check(models)
}

// define declares the options.
func (o *options) define(fs *flag.FlagSet) {
	fs.Var(&o.dims, "dims", "SYMBOL=NUMBER or SYMBOL=LOW..HIGH for the compiler; may be repeated")
	fs.Var(&o.runs, "run", "SYMBOL=NUMBER,... of a run; may be repeated (default: one run, each symbol at its lower bound or 1)")
	fs.Var(&o.inputs, "input", "NAME=FILE.npy, NAME=LOW..HIGH for floats between, or NAME=NUMBER; may be repeated (others: floats in [-2, 2); integers below --int-limit, below 2 where the name holds 'type', 1 where it holds 'mask')")
	fs.StringVar(&o.disable, "disable", "", "passes or parts that the compiler leaves out (see 'dnnc passes')")
	fs.StringVar(&o.precision, "precision", "fp32", "fp16 or bf16: values and weights of f32 are stored in 16 bits (the reference's are not: see --tolerance)")
	fs.StringVar(&o.chip, "chip", "", "one of platforms/chips/chips.bzl, or a `FILE.json` of facts; several with commas between are variants of one library, the least capable first (default: the widest that this machine has)")
	fs.StringVar(&o.device, "device", "", "one of platforms/devices, or a `FILE.json` of such facts: an OpenCL device of this machine runs blocks beside the chip where that is estimated to pay")
	fs.StringVar(&o.cxx, "cxx", "", "the C++ compiler and its options (default: $CXX, clang++ or g++)")
	fs.StringVar(&o.emulator, "emulator", "", "what runs the program, and its options")
	fs.StringVar(&o.dnnc, "dnnc", "", "the compiler (default: what Bazel brings, or 'go build' makes)")
	fs.StringVar(&o.python, "python", "python3", "a Python that has onnxruntime and numpy")
	fs.StringVar(&o.reference, "reference", "", "ort, interpreter, or graph, which is the interpreter on what dnnc graph makes of the network: there, quantized nodes compute in integers, as kernels do (default: ort if Python has it)")
	fs.StringVar(&o.optimizations, "reference-optimizations", "", "none or all: ONNX Runtime's graph optimisations, for its answers; times always have them (default: none for networks with quantized nodes, else all)")
	fs.StringVar(&o.keep, "keep", "", "folder for all intermediate files, to look at afterwards")
	fs.Float64Var(&o.tolerance, "tolerance", 1e-4, "largest error, relative to the range of the reference's output")
	fs.StringVar(&o.threadsGiven, "threads", "1", "threads of a run; with --peers one or more numbers, as in 1,2")
	fs.IntVar(&o.rounds, "rounds", 0, "rounds of timing against ONNX Runtime, or against --peers")
	fs.Float64Var(&o.seconds, "seconds", 0.5, "how long each of them runs in a round")
	fs.StringVar(&o.tuning, "tuning", "", "a record of what kernels take on chips, which the compiler reads")
	fs.StringVar(&o.tune, "tune", "", "measure the blocks' kernels and write this record; compares nothing, but in a line of a list what the record then chooses (a relative path is one in --models)")
	fs.IntVar(&o.candidates, "candidates", 8, "with --tune: how many kernels of a block are measured at most")
	fs.IntVar(&o.search, "search", 0, "with --tune: how many times, after that, kernels are measured that a genetic search finds by what was measured; where the record knows the blocks, it goes on from there")
	fs.BoolVar(&o.again, "again", false, "with --tune: measure what the record has already, too")
	fs.BoolVar(&o.regret, "regret", false, "with --tune: print what estimates say of each kernel beside what it takes, how much longer than the fastest one the estimates' choice takes, and Spearman's correlation of both orders")
	fs.StringVar(&o.peersGiven, "peers", "", "engines to time, as in onnxruntime,ncnn, or all: "+strings.Join(engines, ", ")+"; prints a table in Markdown")
	fs.IntVar(&o.intLimit, "int-limit", 1000, "what integer inputs stay below")
	fs.IntVar(&o.seed, "seed", 0, "other numbers give other inputs")
	fs.StringVar(&o.list, "list", "", "a file with a command line of this command in each line, or several with commas between: prints a table in Markdown")
	fs.StringVar(&o.models, "models", ".", "folder of the list's models")
	fs.Float64Var(&o.mostWeights, "most-weights", 0, "with --list and --device: compile networks of more million weights, but run them not (0: run all)")
	fs.IntVar(&o.atOnce, "at-once", 1, "with --list: so many of its models at once")
	fs.BoolVar(&o.starts, "starts", false, "with --device: how soon a program answers where the driver compiles its kernels, and where they were kept; with --list the table is about this (a driver may keep kernels, too: CUDA_CACHE_DISABLE=1, POCL_KERNEL_CACHE=0)")
	fs.StringVar(&o.pack, "pack", "", "write a folder in which this command runs on a machine without Go, with --dnnc=bin/dnnc, and compare nothing")
	fs.StringVar(&o.only, "only", "", "a regular expression of the list's models to take")
	fs.StringVar(&o.node, "node", "", nodeHelp)
	fs.BoolVar(&o.fill, "fill", false, "give the model weights if its own were taken out")
	fs.BoolVar(&o.layers, "layers", false, "compare each quantized value, computed from the reference's own, also where the outputs are near enough (with --list the table is about these); of a network of floats print the first block whose values are farther from the reference's than --tolerance")
	fs.BoolVar(&o.executed, "executed", false, "with a DSP's chip: print the packets that the emulator executed for each block")
	fs.BoolVar(&o.count, "count", false, "with --emulator and a chip of 64-bit ARM: print instructions, multiply-adds, loads and stores of each block, which QEMU's plugins count (--cxx links with -static)")
	fs.StringVar(&o.pruning, "pruning", "", "prune the model first, by settings of 'dnnc prune': JSON, or a `FILE` of it; with --peers our kernels of dense weights are timed, too")
}

// check tells which options do not go together, and takes the model.
func (o *options) check(models []string) error {
	if len(o.threadCounts) > 1 && o.peers == nil {
		return fmt.Errorf("--threads=%s: several numbers are for --peers", o.threadsGiven)
	}
	if o.mostWeights < 0 || o.mostWeights > 0 && (o.list == "" || o.device == "" || o.peers != nil || o.layers) {
		return fmt.Errorf("--most-weights=%g: want a number from 0, and --list and --device, whose table says what is compiled only", o.mostWeights)
	}
	if o.starts && (o.device == "" || o.mostWeights > 0 || o.peers != nil || o.layers) {
		return errors.New("--starts: want --device, whose driver compiles kernels, and a program that runs")
	}
	if o.atOnce < 1 || o.atOnce > 1 && (o.list == "" || o.peers != nil || o.rounds > 0 || o.starts || o.tune != "") {
		return fmt.Errorf("--at-once=%d: want a number from 1, and a --list of which nothing is timed", o.atOnce)
	}
	if (o.list != "" || o.pack != "") && len(models) == 0 {
		return nil
	}
	if len(models) != 1 {
		return fmt.Errorf("found %d models (%s), want one; --help shows examples", len(models), strings.Join(models, " "))
	}
	if o.reference != "" && o.reference != "ort" && o.reference != "interpreter" && o.reference != "graph" {
		return fmt.Errorf("--reference=%s: want ort, interpreter or graph", o.reference)
	}
	if o.optimizations != "" && o.optimizations != "none" && o.optimizations != "all" {
		return fmt.Errorf("--reference-optimizations=%s: want none or all", o.optimizations)
	}
	if o.tune != "" && (o.tuning != "" || o.peers != nil && o.list == "" || o.emulator != "" || o.candidates < 1) {
		return fmt.Errorf("--tune measures one model on this machine, at least one candidate: leave out --tuning, --emulator, and --peers without --list")
	}
	if o.search < 0 || o.search > 0 && o.tune == "" {
		return fmt.Errorf("--search=%d: want a number from 0, and --tune with the record's file", o.search)
	}
	if o.regret && o.tune == "" {
		return fmt.Errorf("--regret compares estimates with what --tune measures: give it the record's file")
	}
	if o.rounds < 0 {
		return fmt.Errorf("--rounds=%d: want a number from 0", o.rounds)
	}
	if o.intLimit < 1 {
		return fmt.Errorf("--int-limit=%d: want a number from 1", o.intLimit)
	}
	o.model = command.Path(models[0])
	return nil
}

// list is an option that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }
