package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkspace builds in a workspace without modules and Go rules. `go build` builds the
// compiler.
func TestWorkspace(t *testing.T) {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("runs Bazel; use bazel test //e2e:e2e_test")
	}
	if version := bazelVersion(t); !strings.HasPrefix(version, "7.") {
		t.Skip("Bazel " + version + " has no WORKSPACE")
	}
	w := copied(t, filepath.Join(rulesRoot(t), "e2e", "workspace"))
	w.old = true
	path := filepath.Join(w.dir, "WORKSPACE")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	original := strings.Replace(string(text), `"../.."`, fmt.Sprintf("%q", w.root), 1)
	// Test the errors first, because they need no compiler.
	t.Run("NoGo", func(t *testing.T) {
		refused(t, w, original, "/nowhere/go", `go = "/nowhere/go": the file does not exist`)
	})
	t.Run("OldGo", func(t *testing.T) {
		refused(t, w, original, oldGo(t), "go is go1.9.7, but rules_dnn needs Go 1.")
	})
	t.Run("NoGoOnPath", func(t *testing.T) {
		if there, _ := filepath.Glob("/usr/bin/go"); there != nil {
			t.Skip("this machine has " + there[0])
		}
		refused(t, w, original, "", "go is not on PATH: install Go 1.", "--repo_env=PATH=/usr/bin:/bin")
	})
	t.Run("SourcesChange", func(t *testing.T) { sourcesChange(t, w, string(text)) })
	require.NoError(t, os.WriteFile(path, []byte(original), 0o644))
	t.Run("Build", func(t *testing.T) {
		w.bazel(t, "build", "//:program")
		assert.Equal(t, "0.5 0 1.5 5", run(t, "", filepath.Join(w.bin(t), "program")))
		fetched, err := filepath.Glob(filepath.Join(w.base, "external", "*_go*"))
		require.NoError(t, err)
		assert.Empty(t, fetched, "Go rules were fetched")
	})
	t.Run("Target", func(t *testing.T) {
		w.bazel(t, "build", "//:relu_arm64")
		require.FileExists(t, filepath.Join(w.bin(t), "relu_arm64", "librelu_arm64.a"))
	})
	t.Run("Android", func(t *testing.T) { oldAndroid(t, w) })
	t.Run("Add", func(t *testing.T) {
		out := w.bazel(t, "run", "@rules_dnn_dnnc//:add", "--", "relu.onnx", "--check")
		assert.Contains(t, out, "//:relu is up to date\n")
	})
}

// TestRootWorkspace builds in this repository without modules.
func TestRootWorkspace(t *testing.T) {
	if os.Getenv("TEST_TMPDIR") == "" {
		t.Skip("runs Bazel; use bazel test //e2e:e2e_test")
	}
	if version := bazelVersion(t); !strings.HasPrefix(version, "7.") {
		t.Skip("Bazel " + version + " has no WORKSPACE")
	}
	w := open(t, rulesRoot(t))
	w.old = true
	said := w.said(t, "build", "//app:model_arm64")
	assert.Contains(t, said, "app/model_arm64/libmodel_arm64.a\n")
}

// bazelVersion returns the version of the Bazel that tests run.
func bazelVersion(t *testing.T) string {
	out := run(t, "", filepath.Join(rulesRoot(t), "bazelw"), "--version")
	return strings.TrimPrefix(out, "bazel ")
}

// withGo sets the go command of the workspace.
func withGo(t *testing.T, w *workspace, original, program string) {
	t.Helper()
	text := strings.Replace(original, "\nrules_dnn_toolchains()", fmt.Sprintf("\nrules_dnn_toolchains(go = %q)", program), 1)
	require.NotEqual(t, original, text)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "WORKSPACE"), []byte(text), 0o644))
}

// refused checks the error for a go command that cannot build the compiler.
func refused(t *testing.T, w *workspace, original, program, want string, flags ...string) {
	t.Helper()
	withGo(t, w, original, program)
	_, said, err := w.try("build", append(flags, "--nobuild", "//:relu")...)
	require.Error(t, err)
	assert.Contains(t, said, want)
}

// oldGo writes a fake go command of a release that is too old for rules_dnn, and returns its path.
func oldGo(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "go")
	script := fmt.Sprintf("#!/bin/sh\necho go1.9.7\necho %s\necho %s\n", runtime.GOOS, runtime.GOARCH)
	require.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// sourcesChange checks that the compiler is built again only if one of its sources changes. A
// fake go command counts the builds.
func sourcesChange(t *testing.T, w *workspace, original string) {
	dir := filepath.Join(os.Getenv("TEST_TMPDIR"), "rules_dnn")
	require.NoError(t, os.RemoveAll(dir))
	for _, part := range []string{"BUILD.bazel", "MODULE.bazel", "go.mod", "go.sum", "gen/cmd", "gen/ir/sym", "platforms", "rules", "runtime", "toolchains", "tools/add", "tools/command"} {
		copyTree(t, filepath.Join(w.root, part), filepath.Join(dir, part))
	}
	counter := filepath.Join(t.TempDir(), "go")
	require.NoError(t, os.WriteFile(counter, []byte(fmt.Sprintf(`#!/bin/sh
case $1 in
  env) echo go1.99 && echo %s && echo %s ;;
  build)
    echo built >>"$0.log"
    while [ "$1" != -o ]; do shift; done
    mkdir -p "$2" && cp "$0" "$2/dnnc" && cp "$0" "$2/add" ;;
esac
`, runtime.GOOS, runtime.GOARCH)), 0o755))
	withGo(t, w, strings.Replace(original, `"../.."`, fmt.Sprintf("%q", dir), 1), counter)
	for i, change := range []string{"", "", "gen/ir/sym/sym.go", "gen/ir/sym/new.go", "rules/BUILD.bazel"} {
		if change != "" {
			file, err := os.OpenFile(filepath.Join(dir, change), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			require.NoError(t, err)
			_, err = file.WriteString("\n")
			require.NoError(t, err)
			require.NoError(t, file.Close())
		}
		w.bazel(t, "build", "--nobuild", "//:relu")
		log, err := os.ReadFile(counter + ".log")
		require.NoError(t, err)
		assert.Equal(t, []int{1, 1, 2, 3, 3}[i], strings.Count(string(log), "built"), "builds after a change of %q", change)
	}
}
