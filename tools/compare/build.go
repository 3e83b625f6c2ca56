package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rules_dnn/tools/command"
	"rules_dnn/tools/internal/build"
)

// program is a model's compiled program.
type program struct {
	command []string
	times   times
	bare    bool     // it runs on a DSP
	counter *counter // nil without --count
	counted bool     // --counted has its code, so it was not compiled
}

// times are what making a program took, in seconds, and the most memory that dnnc had, in bytes.
type times struct {
	graph, compile, cxx float64
	memory              int64
	compiler            string // of C++
}

func (t times) String() string {
	dnnc := fmt.Sprintf("dnnc graph %.2f s, dnnc compile %.2f s, %.0f MB", t.graph, t.compile, float64(t.memory)/1e6)
	if t.compiler == "" { // it was compiled only
		return dnnc
	}
	return fmt.Sprintf("%s, %s %.2f s", dnnc, t.compiler, t.cxx)
}

// building is held by who compiles C++: that takes all processors, and what the first of several
// programs is made of beside kernels is there for the others.
var building sync.Mutex

// makeProgram makes a program of the model for the chips, with further options of `dnnc compile`.
func makeProgram(o *options, m *model, chips library, work string, compileOnly ...string) (*program, error) {
	if err := errors.Join(o.checkBare(chips), o.checkCount(chips)); err != nil {
		return nil, err
	}
	p := &program{command: append(strings.Fields(o.emulator), work+"/program", "--weights="+work+"/model.weights")}
	compileOnly = append(compileOnly, chips.variantOptions(work)...)
	if chips[0].Bare() {
		compileOnly = append(compileOnly, bareOptions(work)...)
	}
	if err := generate(o, m, work, &p.times, compileOnly...); err != nil {
		return nil, err
	}
	if chips[0].Bare() {
		return p, p.buildBare(o, chips, work)
	}
	var err error
	if _, err = build.WriteServed(work); err != nil {
		return nil, err
	}
	if p.counted, err = o.counted(chips, work); p.counted || err != nil {
		return p, err
	}
	cxx, err := findCxx(o)
	if err != nil {
		return nil, err
	}
	p.times.compiler = filepath.Base(cxx[0])
	if err := p.times.compiling(func() error { return compileAll(cxx, chips, work, o.runtime, o.device != "") }); err != nil || !o.count {
		return p, err
	}
	return p, p.countExecuted(o, chips, work)
}

// compiling compiles C++ when no other program does, and takes the time from then on.
func (t *times) compiling(all func() error) error {
	building.Lock()
	defer building.Unlock()
	start := time.Now()
	err := all()
	t.cxx = time.Since(start).Seconds()
	return err
}

// generate makes the sources for the chip whose facts are in the work folder.
func generate(o *options, m *model, work string, took *times, compileOnly ...string) error {
	dnnc, err := compiler(o, work)
	if err != nil {
		return err
	}
	start := time.Now()
	graph := []string{"graph", "--src=" + m.path, "--out=" + work + "/graph.txt", "--out-consts=" + work + "/graph.consts"}
	if m.random {
		graph = append(graph, "--fill-random")
	}
	for _, d := range o.dims {
		graph = append(graph, "--dim="+d)
	}
	common := []string{"--disable=" + o.disable}
	for _, e := range m.external {
		common = append(common, "--external="+e)
	}
	graphMemory, err := runCompiler(dnnc, append(graph, common...)...)
	if err != nil {
		return err
	}
	took.graph, start = time.Since(start).Seconds(), time.Now()
	if o.precision != "" {
		compileOnly = append(compileOnly, "--precision="+o.precision)
	}
	if o.accumulation != "" {
		compileOnly = append(compileOnly, "--accumulation="+o.accumulation)
	}
	if m.report != "" && slices.Contains([]string{"", "fp32"}, o.precision) { // it says of which layers kernels are to pack the weights, of f32
		compileOnly = append(compileOnly, "--pruning="+m.report)
	}
	if o.tuning != "" {
		compileOnly = append(compileOnly, "--tuning="+command.Path(o.tuning))
	}
	if o.device != "" {
		compileOnly = append(compileOnly, "--device="+nameOrPath(o.device), "--out-device-source="+work+"/model.cl")
	}
	compileMemory, err := runCompiler(dnnc, slices.Concat([]string{"compile", "--graph=" + work + "/graph.txt", "--consts=" + work + "/graph.consts",
		"--src=" + m.path, "--chip=" + work + "/chip.json", "--shards=8"}, build.Names(work), common, compileOnly)...)
	took.compile, took.memory = time.Since(start).Seconds(), max(compileMemory, graphMemory)
	return err
}

// brought is where Bazel brings dnnc.
const brought = "gen/cmd/dnnc/dnnc_/dnnc"

// compiler returns the path of dnnc, and builds it if Bazel did not.
func compiler(o *options, work string) (string, error) {
	if o.dnnc != "" {
		return filepath.Abs(command.Path(o.dnnc))
	}
	if _, err := os.Stat(brought); err == nil {
		return filepath.Abs(brought)
	}
	return build.Dnnc(".", work)
}

// runCompiler runs dnnc and returns its peak memory in bytes, if it reports that.
func runCompiler(dnnc string, args ...string) (int64, error) {
	out, err := build.Output(dnnc, append(args, "--time")...)
	if m := memory.FindStringSubmatch(out); m != nil {
		kilobytes, err := strconv.ParseInt(m[1], 10, 64)
		return kilobytes << 10, err
	}
	return 0, err
}

var memory = regexp.MustCompile(`memory +([0-9]+) kB`)

func findCxx(o *options) ([]string, error) {
	for _, command := range []string{o.cxx, os.Getenv("CXX"), "clang++", "g++"} {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		if _, err := exec.LookPath(words[0]); err == nil {
			return words, nil
		}
		if command == o.cxx {
			break
		}
	}
	return nil, fmt.Errorf("no C++ compiler is found: install clang++ or g++, or name one with --cxx or $CXX")
}

// compileAll compiles the kernels, the runtime and the program around them, each file by itself,
// and links them. Objects of all but the kernels are the same for every model: they stay in the
// folder runtime, if one is given.
func compileAll(cxx []string, chips library, work, runtime string, device bool) error {
	kept := runtime != ""
	if !kept {
		runtime = work
	}
	var jobs [][]string
	objects := []string{}
	parts := append([]part{
		{work + "/kernels/model_*.cc", append(slices.Clone(build.KernelCopts), chips[0].Copts...), work},
		{"runtime/dnn_*.cc", build.RuntimeCopts, runtime},
		{"runtime/serve/*.cc", build.ProgramCopts, runtime},
		{"runtime/bench/*.cc", build.ProgramCopts, runtime},
		{work + "/served.cc", build.ProgramCopts, work},
	}, chips.variantParts(work)...)
	if device {
		parts = append(parts, part{"runtime/opencl/*.cc", build.RuntimeCopts, runtime})
	}
	for n, part := range parts {
		files, err := build.Sources(part.pattern)
		if err != nil && n < ownParts {
			return err
		}
		for i, f := range files {
			object := objectFile(part.objects, n, i)
			objects = append(objects, object)
			if _, err := os.Stat(object); err == nil && kept && part.objects == runtime {
				continue
			}
			jobs = append(jobs, slices.Concat(cxx[1:], part.copts, []string{"-I.", "-I" + work, "-I" + work + "/kernels", "-c", f, "-o", object}))
		}
	}
	if err := build.Parallel(cxx[0], jobs); err != nil {
		return err
	}
	return build.Link(cxx, objects, work+"/program")
}

// objectFile returns the object of a source, by the numbers of the part and of the source in it.
func objectFile(folder string, part, source int) string {
	return fmt.Sprintf("%s/%d_%d.o", folder, part, source)
}

// part is files that are compiled alike.
type part struct {
	pattern string
	copts   []string
	objects string // folder
}

// ownParts is how many parts a program of one chip has.
const ownParts = 5

// variantParts returns the kernels of chips after the first. A chip with the kernels of another
// one adds none.
func (l library) variantParts(work string) []part {
	var out []part
	for i := 1; i < len(l); i++ {
		out = append(out, part{variantFolder(work, i) + "/model_*.cc", append(slices.Clone(build.KernelCopts), l[i].Copts...), work})
	}
	return out
}
