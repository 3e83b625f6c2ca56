package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/gen/compress/prune"
	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/emit/cppapi"
	"rules_dnn/gen/emit/hvx"
	"rules_dnn/gen/ir"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target"
)

const compileDoc = `dnnc compile generates C++ for a chip from a graph that 'dnnc graph' wrote.

It writes the public header, a folder of sources to compile with runtime/, the packed weights, the
assembly that embeds them, and a manifest that lists each block, what it computes and how.

Examples:
  C++ for 64-bit ARM, with the weights in the library:
    dnnc compile --graph=net.graph.txt --consts=net.consts --src=net.onnx \
      --chip=arm64 --api=net --prefix=net --namespace=net \
      --out-header=net.h --out-kernels=kernels --out-weights=net.weights \
      --out-weights-asm=net.weights.S --out-manifest=net.manifest.json
  The weights in a file that the program opens, and more files of kernels to compile in parallel:
    ... --weights=file --shards=16 (and no --out-weights-asm)
  Kernels chosen by earlier measurements on such chips, from the record that NAME.tune wrote:
    ... --tuning=net.tune.json
  A program to measure: every block uses its third kernel if it has three; the manifest names the kernels:
    ... --candidate=3
  The same for a search: the candidates of blocks in the record are the next ones that a genetic search proposes from the measurements:
    ... --candidate=3 --tuning=net.tune.json
  Kernels for several chips; create() chooses among them. Each folder is compiled with its chip's options:
    ... --chip=x86_64 --variant=x86_64_v3 --out-variant=kernels_v3 --variant=x86_64_v4 --out-variant=kernels_v4
  The same network without anchors, to measure how much they save:
    ... --disable=anchors
  Values and weights stored in 16 bits and computed in f32; the manifest lists values that stay f32 and the reasons (precision):
    ... --precision=fp16
  Values that leave the range of 16 bits on some inputs stay f32, too:
    ... --precision=fp16 --calibration=images.safetensors
  Products of f16 also multiplied and added in f16, on chips with instructions for it; numbers beyond 65504 become infinite:
    ... --precision=fp16 --accumulation=fp16
  The same in bf16. If the chip multiplies pairs of bf16, its instructions do: two products a lane, denormal numbers count as zero:
    ... --precision=bf16
  The result of fusion, and how long each pass takes:
    ... --dump=fuse --dump-dir=dumps --time
  A library for a DSP, whose kernels are C:
    ... --chip=hexagon_v68 --out-kernels-c=kernels_c
  A model that runs on an OpenCL device, and on the chip where the device cannot; compile the sources with runtime/opencl, too:
    ... --device=opencl_buffers --out-device-source=net.cl
  The same, with kernels chosen by the record of times on such devices and on the chip:
    ... --device=opencl_buffers --out-device-source=net.cl --tuning=net.tune.json
  A model that runs on a Hexagon DSP by the skeleton libraries below, or on the chip if the options of create() ask for it; compile the sources with runtime/fastrpc, too:
    ... --remote=v68 --remote=v73
  The sources of a skeleton library; link it with runtime/fastrpc as a shared library for that DSP:
    ... --chip=hexagon_v68 --skeleton
`

// compileFlags are the options of `dnnc compile`.
type compileFlags struct {
	graph, consts, src, chip, device   string
	api, prefix, namespace, weights    string
	header, kernels, kernelsC          string
	weightsOut, asm, mf                string
	tuning, pruning, cl, precision     string
	accumulation                       string
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

// sumsInFloats and sumsInHalves are the values of --accumulation.
const sumsInFloats, sumsInHalves = "fp32", "fp16"

var precisions = map[string]ir.DType{asGiven: ir.Invalid, "fp16": ir.F16, "bf16": ir.BF16}

// compileCommand is `dnnc compile`: the graph's text form to C++.
func compileCommand(args []string, out, log io.Writer) error {
	var f compileFlags
	c := newCommand("dnnc compile", compileDoc,
		"graph", "consts", "src", "chip", "api", "prefix", "namespace", "out-header", "out-kernels", "out-weights", "out-manifest")
	c.StringVar(&f.graph, "graph", "", "`FILE`: the graph, from dnnc graph")
	c.StringVar(&f.consts, "consts", "", "`FILE`: its constants, from dnnc graph")
	c.StringVar(&f.src, "src", "", "`FILE`: the ONNX model, which holds the other constants")
	c.StringVar(&f.chip, "chip", "", "the chip: the `NAME` of one in platforms/chips/chips.bzl, such as x86_64_v3, or a FILE.json of facts")
	c.StringVar(&f.device, "device", "", "a device that runs the blocks for which it is estimated to be faster than the chip: the `NAME` of one in platforms/devices, such as opencl_buffers, or a FILE.json of facts")
	c.StringVar(&f.cl, "out-device-source", "", "`FILE` where the device's kernels go, in OpenCL C; the sources contain them, too (with --device)")
	c.StringVar(&f.api, "api", "", "`NAME` of the header, without .h")
	c.StringVar(&f.prefix, "prefix", "", "`NAME`: the prefix of C names")
	c.StringVar(&f.namespace, "namespace", "", "`NAME` of the wrapper's C++ namespace")
	c.StringVar(&f.weights, "weights", "embed", "`MODE`: embed: the library contains them; file: the program passes a file to create()")
	c.IntVar(&f.shards, "shards", 4, "`NUMBER` of files of kernels")
	c.StringVar(&f.header, "out-header", "", "`FILE`: the public header")
	c.StringVar(&f.kernels, "out-kernels", "", "`FOLDER` of the sources")
	c.StringVar(&f.kernelsC, "out-kernels-c", "", "`FOLDER` of the kernels in C; only for a chip whose kernels are C (a DSP). --out-kernels then has the host program")
	c.StringVar(&f.weightsOut, "out-weights", "", "`FILE`: the packed weights")
	c.StringVar(&f.asm, "out-weights-asm", "", "`FILE`: assembly that embeds the weights (with --weights=embed, and only then)")
	c.StringVar(&f.mf, "out-manifest", "", "`FILE`: the manifest (JSON)")
	c.StringVar(&f.tuning, "tuning", "", "`FILE`: the record of kernels' times on chips and devices (JSON); dnnc takes the fastest ones or, with --candidate, searches on from them")
	c.StringVar(&f.pruning, "pruning", "", "`FILE`: the report of dnnc prune (JSON), if it wrote the model; it lists the layers whose kernels store weights packed. The manifest and warnings repeat it")
	c.StringVar(&f.page, "out-pruning-page", "", "`FILE`: a page (HTML) with pictures of patterns, and the kernel of each pruned layer (with --pruning)")
	c.StringVar(&f.log, "pruning-log", "", "`FILE`: the log of how the pruned weights were trained (JSON), for the page (with --out-pruning-page)")
	c.StringVar(&f.precision, "precision", asGiven, "`TYPE`: fp32: floats as in the model; fp16: values and weights of f32 are stored in 16 bits, computed and summed in f32; bf16: the same in bf16, but chips with instructions for pairs of bf16 multiply with them and count denormal numbers as zero")
	c.StringVar(&f.accumulation, "accumulation", sumsInFloats, "`TYPE`, with --precision=fp16: fp32: products are computed and summed in f32; fp16: chips with instructions for f16 multiply and add in f16: blocks of up to 128 products, and then the sums of the blocks")
	c.StringVar(&f.calibration, "calibration", "", "`FILE` of inputs (safetensors), with --precision=fp16: values that nearly or really leave the range of f16 on these inputs stay f32; the manifest and warnings list them")
	c.IntVar(&f.candidate, "candidate", 0, "`NUMBER` from 1 of the kernel that each block uses, among those worth measuring in the order of their estimates; 0: the best one")
	c.Var(&f.variants, "variant", "the `NAME` or FILE.json of facts of a further chip that the library has kernels for; each is more capable than the one before; may be repeated")
	c.Var(&f.variantKernels, "out-variant", "`FOLDER` of the sources of a variant's kernels; one for each --variant, in the same order")
	c.Var(&f.remote, "remote", "the `VERSION` of Hexagon, such as v68, of a skeleton library that the sources call; may be repeated, the least capable first")
	c.BoolVar(&f.observe, "observe", false, "the sources pass the results of each block to a function that the caller passes to PREFIX_observe, to find where a network computes wrong values")
	c.BoolVar(&f.skeleton, "skeleton", false, "write the sources of a skeleton library, which FastRPC calls on the DSP")
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
	case f.accumulation != sumsInFloats && f.accumulation != sumsInHalves:
		return fmt.Errorf("--accumulation=%s: want fp32 or fp16", f.accumulation)
	case f.accumulation == sumsInHalves && store != ir.F16:
		return fmt.Errorf("--accumulation=%s: it adds products of f16; add --precision=fp16", f.accumulation)
	case f.calibration != "" && store != ir.F16:
		return fmt.Errorf("--calibration=%s: it finds values that leave the range of f16; add --precision=fp16", f.calibration)
	case store != ir.Invalid && f.pruning != "" && f.device != "":
		return fmt.Errorf("--precision=%s, --pruning=%s and --device=%s: the device's kernels skip pruned weights of f32 only, so 16 bits would compute with all weights; leave out one of them", f.precision, f.pruning, f.device)
	case f.page != "" && f.pruning == "":
		return fmt.Errorf("--out-pruning-page=%s: the page shows the report of dnnc prune; add --pruning", f.page)
	case f.log != "" && f.page == "":
		return fmt.Errorf("--pruning-log=%s: only --out-pruning-page shows it; add that option", f.log)
	case f.candidate < 0:
		return fmt.Errorf("--candidate=%d: want a number from 1", f.candidate)
	case len(f.variants) != len(f.variantKernels):
		return fmt.Errorf("%d --variant and %d --out-variant: want a folder for the kernels of each variant", len(f.variants), len(f.variantKernels))
	case f.kernelsC != "" && filepath.Clean(f.kernelsC) == filepath.Clean(f.kernels):
		return fmt.Errorf("--out-kernels=%s and --out-kernels-c=%s are the same folder; name two different folders", f.kernels, f.kernelsC)
	case repeated(append(list{f.kernels}, f.variantKernels...)) != "":
		return fmt.Errorf("--out-kernels=%s and --out-variant=%s, or two of --out-variant, are the same folder; name a different folder for each chip", f.kernels, repeated(append(list{f.kernels}, f.variantKernels...)))
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
	s := &pipeline.State{Candidate: f.candidate, Store: precisions[f.precision], SumHalves: f.accumulation == sumsInHalves}
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
		return fmt.Errorf("--device=%s: there is no OpenCL library on %s; leave the option out", f.device, t.Name)
	case language != nil && language.IsC() && f.kernelsC == "":
		return fmt.Errorf("%s: the kernels for %s are C, and need other compiler options than the C++ of the host program; name a folder for them with --out-kernels-c", f.chip, t.Name)
	case language != nil && !language.IsC() && f.kernelsC != "":
		return fmt.Errorf("--out-kernels-c=%s: the kernels for %s are C++ and go to --out-kernels; leave the option out", f.kernelsC, t.Name)
	case language != nil:
		return nil
	}
	hosted := slices.Sorted(maps.Keys(languages))
	return fmt.Errorf("%s: %s is a device with kernels in the language %s; --chip needs a processor (kernels in %s), which runs the host program. "+
		"Pass a processor's facts, as 'bazel build @rules_dnn//platforms/chips:x86_64_v3' writes them; "+
		"to dump what is compiled for the device, add --stop-after=plan", f.chip, t.Name, t.Language(), strings.Join(hosted, " or "))
}
