package cpptest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp"
	"rules_dnn/gen/target"
)

// Machine is what programs are compiled for, and how they run there.
type Machine struct {
	Language *cpp.Language
	// Compilers for C++ and C, of which the first on the PATH is taken, and flags for both; nil: $CXX, clang++ or g++.
	Compilers []string
	Flags     []string
	// Silent: compilers may print nothing. GCC's notes on how vectors are passed are no warnings, and users see them, too, but so do tests whose vectors
	// are wider than their flags allow.
	Silent bool
	// Linker and its flags; nil: the compiler.
	Linker []string
	// Runner runs a program; nil: the machine itself does.
	Runner []string
	// Packages are what has the tools, for messages.
	Packages string
	// Files are further files of the program by name: headers, and sources in C.
	Files map[string]string
	// Flushes reports that denormal numbers are zeros in a run that does not ask to keep them.
	Flushes bool
	// Device, where it is not nil, runs what the programs launch.
	Device *target.Target
	// Counters is how many numbers void driver_counters(uint32_t*), which Files define, gives.
	Counters int
}

// Host is the machine that runs the test. $CXX names another compiler.
var Host = Machine{Language: cpp.CPP, Packages: "clang or g++", Flushes: true}

// Compiler is the C++ compiler on the PATH; a test without one is skipped.
func Compiler(t testing.TB) string { return Host.compiler(t) }

// compiler skips the test where a tool is missing.
func (m *Machine) compiler(t testing.TB) string {
	for _, tool := range [][]string{m.Linker, m.Runner} {
		if len(tool) > 0 && !found(tool[0]) {
			t.Skipf("no %s on this machine: install %s", tool[0], m.Packages)
		}
	}
	compilers := m.Compilers
	if compilers == nil {
		if name := named(t); name != "" {
			return name
		}
		compilers = []string{"clang++", "g++"}
	}
	for _, name := range compilers {
		if found(name) {
			return name
		}
	}
	t.Skipf("no %s on this machine: install %s", strings.Join(compilers, " or "), m.Packages)
	return ""
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Run runs the cases on the machine that runs the test.
func Run(t testing.TB, root string, cases []Case, flags ...string) []Result {
	return Host.Run(t, root, cases, flags...)
}

// Run compiles the cases with the flags, warnings being errors, and runs them as users do. Where that
// makes denormal numbers zeros it runs them again with those kept, and the results must be the same but
// for numbers that are denormal, unless a case has some among its inputs. root is the repository's folder,
// where runtime/ lies.
func (m *Machine) Run(t testing.TB, root string, cases []Case, flags ...string) []Result {
	b := &build{Machine: m, compiler: m.compiler(t), dir: t.TempDir()}
	flags = append(append([]string{"-I" + root, "-I" + b.dir}, m.Flags...), flags...)
	var request bytes.Buffer
	var kernels []*deviceSource
	if m.Device != nil {
		kernels = b.deviceSources(t, cases)
	}
	for i := range cases {
		dims := map[string]int64{}
		maps.Copy(dims, cases[i].Dims)
		require.NoError(t, cases[i].Program.BindBounds(dims), cases[i].Name)
		cases[i].Dims = dims
		require.NoError(t, writeCase(&request, i, &cases[i]), cases[i].Name)
		if kernels != nil {
			require.NoError(t, kernels[i].write(&request, &cases[i]), cases[i].Name)
		}
	}
	b.write(t, "driver.h", driver)
	for name, text := range m.Files {
		b.write(t, name, text)
	}
	asks := false // for the processor's features
	for at := 0; at < len(cases); at += perFile {
		text, others, err := source(m.Language, cases, at, min(at+perFile, len(cases)))
		require.NoError(t, err)
		asks = asks || strings.Contains(text, "CpuHas(")
		b.write(t, fmt.Sprintf("part%d.cc", at/perFile), text)
		for _, f := range others {
			b.write(t, f.Name, f.Text)
		}
	}
	if asks {
		b.write(t, "cpu.cc", "#include \"runtime/dnn_cpu.cc\"\n")
	}
	head := ""
	if m.Device != nil {
		b.write(t, "device.h", deviceDriver)
		b.writeBackend(t, root)
		head = "#define DRIVER_DEVICE\n"
	}
	b.write(t, "main.cc", head+mainSource((len(cases)+perFile-1)/perFile))
	bin := b.program(t, flags)
	rs := results(t, cases, m.Counters, m.output(t, bin, request.Bytes(), false))
	if m.Device != nil {
		withDevice(t, rs)
	}
	if m.Flushes {
		for i, kept := range results(t, cases, m.Counters, m.output(t, bin, request.Bytes(), true)) {
			rs[i].Kept = &kept
			if !cases[i].Denormals {
				requireAlike(t, cases[i].Name, &rs[i], &kept)
			}
		}
	}
	return rs
}

// output is what the driver writes of a request, with denormal numbers kept or not.
func (m *Machine) output(t testing.TB, driver string, request []byte, keep bool) []byte {
	command := append(append([]string{}, m.Runner...), driver)
	cmd := exec.Command(command[0], command[1:]...)
	mode := make([]byte, 8)
	if keep {
		mode[0] = 1
	}
	cmd.Stdin = io.MultiReader(bytes.NewReader(mode), bytes.NewReader(request))
	if m.Device != nil {
		cmd.Env = append(os.Environ(), "POCL_CACHE_DIR="+filepath.Dir(driver)) // PoCL keeps what it compiled
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	require.Empty(t, stderr.String())
	return out
}

// build is a program being made.
type build struct {
	*Machine
	compiler, dir string
	sources       []string
}

func (b *build) write(t testing.TB, name, text string) {
	path := filepath.Join(b.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	if !strings.HasSuffix(name, ".h") {
		b.sources = append(b.sources, path)
	}
}

var (
	strict    = []string{"-Wall", "-Wextra", "-Werror", "-fno-fast-math", "-fno-math-errno"}
	strictC   = []string{"-x", "c", "-std=c11"}
	strictCxx = []string{"-std=c++17", "-ffp-contract=fast", "-fno-exceptions", "-fno-rtti"}
)

// program compiles the sources, as many at a time as there are processors, and links them.
func (b *build) program(t testing.TB, flags []string) string {
	objects := make([]string, len(b.sources))
	errs := make([]string, len(b.sources))
	var wait sync.WaitGroup
	slots := make(chan struct{}, max(1, runtime.NumCPU()))
	for i, s := range b.sources {
		objects[i] = s + ".o"
		wait.Add(1)
		go func() {
			defer wait.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			language := strictCxx
			if strings.HasSuffix(s, ".c") {
				language = strictC
			}
			args := slices.Concat(strict, language, flags, []string{"-c", s, "-o", objects[i]}) // contraction last: older releases of clang take -fno-fast-math for an opinion on it
			if out, err := exec.Command(b.compiler, args...).CombinedOutput(); err != nil || b.Silent && len(out) > 0 {
				errs[i] = fmt.Sprintf("%v\n%.4000s", err, out)
			}
		}()
	}
	wait.Wait()
	for _, e := range errs {
		require.Empty(t, e)
	}
	link := b.Linker
	if len(link) == 0 {
		link = append([]string{b.compiler}, flags...)
	}
	bin := filepath.Join(b.dir, "driver")
	args := append(append(append([]string{}, link[1:]...), "-o", bin), objects...)
	if b.Device != nil {
		args = append(args, "-ldl")
	}
	out, err := exec.Command(link[0], args...).CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
	return bin
}
