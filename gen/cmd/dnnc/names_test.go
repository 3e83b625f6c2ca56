package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"rules_dnn/gen/emit/cpp/cpptest"
	"rules_dnn/gen/onnx/onnxpb"
)

// evilNames are what a name must not do to code, comments, strings, paths, JSON or the text form.
var evilNames = []string{
	"*/ int x; /*", "a\nb", "a\r\n#error no", "\"; #error no \"", "ends with \\", "??/", "\\", "\xff\xfe\x80", "é\u202e\u2028", "\x00", "../../out", "/etc/x", "%s%n%d", "${x}$(x)`x`",
	"</script><script>", "'", "#define x", "int", "class", "N", "i0", "a0", "task", "bad_index", "_", "__FILE__", "min", "R\"(", "0", "-1", "a b", "@c", "%v", "}", "{{.P}}",
	strings.Repeat("long ", 2000),
}

// evilModel has a node, an input, an output, a symbol and an initializer of each name.
func evilModel() *onnxpb.ModelProto {
	m := hostileModel(nil)
	g := m.Graph
	g.Name, g.DocString = proto.String("*/\n#error graph"), proto.String("*/\n#error doc")
	g.Output = nil
	for i, name := range evilNames {
		in, w, mid, out := "in "+name, "w "+name, "mid "+name, "out "+name
		if i%2 == 0 {
			in, w, mid, out = name, name+"\"w", name+"\nmid", name+"\\"
		}
		dim := fmt.Sprintf("%s%d", name, i)
		g.Input = append(g.Input, floats(in, dim, 3)...)
		g.Initializer = append(g.Initializer, ones(w, 3))
		add, act := op("Add", "", mid), op([]string{"Relu", "Exp", "Neg", "Tanh"}[i%4], "", out)
		add.Input, act.Input = []string{in, w}, []string{mid}
		add.Name, act.Name = proto.String(name), proto.String(name+"*/")
		g.Node = append(g.Node, add, act)
		g.Output = append(g.Output, &onnxpb.ValueInfoProto{Name: proto.String(out)})
	}
	return m
}

// TestEvilNames compiles a model whose names are no names, and what dnnc makes of it, as C and as C++.
func TestEvilNames(t *testing.T) {
	compiler := cpptest.Compiler(t)
	root, chip := absolute(t, repository), factsFile(t, "x86_64")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("model.onnx", marshal(t, evilModel()), 0o644))
	mustRun(t, graphArgs("model.onnx", "--dump=all", "--dump-dir=dumps")...)
	mustRun(t, compileArgs("model.onnx", chip, "--dump=all", "--dump-dir=dumps")...)
	files := tree(t)
	for path, text := range files {
		if path == "net.weights" || path == "model.onnx" || path == "net.consts" || path == "net.manifest.json" {
			continue
		}
		for _, line := range strings.Split(text, "\n") {
			assert.False(t, strings.ContainsFunc(line, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\t' }), "%s: %q", path, line)
			assert.NotRegexp(t, `\w{150}`, line, "an identifier is no longer than what makes it unique: %s", path)
		}
	}
	assert.Subset(t, keys(files), []string{"net.graph.txt", "net.h", "net.manifest.json", "net.weights.S", "kernels/app_net_program.cc"})
	for path := range files {
		assert.Regexp(t, `^[a-zS0-9_./-]+$`, path, "no name makes a path")
	}
	assert.True(t, json.Valid([]byte(files["net.manifest.json"])))
	assert.NotContains(t, files["net.manifest.json"], "</script>", "reports put the manifest into a page")
	kernels, err := filepath.Glob("kernels/*.cc")
	require.NoError(t, err)
	flags := []string{"-Wall", "-Wextra", "-Wcomment", "-Wtrigraphs", "-Werror", "-I.", "-I" + root, "-fsyntax-only"}
	for _, args := range [][]string{
		append([]string{"-std=c++17"}, kernels...), {"-x", "c", "-std=c99", "net.h"}, {"-x", "c++", "-std=c++17", "net.h"}, {"-x", "c++", "-std=c++17", "-trigraphs", "net.h"},
	} {
		out, err := exec.Command(compiler, append(append([]string{}, flags...), args...)...).CombinedOutput()
		assert.NoError(t, err, "%v\n%.3000s", args, out)
	}
}

func keys(files map[string]string) []string {
	var out []string
	for k := range files {
		out = append(out, k)
	}
	return out
}
