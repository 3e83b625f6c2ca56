package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// workspace is a directory in which Bazel runs, with its own output base.
type workspace struct {
	root   string // of rules_dnn
	dir    string
	base   string
	copied bool // the folder is a copy that lies elsewhere
	old    bool // it has no modules: WORKSPACE
}

// rulesRoot returns the checkout's directory. Bazel's runfiles are links to it.
func rulesRoot(t *testing.T) string {
	file, err := filepath.EvalSymlinks("workspace_test.go")
	require.NoError(t, err)
	file, err = filepath.Abs(file) // it is not a link under go test
	require.NoError(t, err)
	return filepath.Dir(filepath.Dir(file))
}

// open returns a workspace for a directory. Its output base is removed when the test ends.
func open(t *testing.T, dir string) *workspace {
	base := filepath.Join(os.Getenv("TEST_TMPDIR"), "base-"+filepath.Base(t.Name())+"-"+filepath.Base(dir))
	w := &workspace{root: rulesRoot(t), dir: dir, base: base}
	t.Cleanup(func() {
		if _, said, err := w.try("clean", "--expunge"); err != nil {
			t.Logf("cannot clean up: %v\n%s", err, said)
		}
	})
	return w
}

// copied returns a workspace for a copy of a directory.
func copied(t *testing.T, dir string) *workspace {
	to := filepath.Join(os.Getenv("TEST_TMPDIR"), "another", "place", filepath.Base(dir)+"-copy")
	require.NoError(t, os.RemoveAll(to))
	copyTree(t, dir, to)
	w := open(t, to)
	w.copied = true
	return w
}

// copyTree copies a directory or a file. It does not follow links that Bazel made.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	}))
}

// try runs a Bazel command and returns its standard output and standard error.
func (w *workspace) try(command string, args ...string) (out, said string, err error) {
	flags := []string{"--output_base=" + w.base, "--max_idle_secs=60", command}
	if command != "clean" {
		flags = append(flags, "--experimental_convenience_symlinks=ignore", "--jobs=2", "--color=no", "--curses=no", "--noshow_progress")
		flags = append(flags, "--remote_download_outputs=all") // tests read what a cache had, also of targets not asked for
	}
	if command != "clean" && w.old {
		flags = append(flags, "--noenable_bzlmod", "--enable_workspace")
	} else if command != "clean" && w.copied {
		flags = append(flags, "--override_module=rules_dnn="+w.root) // it is not at ../.. from here
	}
	cmd := exec.Command(filepath.Join(w.root, "bazelw"), append(flags, args...)...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+os.Getenv("TEST_TMPDIR"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// bazel runs a Bazel command that must succeed, and returns its output.
func (w *workspace) bazel(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, said, err := w.try(command, args...)
	require.NoError(t, err, "bazelw %s %s\n%s%s", command, strings.Join(args, " "), out, said)
	return out
}

// said runs a Bazel command that must succeed, and returns its standard error.
func (w *workspace) said(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, said, err := w.try(command, args...)
	require.NoError(t, err, "bazelw %s %s\n%s%s", command, strings.Join(args, " "), out, said)
	return said
}

// bin returns the directory bazel-bin for build flags.
func (w *workspace) bin(t *testing.T, flags ...string) string {
	t.Helper()
	return strings.TrimSpace(w.bazel(t, "info", append(flags, "bazel-bin")...))
}

// spawn is an entry of Bazel's execution log: one process.
type spawn struct {
	Mnemonic      string
	Runner        string
	TargetLabel   string
	CommandArgs   []string
	ListedOutputs []string
}

// executed reports whether the process ran. It did not if it was cached or shared with another
// one.
func (s spawn) executed() bool {
	return !strings.HasSuffix(s.Runner, "cache hit") && s.Runner != "deduplicated"
}

// logged builds targets and returns the execution log.
func (w *workspace) logged(t *testing.T, args ...string) []spawn {
	t.Helper()
	file := filepath.Join(os.Getenv("TEST_TMPDIR"), "log.json")
	w.bazel(t, "build", append([]string{"--execution_log_json_file=" + file}, args...)...)
	log, err := os.Open(file)
	require.NoError(t, err)
	defer log.Close()
	var spawns []spawn
	for d := json.NewDecoder(log); ; {
		var s spawn
		err := d.Decode(&s)
		if errors.Is(err, io.EOF) {
			return spawns
		}
		require.NoError(t, err)
		spawns = append(spawns, s)
	}
}

// run runs a program and returns its standard output.
func run(t *testing.T, input string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", strings.Join(command, " "), stderr.String())
	return strings.TrimSpace(string(out))
}

// makes reports whether the process makes a file with this name in a configuration's directory
// below bazel-out.
func (s spawn) makes(configuration, name string) bool {
	return slices.ContainsFunc(s.ListedOutputs, func(out string) bool {
		return strings.HasPrefix(out, "bazel-out/"+configuration+"/") && filepath.Base(out) == name
	})
}
