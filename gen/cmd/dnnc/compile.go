package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/files"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/print/cpp"
	"rules_dnn/gen/print/cppapi"
	"rules_dnn/gen/print/hvx"
	"rules_dnn/gen/prune"
	"rules_dnn/gen/target"
)

const compileDoc = `dnnc compile makes C++ of a graph that 'dnnc graph' wrote, for a chip.

It writes the public header, a folder of sources to compile with runtime/, the packed weights, the
assembly that embeds them, and a manifest that tells of each block what it computes and how.

Examples:
  C++ for 64-bit ARM, with the weights in the library:
    dnnc compile --graph=net.graph.txt --consts=net.consts --src=net.onnx \
      --chip=arm64 --api=net --prefix=net --namespace=net \
      --out-header=net.h --out-kernels=kernels --out-weights=net.weights \
      --out-weights-asm=net.weights.S --out-manifest=net.manifest.json
  The weights in a file that the program opens, and more files of kernels to compile in parallel:
    ... --weights=file --shards=16 (and no --out-weights-asm)
  Kernels that were measured on such chips before, by the record that NAME.tune wrote:
    ... --tuning=net.tune.json
  A program to measure: every block by its third kernel, if it has so many; the manifest names them:
    ... --candidate=3
  The same of a search: of blocks that the record knows, its candidates are what a genetic search finds next, by what was measured:
    ... --candidate=3 --tuning=net.tune.json
  Kernels for more chips than one, of which create() chooses; each folder is compiled with its chip's options:
    ... --chip=x86_64 --variant=x86_64_v3 --out-variant=kernels_v3 --variant=x86_64_v4 --out-variant=kernels_v4
  What the anchors gain: the same network without them, to measure:
    ... --disable=anchors
  Values and weights stored in 16 bits and computed in f32; the manifest says what stays f32, and why (precision):
    ... --precision=fp16
  What leaves the range of 16 bits on some inputs stays f32, too:
    ... --precision=fp16 --calibration=images.safetensors
  The same in bf16, whose products are those of the chip's instructions for pairs, where it has some: two a lane, denormal numbers taken for zeros:
    ... --precision=bf16
  What fusion made, and how long each pass takes:
    ... --dump=fuse --dump-dir=dumps --time
  A library for a DSP, whose kernels are C:
    ... --chip=hexagon_v68 --out-kernels-c=kernels_c
  A model that runs on an OpenCL device, and on the chip what the device does not; sources are to be compiled with runtime/opencl, too:
    ... --device=opencl_buffers --out-device-source=net.cl
  The same by the record of what kernels take on devices of these facts, and on the chip:
    ... --device=opencl_buffers --out-device-source=net.cl --tuning=net.tune.json
  A model that runs on a Hexagon DSP, by the skeleton libraries that the next line makes, and on the chip where options say so; sources are to be compiled with runtime/fastrpc, too:
    ... --remote=v68 --remote=v73
  The sources of a skeleton library, to be linked with runtime/fastrpc as a shared library of that DSP:
    ... --chip=hexagon_v68 --skeleton
`

// compileFlags are the options of `dnnc compile`.
type compileFlags struct {
	graph, consts, src, chip, device   string
	api, prefix, namespace, weights    string
	header, kernels, kernelsC          string
	weightsOut, asm, mf                string
	tuning, pruning, cl, precision     string
	page, log, calibration             string
	shards, candidate                  int
	external, variants, variantKernels list
	remote                             list
	skeleton, observe                  bool
	passes                             passFlags
	warnings                           warnFlags
	keep                               list          // what dnnc graph has followed
	mode                               cppapi.Mode   // of weights
	report                             *prune.Report // of pruning, once it is read
}

// asGiven is the value of --precision for floats as the model has them, and precisions are all of them, with the types in which f32 is stored.
const asGiven = "fp32"

var precisions = map[string]ir.DType{asGiven: ir.Invalid, "fp16": ir.F16, "bf16": ir.BF16}

// compileCommand is `dnnc compile`: the graph's text form to C++.
func compileCommand(args []string, out, log io.Writer) error {
	var f compileFlags
	c := newCommand("dnnc compile", compileDoc,
		"graph", "consts", "src", "chip", "api", "prefix", "namespace", "out-header", "out-kernels", "out-weights", "out-manifest")
	c.StringVar(&f.graph, "graph", "", "`FILE`: the graph, from dnnc graph")
	c.StringVar(&f.consts, "consts", "", "`FILE`: its constants, from dnnc graph")
	c.StringVar(&f.src, "src", "", "`FILE`: the ONNX model, which holds the other constants")
	c.StringVar(&f.chip, "chip", "", "the chip: one of platforms/chips/chips.bzl by its `NAME`, as x86_64_v3, or a FILE.json of facts")
	c.StringVar(&f.device, "device", "", "a device, one of platforms/devices by its `NAME`, as opencl_buffers, or a FILE.json of facts, that runs blocks beside the chip, where that is estimated to pay")
	c.StringVar(&f.cl, "out-device-source", "", "`FILE`: the device's kernels, in OpenCL C; sources hold them, too (with --device)")
	c.StringVar(&f.api, "api", "", "`NAME` of the header, without .h")
	c.StringVar(&f.prefix, "prefix", "", "`NAME` that C names begin with")
	c.StringVar(&f.namespace, "namespace", "", "`NAME` of the wrapper's C++ namespace")
	c.StringVar(&f.weights, "weights", "embed", "`MODE`: embed, in the library; file, given to create()")
	c.IntVar(&f.shards, "shards", 4, "`NUMBER` of files of kernels")
	c.StringVar(&f.header, "out-header", "", "`FILE`: the public header")
	c.StringVar(&f.kernels, "out-kernels", "", "`FOLDER` of the sources")
	c.StringVar(&f.kernelsC, "out-kernels-c", "", "`FOLDER` of the kernels in C, for a chip whose kernels are (a DSP), and only then; --out-kernels has the host program")
	c.StringVar(&f.weightsOut, "out-weights", "", "`FILE`: the packed weights")
	c.StringVar(&f.asm, "out-weights-asm", "", "`FILE`: assembly that embeds the weights (with --weights=embed, and only then)")
	c.StringVar(&f.mf, "out-manifest", "", "`FILE`: the manifest (JSON)")
	c.StringVar(&f.tuning, "tuning", "", "`FILE`: the record of what kernels take on chips and devices (JSON), which decides between them or, with --candidate, leads to others")
	c.StringVar(&f.pruning, "pruning", "", "`FILE`: the report of dnnc prune (JSON), where it made the model: of which layers kernels are to store weights packed; the manifest and warnings tell of it")
	c.StringVar(&f.page, "out-pruning-page", "", "`FILE`: a page (HTML) with pictures of patterns, and with what computes each pruned layer (with --pruning)")
	c.StringVar(&f.log, "pruning-log", "", "`FILE`: how the pruned weights were trained (JSON), for the page (with --out-pruning-page)")
	c.StringVar(&f.precision, "precision", asGiven, "`TYPE`: fp32, floats as the model has them; fp16, values and weights of f32 stored in 16 bits, computed and summed in f32; bf16, the same in bf16, of which the chip's instructions multiply pairs and take denormal numbers for zeros")
	c.StringVar(&f.calibration, "calibration", "", "`FILE` of inputs, safetensors, with --precision=fp16: values that come near the end of f16's range on them, or leave it, stay f32; the manifest and warnings tell of it")
	c.IntVar(&f.candidate, "candidate", 0, "`NUMBER`, from 1, of the kernel that computes each block among those worth measuring, 1 being what estimates prefer; 0: the best")
	c.Var(&f.variants, "variant", "a further chip, by its `NAME` or a FILE.json of facts, that the library has kernels for, more capable than those before; may be repeated")
	c.Var(&f.variantKernels, "out-variant", "`FOLDER` of the sources of these kernels; one for each --variant, in their order")
	c.Var(&f.remote, "remote", "`VERSION` of Hexagon, as v68, with a skeleton library of the model, which the sources call; may be repeated, the least capable first")
	c.BoolVar(&f.observe, "observe", false, "the sources tell of what each block computes to a function of the caller's, which PREFIX_observe takes: to find where a network answers wrongly")
	c.BoolVar(&f.skeleton, "skeleton", false, "the sources are of a skeleton library, which FastRPC calls on the DSP")
	c.Var(&f.external, "external", "`LOCATION=PATH` of a file of external data; may be repeated")
	f.warnings.register(c.FlagSet)
	registerKeep(c.FlagSet, &f.keep)
	f.passes.register(c.FlagSet)
	if err := c.parse(args, out); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return c.hint("%w", err)
	}
	return f.run(log)
}

// check refuses options that contradict each other, before anything is computed.
func (f *compileFlags) check() (err error) {
	if f.mode, err = cppapi.ParseMode(f.weights); err != nil {
		return err
	}
	if err := f.warnings.check(); err != nil {
		return err
	}
	store, known := precisions[f.precision]
	switch {
	case !known:
		return fmt.Errorf("--precision=%s: want fp32, fp16 or bf16", f.precision)
	case f.calibration != "" && store != ir.F16:
		return fmt.Errorf("--calibration=%s: it shows which values leave the range of f16: want --precision=fp16, too", f.calibration)
	case store != ir.Invalid && f.pruning != "":
		return fmt.Errorf("--precision=%s and --pruning=%s: kernels that leave out pruned weights are of f32, and in 16 bits all weights would be computed with: want one of them", f.precision, f.pruning)
	case f.page != "" && f.pruning == "":
		return fmt.Errorf("--out-pruning-page=%s: want --pruning, the report of dnnc prune that the page shows", f.page)
	case f.log != "" && f.page == "":
		return fmt.Errorf("--pruning-log=%s: want --out-pruning-page, which shows it", f.log)
	case f.candidate < 0:
		return fmt.Errorf("--candidate=%d: want a number from 1", f.candidate)
	case len(f.variants) != len(f.variantKernels):
		return fmt.Errorf("%d --variant and %d --out-variant: want a folder for the kernels of each variant", len(f.variants), len(f.variantKernels))
	case f.kernelsC != "" && filepath.Clean(f.kernelsC) == filepath.Clean(f.kernels):
		return fmt.Errorf("--out-kernels=%s and --out-kernels-c=%s are the same folder: give each its own", f.kernels, f.kernelsC)
	case repeated(append(list{f.kernels}, f.variantKernels...)) != "":
		return fmt.Errorf("--out-kernels=%s and --out-variant=%s are the same folder, or two of the latter: give each chip its own", f.kernels, repeated(append(list{f.kernels}, f.variantKernels...)))
	case f.shards < 1 || f.shards > 1000:
		return fmt.Errorf("--shards=%d: want 1 to 1000", f.shards)
	case f.mode == cppapi.Embed && f.asm == "":
		return fmt.Errorf("--out-weights-asm is missing: --weights=embed needs the assembly")
	case f.mode != cppapi.Embed && f.asm != "":
		return fmt.Errorf("--out-weights-asm=%s: only --weights=embed has an assembly", f.asm)
	}
	if err := f.checkRemote(); err != nil {
		return err
	}
	return f.checkDevice()
}

// repeated is the first path that stands twice; "" where none does.
func repeated(paths []string) string {
	for i, p := range paths {
		if slices.ContainsFunc(paths[:i], func(o string) bool { return filepath.Clean(o) == filepath.Clean(p) }) {
			return p
		}
	}
	return ""
}

// plan is what the command reads and writes.
func (f *compileFlags) plan() *files.Plan {
	p := &files.Plan{}
	inputs(p, f.external, map[string]string{"graph": f.graph, "consts": f.consts, "src": f.src, "chip": f.chip, "device": f.device, "pruning": f.pruning, "pruning-log": f.log, "tuning": f.tuning, "calibration": f.calibration})
	outputs(p, map[string]string{"out-header": f.header, "out-weights": f.weightsOut, "out-weights-asm": f.asm, "out-manifest": f.mf, "out-device-source": f.cl, "out-pruning-page": f.page})
	for _, path := range f.variants {
		p.Input("--variant="+path, path)
	}
	p.Folder("--out-kernels="+f.kernels, f.kernels, sourceNames(f.prefix))
	if f.kernelsC != "" {
		p.Folder("--out-kernels-c="+f.kernelsC, f.kernelsC, sourceNames(f.prefix))
	}
	for _, folder := range f.variantKernels {
		p.Folder("--out-variant="+folder, folder, variantNames(f.prefix))
	}
	f.passes.plan(p)
	return p
}

func (f *compileFlags) run(log io.Writer) error {
	if err := f.plan().Check(); err != nil {
		return err
	}
	o, err := f.passes.options(log)
	if err != nil {
		return err
	}
	defer f.passes.reportMemory(log)
	s, err := f.read()
	if err != nil {
		return err
	}
	if err := f.writable(s.Target); err != nil {
		return err
	}
	if err := f.readPruning(s); err != nil {
		return err
	}
	if done, err := pipeline.Run(pipeline.CompilePasses, s, o); err != nil {
		return fmt.Errorf("%s: %w", f.src, err)
	} else if !done {
		return nil
	}
	for _, note := range s.Choice.Stale {
		fmt.Fprintf(log, "%s is stale, measure again: %s\n", f.tuning, note)
	}
	f.addPruning(s.Program)
	told, err := f.warnings.lines(f.src, s.Program.Warnings)
	if err != nil {
		return err
	}
	if err := f.write(s); err != nil {
		return err
	}
	for _, line := range told {
		fmt.Fprintln(log, line)
	}
	return nil
}

func (f *compileFlags) read() (*pipeline.State, error) {
	s := &pipeline.State{Candidate: f.candidate, Store: precisions[f.precision]}
	if err := f.readChips(s); err != nil {
		return nil, err
	}
	from, err := openExternal(f.external)
	if err != nil {
		return nil, err
	}
	for _, x := range []struct{ name, path string }{{"", f.src}, {ir.ConstsName, f.consts}} {
		if from[x.name], err = openFile(x.path, x.name); err != nil {
			return nil, err
		}
	}
	text, _, err := files.Open(f.graph)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	if s.Graph, err = ir.Parse(text, from); err != nil {
		return nil, fmt.Errorf("%s: %w", f.graph, err)
	}
	if f.calibration != "" {
		if s.Calibration, _, err = readSamples(s.Graph, f.calibration); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// languages are those of the kernels of processors that run the host program, too.
var languages = map[string]*cpp.Language{"cpp": cpp.CPP, "hvx": hvx.C}

// writable refuses a chip that cannot run what is to be written: nothing is where a pass is the last.
func (f *compileFlags) writable(t *target.Target) error {
	language := languages[t.Language()]
	switch {
	case f.passes.stopAfter != "":
		return nil
	case t.Bare() && f.device != "":
		return fmt.Errorf("--device=%s: programs on %s have no OpenCL library: leave it out", f.device, t.Name)
	case language != nil && language.IsC() && f.kernelsC == "":
		return fmt.Errorf("%s: kernels for %s are C, which is compiled with other options than the host program's C++: want --out-kernels-c, a folder for them", f.chip, t.Name)
	case language != nil && !language.IsC() && f.kernelsC != "":
		return fmt.Errorf("--out-kernels-c=%s: kernels for %s are C++, and go to --out-kernels", f.kernelsC, t.Name)
	case language != nil:
		return nil
	}
	hosted := slices.Sorted(maps.Keys(languages))
	return fmt.Errorf("%s: %s is a device, whose kernels are in the language %s, and dnnc writes C++ for processors (kernels in %s), which run the host program; "+
		"want a processor's facts as --chip, as 'bazel build @rules_dnn//platforms/chips:x86_64_v3' writes them; "+
		"for dumps of what is compiled for the device add --stop-after=plan", f.chip, t.Name, t.Language(), strings.Join(hosted, " or "))
}
