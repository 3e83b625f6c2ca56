package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/tools/docs/snippet"
)

// The tests of a page first follow README, and then the page, as a reader would.

// thirdParty is the directory of rules_dnn in README.md.
const thirdParty = "third_party/rules_dnn"

// blocks returns the code blocks of a page. path is relative to the root.
func blocks(t *testing.T, page string) []snippet.Block {
	out, err := snippet.Read(filepath.Join(rulesRoot(t), page))
	require.NoError(t, err)
	return out
}

// appended lists files whose blocks on a page are appended to README's file. Other files replace
// README's.
var appended = map[string]bool{".bazelrc": true, "BUILD": true, "MODULE.bazel": true}

// files returns the texts of files by name. Blocks of the same file are joined.
func files(pages ...[]snippet.Block) map[string]string {
	out := map[string]string{}
	for _, page := range pages {
		for _, b := range page {
			if b.Mark == snippet.File && appended[b.Name] {
				out[b.Name] += b.Text
			} else if b.Mark == snippet.File {
				out[b.Name] = b.Text
			}
		}
	}
	return out
}

// reader is a module with a link to the checkout.
type reader struct {
	*workspace
	tools string // a folder with a command bazel
}

// newReader returns a module with README's files.
func newReader(t *testing.T) *reader {
	dir := filepath.Join(os.Getenv("TEST_TMPDIR"), "examples")
	require.NoError(t, os.RemoveAll(dir))
	r := &reader{open(t, dir), filepath.Join(os.Getenv("TEST_TMPDIR"), "examples-tools")}
	require.NoError(t, os.MkdirAll(r.tools, 0o755))
	return r
}

// begin replaces the module's files by the files of README and of a page.
func (r *reader) begin(t *testing.T, page string) {
	require.NoError(t, os.RemoveAll(r.dir))
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, filepath.Dir(thirdParty)), 0o755))
	require.NoError(t, os.Symlink(r.root, filepath.Join(r.dir, thirdParty)))
	copyTree(t, filepath.Join(r.root, "app", "resnet20_cifar10.onnx"), filepath.Join(r.dir, "resnet20_cifar10.onnx"))
	pages := [][]snippet.Block{blocks(t, "README.md")}
	if page != "README.md" {
		pages = append(pages, blocks(t, page))
	}
	for name, text := range files(pages...) {
		if name != "WORKSPACE" { // TestReadmeWorkspace
			r.write(t, name, text)
		}
	}
}

func (r *reader) write(t *testing.T, name, text string) {
	require.NotEmpty(t, text, name)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644))
}

// bazelCommand is a script that takes the place of bazel. With ANALYZE it only analyzes targets.
const bazelCommand = `#!/bin/bash
command=$1
shift
quiet='--color=no --curses=no --noshow_progress'
case $command in
build | run | test) quiet="--jobs=2 $quiet" ;;
esac
if [ -n "$ANALYZE" ]; then
  case $command in
  build | run | test)
    args=(--nobuild)
    for a; do
      [ "$a" != -- ] || break # what follows is the program's
      args+=("$a")
    done
    set -- "${args[@]}"
    [ "$command" = test ] || command=build
    ;;
  esac
fi
PATH='%s' # without this command, which bazelw would take for Bazel
exec '%s/bazelw' '--output_base=%s' --max_idle_secs=60 "$command" $quiet "$@"
`

// sh runs a script like a reader, and returns its output.
func (r *reader) sh(t *testing.T, script string, env ...string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(r.tools, "bazel"), []byte(fmt.Sprintf(bazelCommand, os.Getenv("PATH"), r.root, r.base)), 0o755))
	cmd := exec.Command("bash", "-e", "-c", script)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+os.Getenv("TEST_TMPDIR"), "PATH="+r.tools+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	return string(out)
}

var analyze = flag.Bool("analyze", false, "only analyze what the commands of guides and examples build; README's are always run. All run by: bazelw test //e2e:e2e_test --test_arg=-analyze=false")

// play runs the commands of a page and returns their output, or "" if it only analyzes targets.
func (r *reader) play(t *testing.T, page string, analyze bool) string {
	var out strings.Builder
	for _, b := range blocks(t, page) {
		switch {
		case b.Mark == snippet.Run && analyze:
			r.sh(t, analyzable(b.Text), "ANALYZE=1")
		case b.Mark == snippet.Run:
			out.WriteString(r.sh(t, b.Text))
		case b.Mark == snippet.Analyze:
			out.WriteString(r.sh(t, b.Text, "ANALYZE=1"))
		}
	}
	return out.String()
}

// analyzable returns the commands of a script that do not need outputs of a build.
func analyzable(script string) string {
	var out strings.Builder
	for _, line := range strings.Split(strings.ReplaceAll(script, "\\\n", " "), "\n") {
		if strings.HasPrefix(line, "bazel ") || strings.HasPrefix(line, "cp ") {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// TestExamples checks that the commands of README and of each guide work in order.
func TestExamples(t *testing.T) {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("runs Bazel; use bazel test //e2e:e2e_test")
	}
	r := newReader(t)
	pages := []string{"docs/trainers.md"}
	guides, err := filepath.Glob(filepath.Join(r.root, "docs", "guides", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, guides)
	for _, g := range guides {
		pages = append(pages, "docs/guides/"+filepath.Base(g))
	}
	if !t.Run("README.md", func(t *testing.T) { readmeExample(t, r) }) {
		return // nothing else can work
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			r.begin(t, page)
			r.sh(t, "bazel query //... >/dev/null") // also of files that no command builds
			printed := r.play(t, page, *analyze)
			if check := checks[filepath.Base(page)]; check != nil && !*analyze {
				check(t, r, printed)
			}
		})
	}
}

// numbers matches the output of main.cc.
var numbers = regexp.MustCompile(`(?m)^(-?\d+\.\d{3} ){10}ok$`)

// readmeExample follows README, and checks the error that a reader without the toolchain gets.
func readmeExample(t *testing.T, r *reader) {
	r.begin(t, "README.md")
	assert.Regexp(t, numbers, r.play(t, "README.md", false))
	r.sh(t, "bazel build //...", "ANALYZE=1") // the copy's own packages are not loaded
	// If the reader does not register the toolchain, the error explains how.
	const line = "register_toolchains(\"@rules_dnn//toolchains/cc:linux_arm64\")\n"
	module := files(blocks(t, "README.md"))["MODULE.bazel"]
	require.Contains(t, module, line)
	r.write(t, "BUILD", files(blocks(t, "README.md"), blocks(t, "docs/guides/arm_linux.md"))["BUILD"])
	r.write(t, "MODULE.bazel", strings.Replace(module, line, "", 1))
	_, refused, err := r.try("build", "--nobuild", "//:net_arm64")
	require.Error(t, err)
	assert.Contains(t, refused, "no C++ toolchain builds for the platform ")
	assert.Contains(t, refused, strings.TrimSpace(line))
}

// TestExampleModules checks that the commands of examples/README.md work in each module there.
func TestExampleModules(t *testing.T) {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("runs Bazel; use bazel test //e2e:e2e_test")
	}
	r := newReader(t)
	played := map[string]bool{}
	for _, b := range blocks(t, "examples/README.md") {
		if b.Mark != snippet.Run && b.Mark != snippet.Analyze {
			continue
		}
		where, script, ok := strings.Cut(b.Text, "\n")
		require.True(t, ok)
		name, ok := strings.CutPrefix(where, "cd examples/")
		require.True(t, ok, where)
		played[name] = true
		t.Run(name, func(t *testing.T) {
			r.beginModule(t, name)
			var env []string
			if b.Mark == snippet.Analyze || *analyze {
				env = append(env, "ANALYZE=1")
			}
			r.sh(t, script, env...)
		})
	}
	folders, err := filepath.Glob(filepath.Join(r.root, "examples", "*", "MODULE.bazel"))
	require.NoError(t, err)
	for _, f := range folders {
		assert.True(t, played[filepath.Base(filepath.Dir(f))], "%s has no commands in examples/README.md", f)
	}
}

// beginModule replaces the module by a copy of an example, with a link to the checkout.
func (r *reader) beginModule(t *testing.T, name string) {
	require.NoError(t, os.RemoveAll(r.dir))
	copyTree(t, filepath.Join(r.root, "examples", name), r.dir)
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, filepath.Dir(thirdParty)), 0o755))
	require.NoError(t, os.Symlink(r.root, filepath.Join(r.dir, thirdParty)))
	module, err := os.ReadFile(filepath.Join(r.dir, "MODULE.bazel"))
	require.NoError(t, err)
	const path = "path = \"../..\""
	require.Contains(t, string(module), path)
	r.write(t, "MODULE.bazel", strings.Replace(string(module), path, "path = \""+thirdParty+"\"", 1))
	r.write(t, ".bazelignore", thirdParty+"\n")
}

// checks has additional checks of the results of a page's commands.
var checks = map[string]func(t *testing.T, r *reader, printed string){
	"arm_linux.md": func(t *testing.T, r *reader, printed string) {
		assert.Contains(t, printed, "net_arm64/libnet_arm64.a\n")
		assert.Regexp(t, numbers, printed)
	},
	"first_model.md": func(t *testing.T, r *reader, printed string) {
		build, err := os.ReadFile(filepath.Join(r.dir, "BUILD"))
		require.NoError(t, err)
		assert.Contains(t, string(build), `name = "mine"`)
		assert.Contains(t, printed, "N")
	},
	"pruning.md": func(t *testing.T, r *reader, printed string) {
		_, refused, err := r.try("build", "--nobuild", "//:net_small")
		require.Error(t, err)
		assert.Contains(t, refused, "//:net_pruned has not been trained yet: ")
		r.bazel(t, "build", "--nobuild", "//:net_pruned.update")
	},
	"variants.md": func(t *testing.T, r *reader, printed string) {
		chips := r.bazel(t, "aquery", "--platforms=@rules_dnn//platforms:linux_x86_64", "mnemonic(DnnCompile, //:net_for_all)")
		assert.Contains(t, chips, "x86_64_haswell.json")
		assert.Contains(t, chips, "x86_64_zen4.json")
		assert.NotContains(t, chips, "x86_64_v4.json")
		assert.Contains(t, r.bazel(t, "aquery", "mnemonic(DnnCompile, //:net)"), "my_chip.json")
	},
	"size.md": func(t *testing.T, r *reader, printed string) {
		assert.Regexp(t, `(?m)^ *\d+  code$`, printed)
	},
}

// TestStandalone runs the commands that do not need Bazel.
func TestStandalone(t *testing.T) {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("compiles a network; use bazel test //e2e:e2e_test")
	}
	root, out := rulesRoot(t), t.TempDir()
	copyTree(t, filepath.Join(root, "app", "resnet20_cifar10.onnx"), filepath.Join(out, "net.onnx"))
	copyTree(t, filepath.Join(root, "docs", "reference", "facts", "x86_64_v3.json"), filepath.Join(out, "x86_64_v3.json"))
	require.NoError(t, os.WriteFile(filepath.Join(out, "main.cc"), []byte(files(blocks(t, "README.md"))["main.cc"]), 0o644))
	var printed string
	for _, b := range blocks(t, "docs/guides/cmake.md") {
		if b.Mark != snippet.Standalone {
			continue
		}
		cmd := exec.Command("bash", "-e", "-c", b.Text)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "OUT="+out, "RULES_DNN="+root, "PATH="+os.Getenv("PATH")+":/usr/local/go/bin", "GOFLAGS=-trimpath")
		if os.Getenv("HOME") == "" {
			cmd.Env = append(cmd.Env, "HOME="+os.Getenv("TEST_TMPDIR"))
		}
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", b.Text, text)
		printed += string(text)
	}
	assert.Regexp(t, numbers, printed)
}

// TestReadmeWorkspace checks that the installation guide has the same WORKSPACE as TestWorkspace.
func TestReadmeWorkspace(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(rulesRoot(t), "e2e", "workspace", "WORKSPACE"))
	require.NoError(t, err)
	rest := string(text)
	told := strings.Replace(files(blocks(t, "docs/guides/install.md"))["WORKSPACE"], thirdParty, "../..", 1)
	require.NotEmpty(t, told)
	for _, line := range strings.Split(told, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		_, after, ok := strings.Cut(rest, line+"\n")
		require.True(t, ok, "e2e/workspace/WORKSPACE lacks a line of docs/guides/install.md, or has it elsewhere: %s", line)
		rest = after
	}
	// The download has a checksum.
	for _, name := range []string{"WORKSPACE", "e2e/workspace/WORKSPACE"} {
		text, err := os.ReadFile(filepath.Join(rulesRoot(t), name))
		require.NoError(t, err)
		archives := strings.Split(string(text), "http_archive(\n")[1:]
		require.NotEmpty(t, archives, name)
		for _, a := range archives {
			assert.Regexp(t, `^    name = "\w+",\n    sha256 = "[0-9a-f]{64}",\n`, a, name)
		}
	}
}
