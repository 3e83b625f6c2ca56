// Package e2e uses rules_dnn from other workspaces, like its users. Each test runs Bazel.
package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bias has the numbers that the network relu.onnx adds before the Relu.
var bias = [4]float32{1.5, -2.25, 0.5, 3}

// rows are the inputs of main.cc.
var rows = [8]float32{-1, 0, 1, 2, 10, 20, -30, -40}

// answer returns the text that main.cc prints.
func answer(bias [4]float32) string {
	words := make([]string, len(rows))
	for i, x := range rows {
		words[i] = fmt.Sprintf("%.9g", max(0, x+bias[i%4]))
	}
	return strings.Join(words, " ")
}

// openBzlmod opens the workspace that uses modules. The tests of it are a few top-level ones, so that Bazel
// runs them as shards.
func openBzlmod(t *testing.T) *workspace {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("runs Bazel; use bazel test //e2e:e2e_test")
	}
	return open(t, filepath.Join(rulesRoot(t), "e2e", "bzlmod"))
}

// TestBzlmod builds and links models, for the host and for other platforms.
func TestBzlmod(t *testing.T) {
	w := openBzlmod(t)
	if !t.Run("BothABIs", func(t *testing.T) { bothABIs(t, w) }) {
		return // nothing else can work
	}
	t.Run("ManyModels", func(t *testing.T) { manyModels(t, w) })
	t.Run("Target", func(t *testing.T) { target(t, w) })
	t.Run("Archives", func(t *testing.T) { archives(t, w) })
	t.Run("Warnings", func(t *testing.T) { warnings(t, w) })
	t.Run("NoToolchain", func(t *testing.T) { noToolchain(t, w) })
	t.Run("WeightsFile", func(t *testing.T) { weightsFile(t, w) })
	t.Run("Android", func(t *testing.T) { android(t, w) })
	t.Run("HexagonSDK", func(t *testing.T) { hexagonSDK(t, w) })
	t.Run("DiskCache", func(t *testing.T) { diskCache(t, w) })
}

// TestBzlmodMeasure measures models, and runs the other commands of rules_dnn.
func TestBzlmodMeasure(t *testing.T) {
	w := openBzlmod(t)
	t.Run("Benchmark", func(t *testing.T) { benchmark(t, w) })
	t.Run("Measure", func(t *testing.T) { measure(t, w) })
	t.Run("MeasureTarget", func(t *testing.T) { measureTarget(t, w) })
	t.Run("Tools", func(t *testing.T) { tools(t, w) })
	t.Run("OneStandardLibrary", func(t *testing.T) { oneStandardLibrary(t, w) })
}

// TestBzlmodToolchains builds with features of C++ toolchains, and with what newer releases of Bazel flip.
func TestBzlmodToolchains(t *testing.T) {
	w := openBzlmod(t)
	t.Run("Features", func(t *testing.T) { cppFeatures(t, w) })
	t.Run("NextBazel", func(t *testing.T) { nextBazel(t, w) })
	t.Run("OwnCompiler", func(t *testing.T) { ownCompiler(t, w) })
	t.Run("Actions", func(t *testing.T) { actions(t, w) })
}

// TestBzlmodCopy builds a copy of the workspace, which it edits, and compares its outputs with those of the original.
func TestBzlmodCopy(t *testing.T) {
	w := openBzlmod(t)
	other := copied(t, w.dir)
	t.Run("Add", func(t *testing.T) { addModel(t, other) })
	t.Run("Tune", func(t *testing.T) { tune(t, other) })
	t.Run("SameBytes", func(t *testing.T) { sameBytes(t, w, other) })
	t.Run("OneImportForTwoABIs", func(t *testing.T) { oneImport(t, other) })
	t.Run("WithoutGoRules", func(t *testing.T) { withoutGoRules(t, other) })
}

// bothABIs links one model for two platforms in one build, statically and into a shared library.
func bothABIs(t *testing.T, w *workspace) {
	w.bazel(t, "build", "//:abis")
	runBothABIs(t, w.bin(t), answer(bias))
}

func runBothABIs(t *testing.T, bin, want string) {
	t.Helper()
	for _, program := range []string{"static", "dynamic"} {
		for abi, got := range runABIs(t, bin, program) {
			assert.Equal(t, want, got, "%s for %s", program, abi)
		}
	}
}

// runABIs runs the program of the target abis for each platform that this machine can run or
// emulate.
func runABIs(t *testing.T, bin, program string) map[string]string {
	t.Helper()
	printed := map[string]string{"host": run(t, "", filepath.Join(bin, "abis", "host", program))}
	qemu, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Log("qemu-aarch64 is not installed: programs for arm64 are built and not run")
		return printed
	}
	printed["arm64"] = run(t, "", qemu, "-L", "/usr/aarch64-linux-gnu", filepath.Join(bin, "abis", "arm64", program))
	return printed
}

// manyModels links models of the same name from two packages, and one that a select() chooses.
func manyModels(t *testing.T, w *workspace) {
	w.bazel(t, "build", "//:abis")
	const relu, other = "0.5 0 1.5 5", "0 0.25 3 1.5"
	chosen := map[string]string{"host": relu, "arm64": other}
	for abi, got := range runABIs(t, w.bin(t), "many") {
		assert.Equal(t, "a "+relu+"\nb "+other+"\nchoice "+chosen[abi], got, abi)
	}
}

// weightsFile checks that a program loads its weights at run time, and rejects a wrong file.
func weightsFile(t *testing.T, w *workspace) {
	w.bazel(t, "build", "//:from_file")
	bin := w.bin(t)
	program := filepath.Join(bin, "from_file")
	inRunfiles := program + ".runfiles/_main/relu_file/relu_file.weights"
	assert.Equal(t, "0.5 0 1.5 5", run(t, "", program, inRunfiles))
	out, err := exec.Command(program, filepath.Join(bin, "relu_file", "relu_file.manifest.json")).CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "weights")
}

// benchmark sends inputs to the benchmark program and compares the outputs.
func benchmark(t *testing.T, w *workspace) {
	w.bazel(t, "build", "//:benchmark")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.npy"), npy("2, 4", rows[:]), 0o644))
	requests := []string{
		`{"cmd":"load","threads":1}`,
		`{"cmd":"inputs","files":{"x":"` + filepath.Join(dir, "x.npy") + `"}}`,
		`{"cmd":"run","seconds":0,"min_runs":2}`,
		`{"cmd":"outputs","dir":"` + dir + `"}`,
	}
	out := run(t, strings.Join(requests, "\n")+"\n", filepath.Join(w.bin(t), "benchmark"), "--serve")
	answers := strings.Split(out, "\n")
	require.Len(t, answers, len(requests), out)
	for i, want := range []string{`"ok":true`, `"ok":true`, `"ms":[`, `"files":`} {
		require.Contains(t, answers[i], want, requests[i])
	}
	var outputs struct{ Files map[string]string }
	require.NoError(t, json.Unmarshal([]byte(answers[3]), &outputs))
	y, err := os.ReadFile(outputs.Files["y"])
	require.NoError(t, err)
	words := make([]string, len(rows))
	for i, bits := 0, y[len(y)-4*len(rows):]; i < len(words); i++ {
		words[i] = fmt.Sprintf("%.9g", math.Float32frombits(binary.LittleEndian.Uint32(bits[4*i:])))
	}
	assert.Equal(t, answer(bias), strings.Join(words, " "))
}

// measure measures models like a user, with the weights in the library and in a file.
func measure(t *testing.T, w *workspace) {
	for _, name := range []string{"relu", "relu_file"} {
		page := filepath.Join(t.TempDir(), "page.html")
		out := w.bazel(t, "run", "//:"+name+"_bench", "--", "--dims=N=3", "--threads=2", "--runs=2", "--seconds=0", "--probe-seconds=0", "--probe-bytes=1000000", "--html="+page)
		for _, want := range []string{": 2 threads, N=3", "of 2 runs, after 3 to warm up", "GFLOP/s in products and sums of vectors of", "block\n    0 ", "Relu"} {
			assert.Contains(t, out, want, name)
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"symbols": {"N": 3}`)
		if runtime.GOARCH == "amd64" {
			assert.Contains(t, out, " (of the variants x86_64, x86_64_v3, x86_64_v4, x86_64_v4_vnni): ", "a model that names no chip has kernels for all")
		}
	}
	if runtime.GOARCH == "amd64" {
		out := w.bazel(t, "run", "//:relu_bench", "--", "--variant=x86_64", "--runs=1", "--seconds=0", "--probe-seconds=0", "--probe-bytes=1000000")
		assert.Contains(t, out, " for x86_64 (of the variants ")
	}
}

// npy writes a file in NumPy's format.
func npy(shape string, values []float32) []byte {
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape)
	header += strings.Repeat(" ", 127-10-len(header)) + "\n"
	file := append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(header)))...)
	file = append(file, header...)
	for _, x := range values {
		file = binary.LittleEndian.AppendUint32(file, math.Float32bits(x))
	}
	return file
}

// ownCompiler checks that the user's toolchain compiles code for the host. To prove that the
// check can fail, it also checks that this toolchain does not compile code for arm64.
func ownCompiler(t *testing.T, w *workspace) {
	const query, ours = "mnemonic(CppCompile, //:relu)", "rules_dnn_clang"
	out := w.bazel(t, "aquery", query)
	assert.Contains(t, out, "Mnemonic: CppCompile")
	assert.NotContains(t, out, ours)
	assert.Contains(t, w.bazel(t, "aquery", "--platforms=@rules_dnn//platforms:linux_arm64", query), ours)
}

// actions checks the actions that run the compiler.
func actions(t *testing.T, w *workspace) {
	out := w.bazel(t, "aquery", "--include_commandline", "mnemonic('Dnn.*', //:relu)")
	assert.Equal(t, 2, strings.Count(out, "Mnemonic: Dnn"))
	assert.Equal(t, 2, strings.Count(out, "ExecutionInfo: {supports-path-mapping: 1}"))
	assert.NotContains(t, out, "Environment:")
	for _, part := range strings.Split(out, "Command Line: (exec ")[1:] {
		program, _, _ := strings.Cut(part, " ")
		assert.Equal(t, "dnnc", filepath.Base(program))
	}
}

// diskCache checks that no action runs in a build after a clean.
func diskCache(t *testing.T, w *workspace) {
	w.bazel(t, "build", "//:static", "//:benchmark", "//:abis")
	w.bazel(t, "clean")
	spawns := w.logged(t, "//:static", "//:benchmark", "//:abis")
	assert.NotEmpty(t, spawns)
	for _, s := range spawns {
		assert.False(t, s.executed(), "%s of %s ran again (%s)", s.Mnemonic, s.TargetLabel, s.Runner)
	}
}

// addModel writes the BUILD file of a model with `add`, and builds its target.
func addModel(t *testing.T, w *workspace) {
	model, err := os.ReadFile(filepath.Join(w.dir, "relu.onnx"))
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(w.dir, "added"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "added", "new.onnx"), model, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "added", "BUILD"), []byte("# Ours.\n"), 0o644))
	out := w.bazel(t, "run", "@rules_dnn//:add", "--", "added/new.onnx", "--dims=N=1..64")
	assert.Contains(t, out, "//added:new: added to added/BUILD\n")
	text, err := os.ReadFile(filepath.Join(w.dir, "added", "BUILD"))
	require.NoError(t, err)
	assert.Equal(t, `# Ours.

load("@rules_dnn//rules:defs.bzl", "dnn_model")

dnn_model(
    name = "new",
    src = "new.onnx",
    dims = {"N": "1..64"},
)
`, string(text))
	w.bazel(t, "build", "//added:new")
	w.bazel(t, "run", "@rules_dnn//:add", "--", "added/new.onnx", "--check")

	// add writes a BUILD file beside the model if its directory is not a package.
	require.NoError(t, os.Mkdir(filepath.Join(w.dir, "beside"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "beside", "new.onnx"), model, 0o644))
	out = w.bazel(t, "run", "@rules_dnn//:add", "--", "beside/new.onnx")
	assert.Contains(t, out, "//beside:new: added to beside/BUILD.bazel\n")
	w.bazel(t, "build", "--nobuild", "//beside:new")
}

// digests returns the hashes of all files of a model, its libraries and a program.
func digests(t *testing.T, w *workspace, mode string) map[string]string {
	flags := []string{"--compilation_mode=" + mode}
	// The model's files must not come from a cache that both workspaces share.
	fresh := "--modify_execution_info=(Dnn|Cpp).*=+no-cache"
	for _, s := range w.logged(t, append(flags, fresh, "--output_groups=default,sources,weights", "//:relu", "//:static", "//:answer_shared", "//:relu_arm64.model")...) {
		ours := strings.HasPrefix(s.Mnemonic, "Dnn") || strings.HasPrefix(s.Mnemonic, "Cpp")
		require.True(t, !ours || s.executed(), "%s of %s came from a cache: that proves nothing", s.Mnemonic, s.TargetLabel)
	}
	bin := w.bin(t, flags...)
	found := map[string]string{}
	for _, root := range []string{"relu", "librelu.a", "static", "libanswer_shared.so", "librelu_arm64.model.a"} {
		err := filepath.WalkDir(filepath.Join(bin, root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			name, _ := filepath.Rel(bin, path)
			found[name] = fmt.Sprintf("%x", sha256.Sum256(data))
			return err
		})
		require.NoError(t, err)
	}
	return found
}

// sameBytes builds in two directories with two output bases, optimized and for debugging, and
// compares the bytes.
func sameBytes(t *testing.T, w, other *workspace) {
	fast := digests(t, w, "fastbuild")
	assert.Greater(t, len(fast), 8)
	assert.Equal(t, fast, digests(t, other, "fastbuild"))
	debug := digests(t, w, "dbg")
	assert.Equal(t, debug, digests(t, other, "dbg"))
	for name, digest := range fast {
		if strings.HasPrefix(name, "relu/") {
			assert.Equal(t, digest, debug[name], "%s differs between compilation modes", name)
		}
	}
}

// oneImport edits a weight and builds for two platforms. It checks that the model is imported
// once, and that the results change.
func oneImport(t *testing.T, w *workspace) {
	const strip = "--experimental_output_paths=strip"
	w.bazel(t, "build", strip, "//:abis")
	edited := bias
	// A new value, so that no cache has it.
	edited[0] = 1 + float32(time.Now().UnixNano()%(1<<22))/(1<<23)
	edit(t, filepath.Join(w.dir, "relu.onnx"), bias[0], edited[0])
	ran := map[string]int{}
	seen := map[string]int{}
	for _, s := range w.logged(t, strip, "//:abis") {
		if s.TargetLabel != "//:relu" {
			continue // others use the same file
		}
		seen[s.Mnemonic]++
		if s.executed() {
			ran[s.Mnemonic]++
		}
	}
	assert.Equal(t, 2, seen["DnnGraph"], "imports asked for")
	assert.Equal(t, 1, ran["DnnGraph"], "imports that ran")
	assert.Equal(t, 2, ran["DnnCompile"], "compilations, one for each chip")
	runBothABIs(t, w.bin(t, strip), answer(edited))
}

// withoutGoRules checks that a module can choose the go command that builds the compiler. A fake
// go reports that it was called. TestWorkspace has a complete build of this kind.
func withoutGoRules(t *testing.T, w *workspace) {
	path := filepath.Join(w.dir, "MODULE.bazel")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	more := `
dnnc_repository = use_repo_rule("@rules_dnn//toolchains/dnnc:repository.bzl", "dnnc_repository")

dnnc_repository(
    name = "dnnc",
    go = "/nowhere/go",
)

register_toolchains("@dnnc//:all")
`
	require.NoError(t, os.WriteFile(path, append(text, more...), 0o644))
	_, refused, err := w.try("build", "--nobuild", "//:relu")
	require.Error(t, err)
	assert.Contains(t, refused, `go = "/nowhere/go": the file does not exist`)
}

// edit replaces a number in a model.
func edit(t *testing.T, file string, from, to float32) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	old := binary.LittleEndian.AppendUint32(nil, math.Float32bits(from))
	require.Equal(t, 1, bytes.Count(data, old))
	data = bytes.Replace(data, old, binary.LittleEndian.AppendUint32(nil, math.Float32bits(to)), 1)
	require.NoError(t, os.WriteFile(file, data, 0o644))
}
