package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/onnx/onnxpb"
	"rules_dnn/gen/onnx/onnxtest"
	"rules_dnn/tools/internal/build"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func putModel(t *testing.T, path string, nodes ...*onnxpb.NodeProto) {
	t.Helper()
	data, err := proto.Marshal(onnxtest.Model(onnxtest.Floats("x", "N", 8), nodes...))
	require.NoError(t, err)
	put(t, path, string(data))
}

// parsed are the options of a command line, for the repository that this package is part of.
func parsed(t *testing.T, args ...string) *options {
	t.Helper()
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	o.root, err = filepath.Abs("../..")
	require.NoError(t, err)
	return o
}

// compiler is dnnc as it is in the working tree.
func compiler(t *testing.T) string {
	if path := os.Getenv("DNNC"); path != "" { // Bazel has built it
		path, err := filepath.Abs("../../" + path)
		require.NoError(t, err)
		return path
	}
	path, err := build.Dnnc(parsed(t).root, t.TempDir())
	require.NoError(t, err)
	return path
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"rest"}, {"--only=("}, {"--chips=("}, {"--parallel=0"}, {"--most-mb=-1"}, {"--diff-lines=0"}, {"--nothing"},
		{"--keep=x", "--against=x"}, {"--update", "--against=x"}} {
		_, err := parse(args, io.Discard)
		assert.Error(t, err, args)
	}
	var help bytes.Buffer
	_, err := parse([]string{"--help"}, &help)
	require.Error(t, err)
	assert.Contains(t, help.String(), "examples")
}

// TestOwnRecord: what dnnc generates for a network of the repository is what the record says, on
// every chip and device.
func TestOwnRecord(t *testing.T) {
	o := parsed(t, "--dnnc="+compiler(t), "--only=^mobilenet_v2$")
	o.record = filepath.Join(o.root, "tests/models/digests.txt")
	var out bytes.Buffer
	require.NoError(t, o.run(&out, io.Discard), "the generated code changed:\n%s\nWhere it is meant to, write the record again, with all graphs: go run ./tools/digests --help", &out)
	assert.Contains(t, out.String(), "none changed")
}

// TestRun writes a record, finds nothing changed, then a line that is another one, with the kernels
// that are.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	model, refused := filepath.Join(dir, "models/small.onnx"), filepath.Join(dir, "models/small_refused.onnx")
	putModel(t, model, onnxtest.Op("Neg", "x", "y"), onnxtest.Op("Softmax", "y", "z"))
	putModel(t, refused, onnxtest.Op("Nothing", "x", "y"))
	dnnc, kept := compiler(t), filepath.Join(dir, "kept")
	run := func(args ...string) (string, error) {
		o := parsed(t, append(args, "--dnnc="+dnnc, "--models="+filepath.Dir(model), "--record="+filepath.Join(dir, "record.txt"), "--only=^small")...)
		var out bytes.Buffer
		err := o.run(&out, io.Discard)
		return out.String(), err
	}
	_, err := run("--chips=^arm64$|opencl_buffers|hexagon", "--update", "--keep="+kept)
	require.NoError(t, err)
	out, err := run("--chips=^arm64$|opencl_buffers")
	require.NoError(t, err, out)
	assert.Equal(t, "4 lines, none changed\n", out)
	record, err := os.ReadFile(filepath.Join(dir, "record.txt"))
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^small +arm64 +([0-9a-f]{16} ){2}[0-9a-f]{16}$`, string(record))
	assert.Regexp(t, `(?m)^small_refused +hexagon_v68 +error: small_refused\.onnx: importing ONNX model: `, string(record))
	assert.NotContains(t, string(record), dir, "it is the same on other machines")
	for _, name := range []string{"graph.txt", "arm64/net.h", "arm64/net_kernels_0.cc", "arm64/manifest.json", "arm64/weights.txt", "opencl_buffers/net_kernels.cl", "hexagon_v68/net_kernels_0.c"} {
		assert.FileExists(t, filepath.Join(kept, "small", name))
	}

	putModel(t, model, onnxtest.Op("Abs", "x", "y"), onnxtest.Op("Softmax", "y", "z"))
	out, err = run("--chips=^arm64$", "--against="+kept)
	require.ErrorContains(t, err, "1 of 2 lines changed")
	for _, want := range []string{"small arm64: sources, manifest\n", "  net_kernels_0.cc: 1 parts gone, 1 new\n    - Neg", "    + Abs", "\n  manifest.json\n", "\n--- a/small/arm64/net_kernels_0.cc\n", "\n@@ "} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "opencl_buffers")
	out, err = run("--chips=^x86_64_v3$")
	require.ErrorContains(t, err, "2 of 2 lines changed")
	assert.Contains(t, out, "small x86_64_v3: new")
}

// TestDigest: each column is of its own outputs, and sources do not change with the weights'
// values.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	of := func(name, text string) digests {
		put(t, filepath.Join(dir, name), text)
		d, err := digest(dir)
		require.NoError(t, err)
		return d
	}
	put(t, filepath.Join(dir, weightsFile), "1")
	put(t, filepath.Join(dir, manifestFile), "{}")
	first := of("net_api.cc", "constexpr uint8_t kWeightsHash[32] = { 0x01,\n 0x02 };\nint x;\n")
	assert.Equal(t, first, of("net_api.cc", "constexpr uint8_t kWeightsHash[32] = { 0x03 };\nint x;\n"))
	assert.Equal(t, first, of("net_api.cc", "constexpr uint8_t kWeightsHash[32] = { 0x01 };\n\n  // The cores.\n  // All.\n  const char* cores;\nint x;\n"), "an option that is younger than the record")
	second := of("net_api.cc", "constexpr uint8_t kWeightsHash[32] = { 0x01 };\nint y;\n")
	assert.Equal(t, digests{second.sources, first.weights, first.manifest}, second)
	assert.NotEqual(t, first.sources, second.sources)
	assert.NotEqual(t, second.weights, of(weightsFile, "2").weights)
	assert.NotEqual(t, second.manifest, of(manifestFile, "{ }").manifest)
	assert.NotEqual(t, second.sources, of("net_more.cc", "").sources)
}

func TestRecord(t *testing.T) {
	r := record{{"b", "arm64"}: "1 2 3", {"a", "x86"}: "error: a.onnx: no", {"a", "arm64"}: "4 5 6"}
	back, err := parseRecord(r.String())
	require.NoError(t, err)
	assert.Equal(t, r, back)
	lines := strings.Split(strings.TrimPrefix(r.String(), head), "\n")
	assert.Regexp(t, "^a +arm64 ", lines[0])
	assert.Regexp(t, "^b +arm64 ", lines[2])
	for _, text := range []string{"a arm64\n", "b x 1 2 3\na x 1 2 3\n", "a x 1 2 3\na x 1 2 3\n", "a\n"} {
		_, err := parseRecord(text)
		assert.ErrorContains(t, err, "--update", text)
	}
	assert.Equal(t, "sources, manifest", columns("1 2 3", "4 2 5"))
	assert.Contains(t, columns("1 2 3", "error: no"), "error: no")
	assert.Equal(t, "error: first", line(digests{}, refusal{"first\nsecond"}))
	assert.Less(t, len(line(digests{}, refusal{strings.Repeat("x", 1000)})), 400)
}

func TestGraphs(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "folder/some_b.onnx"), "b")
	put(t, filepath.Join(dir, "folder/text.txt"), "no model")
	archive := func(name string, texts ...string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(texts); i += 2 {
			f, err := z.Create(texts[i])
			require.NoError(t, err)
			_, err = f.Write([]byte(texts[i+1]))
			require.NoError(t, err)
		}
		require.NoError(t, z.Close())
		path := filepath.Join(dir, name)
		put(t, path, b.String())
		return path
	}
	good := archive("good.zip", "some_b.onnx", "b", "some_a.onnx", "a", "some.json", "{}")
	found, err := parsed(t, "--models="+filepath.Join(dir, "folder"), "--models="+good, "--only=^some").graphs()
	require.NoError(t, err)
	require.Len(t, found, 2)
	for i, want := range []string{"a", "b"} {
		text, err := found[i].read()
		require.NoError(t, err)
		assert.Equal(t, "some_"+want, found[i].name)
		assert.Equal(t, want, string(text))
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--models=" + good, "--models=" + archive("other.zip", "some_a.onnx", "other")}, "and they differ"},
		{[]string{"--models=" + archive("empty.zip")}, "no *.onnx in it"},
		{[]string{"--models=" + filepath.Join(dir, "none")}, "no such file"},
		{[]string{"--only=^nothing$"}, "no graph is called so"},
	} {
		_, err := parsed(t, c.args...).graphs()
		assert.ErrorContains(t, err, c.want)
	}
}

// TestLeftOut: a graph with much weight is named, and its lines stay.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	m := onnxtest.With(onnxtest.Model(onnxtest.Floats("x", 600000), onnxtest.Op("Add", "x w", "y")), onnxtest.Ones("w", 600000))
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	put(t, filepath.Join(dir, "large.onnx"), string(data))
	put(t, filepath.Join(dir, "record.txt"), "large arm64 1 2 3\nlarger arm64 1 2 3\n")
	o := parsed(t, "--dnnc=none", "--models="+filepath.Join(dir, "large.onnx"), "--only=^large", "--most-mb=1", "--record="+filepath.Join(dir, "record.txt"), "--update")
	var out bytes.Buffer
	require.NoError(t, o.run(&out, io.Discard))
	assert.Equal(t, "left out: large has 2 MB of weights, more than --most-mb=1\nnot here, see --models: 1 graphs of the file\n", out.String())
	r, err := o.readRecord()
	require.NoError(t, err)
	assert.Equal(t, record{{"large", "arm64"}: "1 2 3", {"larger", "arm64"}: "1 2 3"}, r)
}

// TestConstants: kept weights are a digest for each constant, in their order.
func TestConstants(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, manifestFile), `{"blocks": [{"reads": [{"name": "second", "place": "weights + 4"}, {"name": "x", "place": "arena + 0"}]},
		{"reads": [{"name": "first", "place": "weights + 0"}, {"name": "second", "place": "weights + 4"}]}]}`)
	header := strings.Repeat("h", 64)
	put(t, filepath.Join(dir, weightsFile), header+"aaaabb")
	require.NoError(t, summarise(dir))
	before, err := os.ReadFile(filepath.Join(dir, constantsFile))
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, weightsFile))
	put(t, filepath.Join(dir, weightsFile), header+"aaaabc")
	require.NoError(t, summarise(dir))
	after, err := os.ReadFile(filepath.Join(dir, constantsFile))
	require.NoError(t, err)
	a, b := strings.Fields(string(before)), strings.Fields(string(after))
	assert.Equal(t, []string{"(header)", "first", "second"}, []string{a[1], a[3], a[5]})
	assert.Equal(t, a[:4], b[:4])
	assert.NotEqual(t, a[4], b[4])
}
