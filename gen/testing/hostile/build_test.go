package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/ir"
)

// perFile is how many models share a source file.
const perFile = 40

// build makes one program of the models' C++, and runs the cases in it.
type build struct {
	compiler, dir string
	flags         []string
}

func newBuild(t *testing.T) *build {
	root, err := filepath.Abs(repository)
	require.NoError(t, err)
	b := &build{compiler: cpptest.Compiler(t), dir: t.TempDir()}
	b.flags = append([]string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable", "-ffp-contract=fast",
		"-pthread", "-I" + root, "-I" + b.dir}, strings.Fields(*copts)...)
	return b
}

// run compiles what dnnc made of the cases and runs them.
func (b *build) run(t *testing.T, list []*attempt) {
	var units []string
	var found strings.Builder
	fmt.Fprintf(&found, "#include <stdint.h>\n#include \"runtime/dnn_model.h\"\n#define HOSTILE(I) const rules_dnn::Description* Describe##I();\n")
	good := []*attempt{}
	var parts [][]*attempt
	for part := range slices.Chunk(withRuns(list), perFile) {
		parts = append(parts, part)
	}
	results := make([][]*attempt, len(parts))
	objects := make([]string, len(parts))
	each2(len(parts), func(i int) { objects[i], results[i] = b.part(i, parts[i]) })
	for i := range parts {
		good = append(good, results[i]...)
		if len(results[i]) > 0 {
			units = append(units, objects[i])
		}
	}
	if len(good) == 0 {
		return
	}
	for _, a := range good {
		fmt.Fprintf(&found, "HOSTILE(%d)\n", a.number)
	}
	found.WriteString("const rules_dnn::Description* Find(int64_t program) {\n  switch (program) {\n")
	for _, a := range good {
		fmt.Fprintf(&found, "    case %d: return Describe%d();\n", a.number, a.number)
	}
	found.WriteString("  }\n  return nullptr;\n}\n")
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "find.cc"), []byte(found.String()), 0o644))
	sources, err := filepath.Glob(filepath.Join(repository, "runtime/dnn_*.cc"))
	require.NoError(t, err)
	sources = append(sources, filepath.Join(b.dir, "find.cc"), "testdata/driver.cc")
	errs := make([]error, len(sources))
	rest := make([]string, len(sources))
	each2(len(sources), func(i int) {
		rest[i] = filepath.Join(b.dir, filepath.Base(sources[i])+".o")
		errs[i] = b.command(append(slices.Clone(b.flags), "-c", sources[i], "-o", rest[i])...)
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	program := filepath.Join(b.dir, "driver")
	require.NoError(t, b.command(slices.Concat(b.flags, []string{"-o", program}, units, rest)...))
	b.execute(t, program, good)
}

func withRuns(list []*attempt) []*attempt {
	return slices.DeleteFunc(slices.Clone(list), func(a *attempt) bool { return len(a.Runs) == 0 })
}

// each2 calls f(0) to f(n-1), as many at a time as there are processors.
func each2(n int, f func(int)) {
	slots := make([]*attempt, n)
	for i := range slots {
		slots[i] = &attempt{number: i}
	}
	each(slots, func(a *attempt) { f(a.number) })
}

func (b *build) command(args ...string) error {
	if out, err := exec.Command(b.compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%.6000s", err, out)
	}
	return nil
}

var errorAt = regexp.MustCompile(`(?m)^hostile_case_(\d+):\d+:\d+: (?:fatal )?error: (.*)$`)

// part compiles models in one file. Those whose text is none of C++ are wrong, and left out.
func (b *build) part(i int, list []*attempt) (object string, good []*attempt) {
	good = slices.Clone(list)
	object = filepath.Join(b.dir, fmt.Sprintf("part%d.o", i))
	for len(good) > 0 {
		text, err := unit(good)
		source := filepath.Join(b.dir, fmt.Sprintf("part%d.cc", i))
		if err == nil {
			err = os.WriteFile(source, []byte(text), 0o644)
		}
		if err == nil {
			if err = b.command(append(slices.Clone(b.flags), "-c", source, "-o", object)...); err == nil {
				return object, good
			}
		}
		bad := map[int]string{}
		for _, m := range errorAt.FindAllStringSubmatch(err.Error(), -1) {
			if n, _ := strconv.Atoi(m[1]); bad[n] == "" {
				bad[n] = m[2]
			}
		}
		for _, a := range good {
			if bad[a.number] != "" {
				a.fail("its C++ does not compile: %s", bad[a.number])
			} else if len(bad) == 0 {
				a.fail("it, or another model beside it in a file, gives C++ that does not compile: %v", err)
			}
		}
		good = slices.DeleteFunc(good, func(a *attempt) bool { return len(bad) == 0 || bad[a.number] != "" })
	}
	return object, good
}

// unit is the source of models, each in a namespace of its own: what headers they include comes first.
func unit(list []*attempt) (string, error) {
	var b strings.Builder
	included := map[string]bool{}
	texts := make([]string, len(list))
	for i, a := range list {
		p := a.prefix()
		var text strings.Builder
		for _, name := range []string{p + ".h", "kernels/" + p + "_internal.h", "kernels/" + p + "_kernels.h", "kernels/" + p + "_kernels_0.cc", "kernels/" + p + "_program.cc", "kernels/" + p + "_api.cc"} {
			data, err := os.ReadFile(filepath.Join(a.dir, name))
			if err != nil {
				return "", err
			}
			for _, line := range strings.Split(string(data), "\n") {
				if !strings.HasPrefix(line, "#include") {
					text.WriteString(line)
				} else if !strings.Contains(line, p) && !included[line] {
					included[line] = true
					b.WriteString(line + "\n")
				}
				text.WriteString("\n")
			}
		}
		texts[i] = strings.ReplaceAll(text.String(), "::"+p+"_", "::h_"+p+"::"+p+"_")
	}
	for i, a := range list {
		p := a.prefix()
		fmt.Fprintf(&b, "namespace h_%s {\n#line 1 \"hostile_case_%d\"\n%s\n}\n", p, a.number, texts[i])
		fmt.Fprintf(&b, "const rules_dnn::Description* Describe%d();\n", a.number)
		fmt.Fprintf(&b, "const rules_dnn::Description* Describe%d() { return static_cast<const rules_dnn::Description*>(h_%s::%s_describe()); }\n", a.number, p, p)
	}
	return b.String(), nil
}

// execute runs all runs of the cases in the program.
func (b *build) execute(t *testing.T, program string, list []*attempt) {
	request := &bytes.Buffer{}
	var asked []*attempt
	var runs []*Run
	for _, a := range list {
		for i := range a.Runs {
			if err := writeRequest(request, a, &a.Runs[i]); err != nil {
				a.fail("run %d: %v", i, err)
				continue
			}
			asked, runs = append(asked, a), append(runs, &a.Runs[i])
		}
	}
	cmd := exec.Command(program)
	cmd.Stdin = request
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	answer := bytes.NewReader(out)
	for i, a := range asked {
		status, text, results, err := readAnswer(answer, a)
		if err != nil {
			a.fail("C++: %v", err)
			continue
		}
		if problem := runs[i].judge(status, text, results); problem != nil {
			a.fail("C++: %v", problem)
		} else if status != "OK" {
			a.statuses++
		}
	}
}

// statusNames by their numbers, as the header gives them.
var statusNames = []string{"OK", "NULL_ARGUMENT", "BAD_OPTIONS", "BAD_WEIGHTS", "BAD_DIMS", "TOO_LARGE", "BUFFER_SIZE", "MISALIGNED", "OVERLAP", "OUT_OF_MEMORY",
	"THREADS", "UNSUPPORTED_CPU", "BAD_INDEX", "BAD_VALUE"}

func writeRequest(w *bytes.Buffer, a *attempt, r *Run) error {
	weights, err := os.ReadFile(filepath.Join(a.dir, "net.weights"))
	if err != nil {
		return err
	}
	g, err := a.graph()
	if err != nil {
		return err
	}
	number := func(x int64) { w.Write(binary.LittleEndian.AppendUint64(nil, uint64(x))) }
	text := func(b []byte) { number(int64(len(b))); w.Write(b) }
	inputs, err := r.inputsOf(g)
	if err != nil {
		return err
	}
	number(int64(a.number))
	if r.KeepDenormals {
		number(1)
	} else {
		number(0)
	}
	text(weights)
	dims := r.dims(g, inputs)
	number(int64(len(dims)))
	for _, name := range sortedKeys(dims) {
		text([]byte(name))
		number(dims[name])
	}
	number(int64(len(inputs)))
	for _, t := range inputs {
		text(t.Data)
	}
	return nil
}

// readAnswer is a run's status, its explanation and its results. It must not be called again after the answers ended.
func readAnswer(from io.Reader, a *attempt) (status, text string, results []*ir.Tensor, err error) {
	number := func(from io.Reader) (x int64) {
		_ = binary.Read(from, binary.LittleEndian, &x)
		return x
	}
	blob := func(from io.Reader) []byte {
		b := make([]byte, number(from))
		_, _ = io.ReadFull(from, b)
		return b
	}
	ended, result, said := number(from), blob(from), blob(from)
	if ended != 0 || len(said) > 0 {
		return "", "", nil, fmt.Errorf("its process ended with %d: %.600s", ended, said)
	}
	body := bytes.NewReader(result)
	status = statusNames[number(body)]
	text = string(blob(body))
	if status != "OK" {
		return status, text, nil, nil
	}
	g, err := a.graph()
	if err != nil {
		return "", "", nil, err
	}
	for _, v := range g.Outputs {
		shape := make([]int64, number(body))
		for i := range shape {
			shape[i] = number(body)
		}
		data := blob(body)
		t := ir.NewTensor(v.Type, shape...)
		copy(t.Data, data)
		results = append(results, t)
	}
	return status, text, results, nil
}

var parsed sync.Map // graphs by the case's number
