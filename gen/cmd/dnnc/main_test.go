package main

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/ir/irtest"
	"rules_dnn/gen/onnx"
	"rules_dnn/gen/pipeline"
	"rules_dnn/gen/target/chips"
)

const (
	repository = "../../.."
	resnet     = repository + "/app/resnet20_cifar10.onnx"
)

// absolute is a path that stays right when the working directory changes.
func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	return abs
}

// factsFile is a file of the chip's facts.
func factsFile(t *testing.T, chip string) string {
	t.Helper()
	facts, err := chips.Facts(chip)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), chip+".json")
	require.NoError(t, os.WriteFile(file, facts, 0o644))
	return file
}

func graphArgs(src string, more ...string) []string {
	return append([]string{"graph", "--src=" + src, "--out=net.graph.txt", "--out-consts=net.consts"}, more...)
}

func compileArgs(src, chip string, more ...string) []string {
	return append([]string{"compile", "--graph=net.graph.txt", "--consts=net.consts", "--src=" + src, "--chip=" + chip,
		"--api=nets/net", "--prefix=app_net", "--namespace=app::net", "--out-header=net.h", "--out-kernels=kernels",
		"--out-weights=net.weights", "--out-weights-asm=net.weights.S", "--out-manifest=net.manifest.json"}, more...)
}

// dnnc runs a command in the working directory and gives what it prints.
func dnnc(args ...string) (string, error) {
	var out, log bytes.Buffer
	err := run(args, &out, &log)
	return out.String() + log.String(), err
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := dnnc(args...)
	require.NoError(t, err)
	return out
}

// tree is all files below the working directory.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	}))
	return files
}

// tiny writes a model of the graph's lines to model.onnx in the working directory.
func tiny(t *testing.T, lines string) {
	t.Helper()
	g := irtest.Parse(t, lines)
	f, err := os.Create("model.onnx")
	require.NoError(t, err)
	require.NoError(t, onnx.Write(f, g))
	require.NoError(t, f.Close())
}

const relu = "symbol N 1..9\ninput %x f32[N, 3]\n%y f32[N, 3] = Relu.14(%x) \"r\"\noutput %y\n"

// TestSameBytes compiles the application's network twice, in two directories.
func TestSameBytes(t *testing.T) {
	src, chip := absolute(t, resnet), factsFile(t, "x86_64_v3")
	var first map[string]string
	for range 2 {
		dir := t.TempDir()
		t.Chdir(dir)
		mustRun(t, graphArgs(src, "--dim=N=1..64")...)
		mustRun(t, compileArgs(src, chip)...)
		files := tree(t)
		for name, text := range files {
			assert.NotContains(t, text, dir, "%s names the directory", name)
			assert.NotContains(t, text, src, "%s names the model's place", name)
		}
		if first == nil {
			first = files
			continue
		}
		require.Equal(t, len(first), len(files))
		for name, text := range files {
			assert.True(t, text == first[name], "%s differs", name)
		}
	}
	for _, want := range []string{"net.h", "net.weights", "net.weights.S", "net.manifest.json", "kernels/app_net_api.cc", "kernels/app_net_internal.h",
		"kernels/app_net_kernels.h", "kernels/app_net_kernels_0.cc", "kernels/app_net_kernels_3.cc", "kernels/app_net_program.cc"} {
		assert.NotEmpty(t, first[want], want)
	}
	assert.Contains(t, first["net.h"], "int64_t N;  // N, 1 to 64")
}

// TestDisable compiles the application's network with each switch and optional pass off, and with
// all of them: each gives other code.
func TestDisable(t *testing.T) {
	src, chip := absolute(t, resnet), factsFile(t, "arm64")
	t.Chdir(t.TempDir())
	mustRun(t, graphArgs(src)...)
	mustRun(t, compileArgs(src, chip)...)
	whole := tree(t)
	var names []string
	for _, s := range pipeline.Switches {
		names = append(names, s.Name)
	}
	for _, p := range pipeline.CompilePasses {
		if !p.Required {
			names = append(names, p.Name)
		}
	}
	for _, name := range append(names, strings.Join(names, ",")) {
		mustRun(t, compileArgs(src, chip, "--disable="+name)...)
		assert.NotEmpty(t, tree(t)["kernels/app_net_program.cc"], name)
		if name == "anchors" || strings.Contains(name, ",") {
			assert.NotEqual(t, whole["kernels/app_net_kernels.h"], tree(t)["kernels/app_net_kernels.h"], name)
		}
	}
	mustRun(t, graphArgs(src, "--disable=bnfold")...)
	mustRun(t, compileArgs(src, chip)...)
}

// TestErrors: each mistake has its message, and leaves no file behind.
func TestErrors(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o644)) }
	write("broken.onnx", "\x08\x08\x3a\xff\xff\xff\xff\x7f")
	write("empty.onnx", "")
	write("chip.json", `{"name": "mine", "vector_bits": 100}`)
	write("broken.txt", "graph \"g\" opset 17 {\n  output %y\n}\n")
	write("file", "")
	before := tree(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no command\n\ndnnc compiles a neural network"},
		{[]string{"make"}, `no command "make"`},
		{[]string{"passes", "all"}, `unexpected argument "all"`},
		{[]string{"graph", "--src=model.onnx"}, "--out is missing (FILE where the graph's text goes); 'dnnc graph --help' lists the options"},
		{graphArgs("model.onnx", "rest"), `unexpected argument "rest"`},
		{graphArgs("model.onnx", "--nothing"), "flag provided but not defined: -nothing; 'dnnc graph --help'"},
		{graphArgs("none.onnx"), "none.onnx: no such file"},
		{graphArgs("."), ". is a folder, not a file"},
		{graphArgs("broken.onnx"), "broken.onnx: reading ONNX model: "},
		{graphArgs("empty.onnx"), "empty.onnx: reading ONNX model: the file is empty, not an ONNX model: download"},
		{graphArgs("model.onnx", "--dim=N"), `dimension "N": want NAME=NUMBER or NAME=LOW..HIGH`},
		{graphArgs("model.onnx", "--dim=N=1", "--dim=N=2"), "--dim=N=2: the symbol is given twice"},
		{graphArgs("model.onnx", "--dim=Q=2"), `no dimension is called "Q"`},
		{graphArgs("model.onnx", "--external=w"), "--external=w: want LOCATION=PATH"},
		{graphArgs("model.onnx", "--external=w=none"), "none: no such file"},
		{graphArgs("model.onnx", "--external=w=file", "--external=w=file"), "the location is given twice"},
		{graphArgs("model.onnx", "--disable=simplify"), `pass "simplify" is required`},
		{graphArgs("model.onnx", "--dump=all"), "--dump needs --dump-dir"},
		{[]string{"graph", "--src=model.onnx", "--out=file/x", "--out-consts=consts"}, "mkdir file: not a directory"},
		{[]string{"graph", "--src=model.onnx", "--out=x", "--out-consts=file/consts"}, "mkdir file: not a directory"},
		{[]string{"compile", "--graph=x"}, "--consts is missing (FILE: its constants, from dnnc graph)"},
		{compileArgs("model.onnx", "none.json"), "none.json: no such file"},
		{compileArgs("model.onnx", "chip.json"), "chip.json: chip mine: vector_bits is 100"},
		{compileArgs("none.onnx", chip), "none.onnx: no such file"},
		{compileArgs("model.onnx", chip, "--graph=none.txt"), "none.txt: no such file"},
		{compileArgs("model.onnx", chip, "--graph=broken.txt"), `broken.txt: graph's text: line 2: value "y" is not defined`},
		{compileArgs("model.onnx", chip, "--weights=other"), "--weights=other: want embed or file; 'dnnc compile --help'"},
		{compileArgs("model.onnx", chip, "--weights=file"), "only --weights=embed has an assembly"},
		{compileArgs("model.onnx", chip, "--out-weights-asm="), "--out-weights-asm is missing"},
		{compileArgs("model.onnx", chip, "--shards=0"), "--shards=0: want 1 to 1000"},
		{compileArgs("model.onnx", chip, "--precision=half"), "--precision=half: want fp32, fp16 or bf16"},
		{compileArgs("model.onnx", chip, "--precision=fp16", "--accumulation=half"), "--accumulation=half: want fp32 or fp16"},
		{compileArgs("model.onnx", chip, "--accumulation=fp16"), "--accumulation=fp16: it adds products of f16; add --precision=fp16"},
		{compileArgs("model.onnx", chip, "--precision=bf16", "--accumulation=fp16"), "--accumulation=fp16: it adds products of f16; add --precision=fp16"},
		{compileArgs("model.onnx", chip, "--precision=fp16", "--accumulation=fp16"), "has no instruction that adds f16; name a chip that has one"},
		{compileArgs("model.onnx", chip, "--precision=fp16", "--pruning=report.json", "--device=d.json"), "the device's kernels skip pruned weights of f32 only"},
		{compileArgs("model.onnx", chip, "--precision=bf16", "--pruning=report.json", "--device=d.json"), "--precision=bf16, --pruning=report.json and --device=d.json: the device's kernels skip pruned weights of f32 only"},
		{compileArgs("model.onnx", chip, "--shards=two"), `invalid value "two"`},
		{compileArgs("model.onnx", chip, "--prefix=1x"), `prefix "1x": want a C identifier`},
		{compileArgs("model.onnx", chip, "--namespace=a:b"), `namespace "a:b"`},
		{compileArgs("model.onnx", chip, "--api=a b"), `api "a b"`},
		{compileArgs("model.onnx", chip, "--disable=plan"), `pass "plan" is required`},
		{compileArgs("model.onnx", chip, "--stop-after=nowhere"), `there is no pass "nowhere"`},
		{compileArgs("model.onnx", chip, "--out-weights=file/w"), "mkdir file: not a directory"},
		{compileArgs("model.onnx", chip, "--out-manifest=file/m"), "mkdir file: not a directory"},
		{compileArgs("model.onnx", chip, "--out-header=file/h"), "mkdir file: not a directory"},
	} {
		out, err := dnnc(c.args...)
		assert.ErrorContains(t, err, c.want, strings.Join(c.args, " "))
		assert.Empty(t, out)
		assert.Equal(t, before, tree(t), strings.Join(c.args, " "))
	}
}

// TestUnsupported names all operators that are not supported, at once.
func TestUnsupported(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny(t, "input %x f32[2]\n%y f32[2] = StringNormalizer.10(%x) \"a\"\n%z f32[2] = Optional.15(%y) \"b\"\noutput %z\n")
	_, err := dnnc(graphArgs("model.onnx")...)
	assert.ErrorContains(t, err, "StringNormalizer")
	assert.ErrorContains(t, err, "Optional")
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		assert.Contains(t, mustRun(t, args...), "Example:\n  dnnc graph --src=net.onnx")
	}
	for command, options := range map[string][]string{
		"graph":   {"--src=FILE", "--dim=SYMBOL=NUMBER", "--external=LOCATION=PATH", "--disable=NAMES", "--fill-random\n", "(required)"},
		"compile": {"--chip=NAME", "--shards=NUMBER", "(default 4)", "--weights=MODE", "--time\n"},
	} {
		out, err := dnnc(command, "--help")
		require.True(t, errors.Is(err, flag.ErrHelp))
		assert.Contains(t, out, "Examples:\n")
		assert.Contains(t, out, "    dnnc "+command+" --")
		for _, o := range options {
			assert.Contains(t, out, o)
		}
	}
}

// TestPasses: each pass is listed with the reasons for its place.
func TestPasses(t *testing.T) {
	out := mustRun(t, "passes")
	for _, p := range append(append([]pipeline.Pass{}, pipeline.GraphPasses...), pipeline.CompilePasses...) {
		assert.Contains(t, out, p.Doc)
		for _, o := range p.After {
			assert.Contains(t, out, "after "+o.Pass+": "+o.Why)
		}
	}
	for _, s := range pipeline.Switches {
		assert.Contains(t, out, s.Doc)
	}
}

// TestDumpTimeStop: what is for people goes to the folder and to the log, and a command that stops
// early writes nothing else.
func TestDumpTimeStop(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny(t, relu)
	out := mustRun(t, graphArgs("model.onnx", "--dump=simplify,fuse", "--dump-dir=dumps", "--stop-after=simplify", "--time")...)
	assert.Regexp(t, `^simplify +[0-9.]+ ms\n(memory +[0-9]+ kB\n)?$`, out)
	files := tree(t)
	delete(files, "model.onnx")
	require.Len(t, files, 1)
	assert.Contains(t, files["dumps/00-simplify.txt"], "Relu.14")
	mustRun(t, graphArgs("model.onnx", "--dump=fuse", "--dump-dir=empty")...)
	assert.DirExists(t, "empty", "the rules declare it")
}

// TestShards: kernels of an earlier run with more shards do not stay.
func TestShards(t *testing.T) {
	chip := factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	tiny(t, relu)
	mustRun(t, graphArgs("model.onnx")...)
	mustRun(t, compileArgs("model.onnx", chip, "--shards=6")...)
	require.Contains(t, tree(t), "kernels/app_net_kernels_5.cc")
	require.NoError(t, os.WriteFile("kernels/mine.cc", nil, 0o644))
	mustRun(t, compileArgs("model.onnx", chip, "--shards=2")...)
	files := tree(t)
	assert.NotContains(t, files, "kernels/app_net_kernels_5.cc")
	assert.NotContains(t, files, "kernels/app_net_kernels_2.cc")
	assert.Contains(t, files, "kernels/app_net_kernels_1.cc")
	assert.Contains(t, files, "kernels/mine.cc")
}
