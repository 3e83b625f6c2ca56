package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rules_dnn/gen/target/chips"
)

// dnnc is the compiler's binary.
type dnnc struct{ binary, chip string }

// newDnnc finds the binary that DNNC names, or builds it.
func newDnnc(t *testing.T) *dnnc {
	d := &dnnc{}
	var err error
	if given := os.Getenv("DNNC"); given != "" { // below the repository's folder, as Bazel's tests have it
		if d.binary = given; !filepath.IsAbs(given) {
			d.binary = filepath.Join(repository, given)
		}
	} else {
		d.binary = filepath.Join(t.TempDir(), "dnnc")
		out, err := exec.Command("go", "build", "-o", d.binary, "../../cmd/dnnc").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	d.binary, err = filepath.Abs(d.binary)
	require.NoError(t, err)
	facts, err := chips.Facts(chipName)
	require.NoError(t, err)
	d.chip = filepath.Join(t.TempDir(), chipName+".json")
	require.NoError(t, os.WriteFile(d.chip, facts, 0o644))
	return d
}

// chipName is the baseline of the machine that runs the test.
var chipName = map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]

// patience is how long a process may wait for the machine, which is busy, beyond the time that it may compute.
const patience = 3 * time.Minute

// mostMessage is the length of a message that people read.
const mostMessage = 20000

// compile compiles the case in a folder of its own, and compares an error with what it must be.
func (d *dnnc) compile(a *attempt) {
	if err := a.write(); err != nil {
		a.fail("writing it: %v", err)
		return
	}
	before := a.tree()
	out, err := d.command(a, append([]string{"graph", "--src=model.onnx", "--out=net.graph.txt", "--out-consts=net.consts"}, a.Flags...)...)
	if err == nil {
		before = a.tree()
		p := a.prefix()
		var external []string
		for _, f := range a.Flags {
			if strings.HasPrefix(f, "--external=") {
				external = append(external, f)
			}
		}
		out, err = d.command(a, append([]string{"compile", "--graph=net.graph.txt", "--consts=net.consts", "--src=model.onnx", "--chip=" + d.chip,
			"--api=" + p, "--prefix=" + p, "--namespace=" + p, "--out-header=" + p + ".h", "--out-kernels=kernels", "--shards=1",
			"--out-weights=net.weights", "--weights=file", "--out-manifest=net.manifest.json"}, external...)...)
	}
	if err != nil {
		a.refused = errors.New(out)
		a.checkRefused(before)
	} else if a.Kind == Refused {
		a.fail("it compiles; it must be refused, with %q", a.Words)
	}
}

// prefix begins the names of the case's C++.
func (a *attempt) prefix() string { return fmt.Sprintf("p%d", a.number) }

func (a *attempt) write() error {
	for _, f := range append([]string{"."}, a.Folders...) {
		if err := os.MkdirAll(filepath.Join(a.dir, f), 0o755); err != nil {
			return err
		}
	}
	for name, data := range a.Files {
		if err := os.WriteFile(filepath.Join(a.dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(a.dir, "model.onnx"), a.Model, 0o644)
}

// tree are the paths of the files in the case's folder.
func (a *attempt) tree() []string {
	var out []string
	_ = filepath.WalkDir(a.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, path)
		}
		return err
	})
	return out
}

// command runs dnnc; its error output is out. What it takes beyond the case's limits is wrong.
func (d *dnnc) command(a *attempt, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), a.Limits.Time+patience)
	defer cancel()
	// The shell's limits end what does not end by itself; dnnc's own address space is far larger than its memory.
	script := fmt.Sprintf("ulimit -t %d; ulimit -v %d; exec \"$0\" \"$@\"", int(2*a.Limits.Time/time.Second), (8<<30)>>10)
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, d.binary}, args...)...)
	cmd.Dir = a.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	state := cmd.ProcessState
	if state == nil {
		a.fail("dnnc does not start: %v", err)
		return "", err
	}
	took := state.UserTime() + state.SystemTime()
	a.took += took
	bytes := state.SysUsage().(*syscall.Rusage).Maxrss << 10
	switch {
	case !state.Exited():
		a.fail("dnnc %s ended by a signal after %v: %v", args[0], took, err)
	case took > a.Limits.Time:
		a.fail("dnnc %s takes %v, more than %v", args[0], took, a.Limits.Time)
	case bytes > a.Limits.Bytes:
		a.fail("dnnc %s takes %d MB, more than %d", args[0], bytes>>20, a.Limits.Bytes>>20)
	case state.ExitCode() > 1:
		a.fail("dnnc %s ends with %d: %.2000s", args[0], state.ExitCode(), stderr.String())
	}
	return strings.TrimPrefix(stderr.String(), "dnnc: "), err
}

// checkRefused compares an error with what the case asks for.
func (a *attempt) checkRefused(before []string) {
	text := a.refused.Error()
	if len(a.wrong) > 0 {
		return
	}
	if strings.Contains(text, "internal error") || strings.Contains(text, "panic") {
		a.fail("%.1500s", text)
		return
	}
	if a.Kind == Right {
		a.fail("refused, must be right: %.500s", text)
		return
	}
	words := a.Words
	if !a.Flag {
		words = append([]string{"model.onnx: "}, words...)
	}
	for _, w := range words {
		if !containsAny(text, w) {
			a.fail("the error lacks %q: %.500s", w, text)
		}
	}
	if len(text) > mostMessage {
		a.fail("the error has %d characters", len(text))
	}
	if after := a.tree(); !slices.Equal(before, after) {
		a.fail("half an output is left: %v", after)
	}
}

// containsAny reports whether a text contains one of the words, which are separated by " | ".
func containsAny(text, words string) bool {
	return slices.ContainsFunc(strings.Split(words, " | "), func(w string) bool { return strings.Contains(text, w) })
}
