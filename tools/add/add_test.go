package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/*.want")

// workspaceOf makes a workspace that depends on rules_dnn, and goes there.
func workspaceOf(t *testing.T, module string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	writeFile(t, filepath.Join(dir, "MODULE.bazel"), module)
	t.Setenv("BUILD_WORKING_DIRECTORY", dir)
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", dir)
	return dir
}

// invoke runs add with words of a command line, and gives what it prints.
func invoke(words string) (string, error) {
	var out bytes.Buffer
	err := run(strings.Fields(words), &out)
	return out.String(), err
}

// TestFiles compares BUILD files after a run with testdata/NAME.want; before, they are
// testdata/NAME.in, if there is one.
func TestFiles(t *testing.T) {
	static, batch := network{}, network{dims: []string{"N"}}
	for _, c := range []struct {
		name   string
		models map[string]network
		files  map[string]string // others
		module string
		args   string // default: net.onnx
		build  string // default: BUILD.bazel
		out    string // default: the target is added
	}{
		{name: "new", models: map[string]network{"net.onnx": batch}},
		{name: "new_static", models: map[string]network{"net.onnx": static}},
		{name: "external", models: map[string]network{"net.onnx": {external: []string{"net.weights", "parts/b", "a"}}}},
		{
			name:   "options",
			models: map[string]network{"net.onnx": {dims: []string{"batch size", "H", "W"}}},
			args:   "--name=small net.onnx --dims=H=224 --target=@rules_dnn//platforms:linux_arm64 --dims batch_size=1..64",
			out:    "//:small: added to BUILD.bazel\n",
		},
		{name: "odd_name", models: map[string]network{"né(1).onnx": static}, args: "né(1).onnx", out: "//:n__1_: added to BUILD.bazel\n"},
		{name: "at", models: map[string]network{"@net.onnx": static}, args: "@net.onnx", out: "//:_net: added to BUILD.bazel\n"},
		// The file has other targets and loads: the new ones go where buildifier wants them.
		{name: "others", models: map[string]network{"net.onnx": batch}},
		{name: "header", models: map[string]network{"net.onnx": batch}},
		{name: "loaded", models: map[string]network{"net.onnx": batch}},
		{name: "renamed", models: map[string]network{"net.onnx": batch}},
		{name: "own_macro", models: map[string]network{"net.onnx": batch}},
		{name: "not_formatted", models: map[string]network{"net.onnx": batch}},
		{name: "repo_name", models: map[string]network{"net.onnx": static}, module: "bazel_dep(name = \"rules_dnn\", version = \"0.1.0\", repo_name = \"dnn\")\n"},
		{name: "ourselves", models: map[string]network{"net.onnx": static}, module: "module(name = \"rules_dnn\")\n"},
		// What people wrote stays; what the model gained or lost does not.
		{
			name:   "keeps",
			models: map[string]network{"net.onnx": {dims: []string{"N", "H", "gained"}, external: []string{"kept", "new", "made.bin"}}},
			files:  map[string]string{"lost": ""},
			out:    "//:mine: brought up to date in BUILD.bazel\n",
		},
		{
			name:   "now_static",
			models: map[string]network{"net.onnx": static},
			out:    "//:net: brought up to date in BUILD.bazel\n",
		},
		{
			name:   "expressions",
			models: map[string]network{"net.onnx": {dims: []string{"N"}, external: []string{"w"}}},
			out: "//:net: external_data is an expression, and stays: the model's are w\n" +
				"//:net: dims is an expression, and stays; the model's symbols are N\n//:net is up to date\n",
		},
		{
			name:   "two",
			models: map[string]network{"net.onnx": {dims: []string{"M"}}, "other.onnx": static},
			out:    "//:host: brought up to date in BUILD.bazel\n//:arm64: dims is an expression, and stays; the model's symbols are M\n//:arm64 is up to date\n",
		},
		{name: "import", models: map[string]network{"net.onnx": batch}, out: "//:graph: brought up to date in BUILD.bazel\n"},
		{name: "moved", models: map[string]network{"v2/net.onnx": batch}, args: "--name=net v2/net.onnx", out: "//:net: brought up to date in BUILD.bazel\n"},
		{name: "value", models: map[string]network{"net.onnx": batch}, args: "net.onnx --dims=N=1..8", out: "//:net: brought up to date in BUILD.bazel\n"},
		// Which BUILD file it is.
		{name: "below", models: map[string]network{"p/q/net.onnx": {external: []string{"w"}}}, args: "p/q/net.onnx", build: "p/BUILD",
			out: "p/BUILD has \"q/*.txt\", and would lose it if //p/q were a package: the target goes there; --new-package makes one nevertheless\n//p:net: added to p/BUILD\n"},
		{name: "beside", models: map[string]network{"p/q/net.onnx": batch}, files: map[string]string{"p/BUILD": "exports_files([\"qx/a\", \"r/q/a\"])\n"}, args: "p/q/net.onnx", build: "p/q/BUILD.bazel", out: "//p/q:net: added to p/q/BUILD.bazel\n"},
		{name: "new_package", models: map[string]network{"p/q/net.onnx": static}, files: map[string]string{"p/BUILD": "exports_files([\"q/a\"])\n"}, args: "--new-package p/q/net.onnx", build: "p/q/BUILD.bazel", out: "//p/q:net: added to p/q/BUILD.bazel\n"},
		{name: "first_package", models: map[string]network{"p/q/net.onnx": static}, args: "p/q/net.onnx", build: "p/q/BUILD.bazel", out: "//p/q:net: added to p/q/BUILD.bazel\n"},
		{name: "both", models: map[string]network{"p/net.onnx": static}, files: map[string]string{"p/BUILD": "", "p/BUILD.bazel": ""}, args: "p/net.onnx", build: "p/BUILD.bazel", out: "//p:net: added to p/BUILD.bazel\n"},
		{
			name:   "package_within",
			models: map[string]network{"p/net.onnx": {external: []string{"data/w", "v"}}},
			files:  map[string]string{"p/BUILD": "", "p/data/BUILD": ""}, args: "p/net.onnx", build: "p/BUILD",
			out: "//p:net: //p/data:w must be exported by its package: exports_files\n//p:net: added to p/BUILD\n",
		},
		{name: "several", models: map[string]network{"net.onnx": batch, "other.onnx": static}, args: "net.onnx other.onnx", out: "//:net: added to BUILD.bazel\n//:other: added to BUILD.bazel\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			module, args, built := c.module, c.args, c.build
			if module == "" {
				module = "bazel_dep(name = \"rules_dnn\", version = \"0.1.0\")\n"
			}
			if built == "" {
				built = "BUILD.bazel"
			}
			if args == "" {
				args = "net.onnx"
			}
			dir := workspaceOf(t, module)
			for name, n := range c.models {
				n.place(t, filepath.Join(dir, name))
			}
			for name, text := range c.files {
				writeFile(t, filepath.Join(dir, name), text)
			}
			if in, err := os.ReadFile("testdata/" + c.name + ".in"); err == nil {
				writeFile(t, filepath.Join(dir, built), string(in))
				_ = os.Remove(filepath.Join(dir, "made.bin")) // a rule makes it
			}
			words := strings.Fields(args)
			var out bytes.Buffer
			require.NoError(t, run(words, &out))
			want := c.out
			if want == "" {
				want = "//:net: added to BUILD.bazel\n"
			}
			assert.Equal(t, want, out.String())
			compareWith(t, "testdata/"+c.name+".want", filepath.Join(dir, built))

			out.Reset()
			require.NoError(t, run(append(words, "--check"), &out), "a second run would change it:\n%s", &out)
		})
	}
}

// compareWith compares a file with one of testdata.
func compareWith(t *testing.T, golden, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go test ./tools/add -update writes %s", golden)
}

// TestErrors sees that what is refused is said, and that no file changes.
func TestErrors(t *testing.T) {
	const load = "load(\"@rules_dnn//rules:defs.bzl\", \"dnn_model\")\n"
	batch := network{dims: []string{"N"}}
	for _, c := range []struct {
		name, args, build string
		net               network
		want              string
	}{
		{"no model", "", "", batch, "no model is given"},
		{"no file", "other.onnx", "", batch, "other.onnx: there is no such file"},
		{"another file", "BUILD", "", batch, "BUILD: dnn_model compiles files whose names end in .onnx"},
		{"no ONNX", "text.onnx", "", batch, "is the file an ONNX model?"},
		{"folder", "folder.onnx", "", batch, "folder.onnx is a folder, not a file"},
		{"two for one name", "net.onnx net.onnx --name=x", "", batch, "2 models are given"},
		{"name", "net.onnx --name=a:b", "", batch, "--name=a:b: the header has the same name"},
		{"option", "net.onnx --nam=x", "", batch, "flag provided but not defined: -nam; --help shows examples"},
		{"check or not", "net.onnx --check --dry-run", "", batch, "leave out one of them"},
		{"bound", "net.onnx --dims N", "", batch, "want NAME=NUMBER or NAME=LOW..HIGH"},
		{"two bounds", "net.onnx --dims N=1 --dims N=2", "", batch, "the symbol N is given twice"},
		{"symbol", "net.onnx --dims M=1", "", batch, "--dims=M=1: no dimension of the model's inputs has this name; the model's symbols are N"},
		{"no symbols", "net.onnx --dims M=1", "", network{}, "has this name; all of them are constants"},
		{"expression", "net.onnx --dims N=1", load + "dnn_model(name = \"n\", src = \"net.onnx\", dims = D)\n", batch, "//:n: --dims: dims is an expression"},
		{"taken", "net.onnx", "\ncc_library(name = \"net\")\n", batch, "//:net exists: a cc_library (BUILD, line 2); name this model's target differently with --name"},
		{"taken by a model", "net.onnx", load + "dnn_model(name = \"net\", src = \"old.onnx\")\n", batch, "//:net exists: a dnn_model of old.onnx (BUILD, line 2)"},
		{"chosen", "net.onnx --name=net", load + "dnn_model(name = \"net\", src = select({}))\n", batch, "//:net chooses its src by an expression"},
		{"imported", "net.onnx --name=net", load + "dnn_model(name = \"net\", src = \":graph\")\n", batch, "the src of //:net is :graph, which is no .onnx file"},
		{"which", "net.onnx --target=//:p", load + "dnn_model(name = \"a\", src = \"net.onnx\")\ndnn_model(name = \"b\", src = \"net.onnx\")\n", batch, "--target=//:p: //:a, //:b compile this model"},
		{"platform of an import", "net.onnx --target=//:p", "load(\"@rules_dnn//rules:defs.bzl\", \"dnn_import\")\ndnn_import(name = \"a\", src = \"net.onnx\")\n", batch, "//:a: --target: dnn_import reads a model for all platforms"},
		{"syntax", "net.onnx", "cc_library(\n", batch, "the BUILD file is not understood, and nothing is changed: BUILD:3:1"},
		{"data", "net.onnx", "", network{external: []string{"lost.bin"}}, "its external data are in lost.bin, which is not beside the model"},
		{"data's name", "net.onnx", "", network{external: []string{"a=b"}}, "its external data are in a=b: labels and the compiler's options have no place for = and :"},
		{"operator", "net.onnx", "", network{op: "Frobnicate"}, "Frobnicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := workspaceOf(t, "")
			c.net.place(t, filepath.Join(dir, "net.onnx"))
			_ = os.Remove(filepath.Join(dir, "lost.bin"))
			writeFile(t, filepath.Join(dir, "text.onnx"), "text")
			require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.onnx"), 0o777))
			writeFile(t, filepath.Join(dir, "BUILD"), c.build)
			_, err := invoke(c.args)
			require.ErrorContains(t, err, c.want)
			text, err := os.ReadFile(filepath.Join(dir, "BUILD"))
			require.NoError(t, err)
			assert.Equal(t, c.build, string(text))
		})
	}
}

func TestOtherPlaces(t *testing.T) {
	dir := workspaceOf(t, "")
	network{}.place(t, filepath.Join(dir, "within", "net.onnx"))
	writeFile(t, filepath.Join(dir, "within", "MODULE.bazel"), "")
	_, err := invoke("within/net.onnx")
	require.ErrorContains(t, err, "it is in the workspace "+filepath.Join(dir, "within")+", and Bazel runs in "+dir)

	outside := filepath.Join(t.TempDir(), "net.onnx")
	network{}.place(t, outside)
	_, err = invoke(outside)
	require.ErrorContains(t, err, "it is in no Bazel workspace")

	// Without Bazel, the model says where the workspace is, and paths begin in the working
	// directory.
	t.Setenv("BUILD_WORKSPACE_DIRECTORY", "")
	t.Setenv("BUILD_WORKING_DIRECTORY", "")
	t.Chdir(filepath.Join(dir, "within"))
	out, err := invoke("net.onnx")
	require.NoError(t, err)
	assert.Equal(t, "//:net: added to BUILD.bazel\n", out)
}

// TestPackageAbove: what names files of the model's folder keeps them; a target that lost its
// model, since its folder became a package, is told.
func TestPackageAbove(t *testing.T) {
	for text, stays := range map[string]bool{
		"":                                                false,
		`exports_files(["mnetx/a", "m"])`:                 false,
		`x(srcs = glob(["*.onnx"]))`:                      false,
		`x(srcs = glob(["other/**/*.onnx"]))`:             false,
		`x(srcs = glob(["**/*.onnx"]))`:                   true,
		`x(srcs = glob(["mnet/*"]))`:                      true,
		`x(srcs = glob(["mn**"]))`:                        true,
		`exports_files(["mnet/a.txt"])`:                   true,
		`x(src = "//:mnet/a.txt")`:                        true,
		`dnn_model(name = "x", src = ":mnet/other.onnx")`: true,
	} {
		dir := workspaceOf(t, "")
		network{}.place(t, filepath.Join(dir, "mnet", "m.onnx"))
		writeFile(t, filepath.Join(dir, "BUILD"), text)
		out, err := invoke("mnet/m.onnx")
		require.NoError(t, err, text)
		if stays {
			assert.Contains(t, out, "//:m: added to BUILD\n", text)
		} else {
			assert.Equal(t, "//mnet:m: added to mnet/BUILD.bazel\n", out, text)
		}
	}
	dir := workspaceOf(t, "")
	network{}.place(t, filepath.Join(dir, "mnet", "m.onnx"))
	writeFile(t, filepath.Join(dir, "BUILD"), "load(\"@rules_dnn//rules:defs.bzl\", \"dnn_model\")\n\ndnn_model(\n    name = \"m\",\n    src = \"mnet/m.onnx\",\n)\n")
	out, err := invoke("mnet/m.onnx")
	require.NoError(t, err)
	assert.Contains(t, out, "//:m is up to date\n", "the target that is there is the one")
	writeFile(t, filepath.Join(dir, "mnet", "BUILD"), "")
	_, err = invoke("mnet/m.onnx")
	assert.ErrorContains(t, err, `the src of //:m is mnet/m.onnx, and the package //mnet holds that file now: write src = "//mnet:m.onnx" there and export the file in mnet/BUILD`)
}

// TestCheck sees that --check and --dry-run print the change and write nothing.
func TestCheck(t *testing.T) {
	dir := workspaceOf(t, "")
	network{dims: []string{"N"}}.place(t, filepath.Join(dir, "net.onnx"))
	in, err := os.ReadFile("testdata/two.in")
	require.NoError(t, err)
	writeFile(t, filepath.Join(dir, "BUILD"), string(in))
	want := strings.Join([]string{
		"--- a/BUILD", "+++ b/BUILD", "@@ -3,7 +3,8 @@",
		` dnn_model(`,
		`     name = "host",`,
		`     src = "net.onnx",`,
		`-    dims = {"N": "1..64"},`,
		`+    dims = {"N": "4"},`,
		`+    target = "//:p",`,
		` )`,
		` `,
		` dnn_model(`,
		`//:host: would be brought up to date in BUILD`, "",
	}, "\n")
	out, err := invoke("net.onnx --name=host --dims=N=4 --target=//:p --dry-run")
	require.NoError(t, err)
	assert.Equal(t, want, out)
	checked, err := invoke("net.onnx --name=host --dims=N=4 --target=//:p --check")
	require.ErrorIs(t, err, errStale)
	assert.Equal(t, out, checked)
	text, err := os.ReadFile(filepath.Join(dir, "BUILD"))
	require.NoError(t, err)
	assert.Equal(t, string(in), string(text))
}

func TestDiff(t *testing.T) {
	lines := func(words string) string { return strings.ReplaceAll(words, " ", "\n") + "\n" }
	for _, c := range []struct{ name, before, after, want string }{
		{"new", "", lines("a b"), "--- /dev/null +++ b/f @@ -0,0 +1,2 @@ +a +b"},
		{"far apart", lines("1 2 3 4 5 6 7 8 9 10"), lines("x 2 3 4 5 6 7 8 9 y"), "--- a/f +++ b/f @@ -1,4 +1,4 @@ -1 +x _2 _3 _4 @@ -7,4 +7,4 @@ _7 _8 _9 -10 +y"},
		{"near", lines("1 2 3 4 5 6 7 8"), lines("x 2 3 4 5 6 7 y"), "--- a/f +++ b/f @@ -1,8 +1,8 @@ -1 +x _2 _3 _4 _5 _6 _7 -8 +y"},
		{"within", lines("1 2 3 4 5 6 7 8 9"), lines("1 2 3 4 6 7 8 9"), "--- a/f +++ b/f @@ -2,7 +2,6 @@ _2 _3 _4 -5 _6 _7 _8"},
	} {
		got := strings.ReplaceAll(strings.TrimSuffix(diff("f", c.before, c.after), "\n"), "\n ", "\n_")
		assert.Equal(t, c.want, strings.ReplaceAll(got, "\n", " "), c.name)
	}
}

func TestHelp(t *testing.T) {
	out, err := invoke("--help")
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, option := range []string{"bazel run @rules_dnn//:add -- MODEL.onnx", "-check", "-dims SYMBOL=BOUND", "-name NAME", "-target PLATFORM"} {
		assert.Contains(t, out, option)
	}
}
