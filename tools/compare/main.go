// Command compare compiles any ONNX model for this machine and compares what it
// answers with ONNX Runtime.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

const usage = `compare compiles an ONNX model for this machine, runs it on synthetic inputs, and compares each
output with ONNX Runtime's or, if Python has no onnxruntime, the output of the compiler's own interpreter.
It fails if an output differs by more than --tolerance.

A network with quantized nodes is compared with ONNX Runtime without its graph optimisations: they fuse nodes into integer kernels
that round in another order, and results can differ by several quantization steps from the network as written. Float sums
in another order also round a few elements differently, and each layer increases the difference. If an output of such a
network differs too much, or with --layers, each quantized value is computed from the reference's operands and compared. The check passes if
values differ by at most one step, in at most one of 1000 elements (or one number), and only if the float before rounding is
between two steps. For a float network, --layers compares the results of each block, in a program compiled to report them, and prints the first
block that differs too much.

usage: compare MODEL.onnx [options]
  ./bazelw run //tools/compare -- MODEL.onnx [options]
  go run ./tools/compare MODEL.onnx [options]             without Bazel, from the repository's root

examples, for MODEL.onnx [options]:
  net.onnx --dims N=3                             the symbol N is 3
  net.onnx --dims N=1..64 --run N=1 --run N=7     one library for every N; run it twice
  net.onnx --disable=anchors --chip x86_64        no register-tiled kernels; another chip's code
  net.onnx --chip x86_64,x86_64_v3,x86_64_v4      one library for several chips; DNN_VARIANT=NAME before the command forces one
  net.onnx --rounds 9                             time it and ONNX Runtime in turn
  net.onnx --input image=cat.npy --threads 2      your own input
  net.onnx --device platforms/devices/opencl_buffers.json      on the machine's OpenCL device, too
  graph.onnx --fill                               a graph whose weights were removed
  net.onnx --peers=all --threads 1,2 --rounds 9   time it and four engines in turn, and print a table
  net.onnx --pruning '{"connectivity":3.6,"share":16}' --peers=all --rounds 9    pruned, beside our dense kernels and four engines
  net.onnx --tune net.tune.json                   measure kernels and write the record
  net.onnx --tuning net.tune.json --rounds 9      use it
  net.onnx --tune net.tune.json --regret          compare estimates of kernels with measured times
  net.onnx --tune net.tune.json --search 3        search for faster kernels three times, and compare with the kernels without a search
  --list tests/models/graphs.txt --models FOLDER  a table of the list's models, from the folder
  relu --node 'Relu;x:f32[1,64,56,56]'            a network of one node
  --list tests/models/graphs.txt,tests/models/more.txt --models FOLDER --device platforms/devices/opencl_buffers.json --disable=processor --most-weights=100
                                                  a table of results on the machine's OpenCL device
  --pack FOLDER                                   for a machine without Go: bin/compare --dnnc=bin/dnnc ... in FOLDER there
  --list tests/models/nodes.txt --peers=onnxruntime --rounds 5    find slow networks of one node
  --list tests/models/quantized.txt --models FOLDER --layers      a table of quantized networks, layer by layer
  net.onnx --chip hexagon_v68 --reference=graph --tolerance=0 --executed    on a DSP, under qemu-hexagon
  net.onnx --chip arm64 --cxx "aarch64-linux-gnu-g++ -static" --emulator qemu-aarch64
  net.onnx --chip arm64 --cxx "aarch64-linux-gnu-g++ -static" --emulator qemu-aarch64 --count    what each block executes

options:
`

// options holds the command line.
type options struct {
	model                   string
	dims, runs, inputs      list
	disable, chip, device   string
	precision               string
	accumulation            string
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
	countJSON               string // file
	countedCode             string // digest of code that was counted
	pruning                 string // settings, or a file of them
	node                    string // in place of a model's file
	// threadsGiven and peersGiven are what the user wrote.
	threadsGiven, peersGiven string
	runtime                  string // folder for objects that several programs share
}

func main() {
	missing := command.EnterFiles(build.RuntimeFile)
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
	fs.StringVar(&o.disable, "disable", "", "passes or parts to disable (see 'dnnc passes')")
	fs.StringVar(&o.accumulation, "accumulation", "", "fp16: with --precision=fp16, chips with instructions for f16 add products in f16")
	fs.StringVar(&o.precision, "precision", "fp32", "fp16 or bf16: values and weights of f32 are stored in 16 bits (not in the reference: see --tolerance)")
	fs.StringVar(&o.chip, "chip", "", "one of platforms/chips/chips.bzl, or a `FILE.json` of facts; several with commas between are variants of one library, the least capable first (default: the widest that this machine has)")
	fs.StringVar(&o.device, "device", "", "one of platforms/devices, or a `FILE.json` of such facts: an OpenCL device of this machine runs the blocks for which it is estimated to be faster than the chip")
	fs.StringVar(&o.cxx, "cxx", "", "the C++ compiler and its options (default: $CXX, clang++ or g++)")
	fs.StringVar(&o.emulator, "emulator", "", "the command that runs the program, and its options")
	fs.StringVar(&o.dnnc, "dnnc", "", "the compiler (default: from Bazel or 'go build')")
	fs.StringVar(&o.python, "python", "python3", "a Python that has onnxruntime and numpy")
	fs.StringVar(&o.reference, "reference", "", "ort (default, if installed), interpreter, graph (of dnnc graph, in integers), or none")
	fs.StringVar(&o.optimizations, "reference-optimizations", "", "none or all of ONNX Runtime's graph optimisations, for its results; times always use all (default: none for networks with quantized nodes, else all)")
	fs.StringVar(&o.keep, "keep", "", "folder that keeps all intermediate files")
	fs.Float64Var(&o.tolerance, "tolerance", 1e-4, "largest error, relative to the range of the reference's output")
	fs.StringVar(&o.threadsGiven, "threads", "1", "number of threads; with --peers one or more numbers, such as 1,2")
	fs.IntVar(&o.rounds, "rounds", 0, "rounds of timing against ONNX Runtime, or against --peers")
	fs.Float64Var(&o.seconds, "seconds", 0.5, "how long each of them runs in a round")
	fs.StringVar(&o.tuning, "tuning", "", "a record of kernels' times on chips, for the compiler")
	fs.StringVar(&o.tune, "tune", "", "measure the blocks' kernels and write this record; compares nothing, except in a line of a list the model with the record (a relative path is in --models)")
	fs.IntVar(&o.candidates, "candidates", 8, "with --tune: maximum number of kernels measured for a block")
	fs.IntVar(&o.search, "search", 0, "with --tune: number of times that further kernels from a genetic search are measured; the search uses all times in the record, and continues an earlier one")
	fs.BoolVar(&o.again, "again", false, "with --tune: measure kernels in the record again")
	fs.BoolVar(&o.regret, "regret", false, "with --tune: print the estimate of each kernel beside its time, the extra time of the kernels that estimates choose, and Spearman's correlation of both orders")
	fs.StringVar(&o.peersGiven, "peers", "", "engines to time, such as onnxruntime,ncnn, or all: "+strings.Join(engines, ", ")+"; prints a table in Markdown")
	fs.IntVar(&o.intLimit, "int-limit", 1000, "exclusive maximum of integer inputs")
	fs.IntVar(&o.seed, "seed", 0, "seed of the synthetic inputs")
	fs.StringVar(&o.list, "list", "", "a file with a command line of this command in each line, or several with commas between: prints a table in Markdown")
	fs.StringVar(&o.models, "models", ".", "folder of the list's models")
	fs.Float64Var(&o.mostWeights, "most-weights", 0, "with --list and --device: compile networks with more million weights, but do not run them (0: run all)")
	fs.IntVar(&o.atOnce, "at-once", 1, "with --list: number of models at the same time")
	fs.BoolVar(&o.starts, "starts", false, "with --device: measure the start-up time of a program if the driver compiles its kernels, and if they are cached; with --list, the table has these times (the driver may have its own cache: CUDA_CACHE_DISABLE=1, POCL_KERNEL_CACHE=0)")
	fs.StringVar(&o.pack, "pack", "", "write a folder with which this command runs on a machine without Go, with --dnnc=bin/dnnc; compares nothing")
	fs.StringVar(&o.only, "only", "", "regular expression that selects models of the list")
	fs.StringVar(&o.node, "node", "", nodeHelp)
	fs.BoolVar(&o.fill, "fill", false, "fill the model with random weights if its own were removed")
	fs.BoolVar(&o.layers, "layers", false, "compare each quantized value, computed from the reference's operands, even if the outputs agree (with --list, the table has these results); for a float network, print the first block whose values differ from the reference by more than --tolerance")
	fs.BoolVar(&o.executed, "executed", false, "with a DSP's chip: print the packets that the emulator executed for each block")
	fs.BoolVar(&o.count, "count", false, "with --emulator and a chip of 64-bit ARM: print instructions, multiply-adds, loads and stores of each block, which QEMU's plugins count (--cxx links with -static)")
	fs.StringVar(&o.countJSON, "count-json", "", "with --count: FILE for the counts of all functions in the last run, and a digest of the code, in JSON")
	fs.StringVar(&o.countedCode, "counted", "", "with --count-json: the digest of an earlier FILE; the same code is not compiled or run, and FILE has the digest alone")
	fs.StringVar(&o.pruning, "pruning", "", "prune the model first, by settings of 'dnnc prune': JSON, or a `FILE` of it; with --peers, kernels of the dense weights are timed, too")
}

// check reports options that cannot be combined, and sets the model.
func (o *options) check(models []string) error {
	if len(o.threadCounts) > 1 && o.peers == nil {
		return fmt.Errorf("--threads=%s: several numbers are for --peers", o.threadsGiven)
	}
	if o.mostWeights < 0 || o.mostWeights > 0 && (o.list == "" || o.device == "" || o.peers != nil || o.layers) {
		return fmt.Errorf("--most-weights=%g: want a number >= 0, with --list and --device", o.mostWeights)
	}
	if o.starts && (o.device == "" || o.mostWeights > 0 || o.peers != nil || o.layers) {
		return errors.New("--starts: want --device, whose driver compiles kernels, and a program that runs")
	}
	if o.atOnce < 1 || o.atOnce > 1 && (o.list == "" || o.peers != nil || o.rounds > 0 || o.starts || o.tune != "") {
		return fmt.Errorf("--at-once=%d: want a number >= 1, with a --list that times nothing", o.atOnce)
	}
	if (o.list != "" || o.pack != "") && len(models) == 0 {
		return nil
	}
	if len(models) != 1 {
		return fmt.Errorf("found %d models (%s), want one; --help shows examples", len(models), strings.Join(models, " "))
	}
	if !slices.Contains([]string{"", "ort", "interpreter", "graph", "none"}, o.reference) {
		return fmt.Errorf("--reference=%s: want ort, interpreter, graph or none", o.reference)
	}
	if o.reference == "none" && (o.layers || o.rounds > 0 || o.peers != nil) {
		return errors.New("--reference=none compares nothing: leave out --layers, --rounds and --peers")
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
		return fmt.Errorf("--regret compares estimates with measured times; add --tune with the record's file")
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
