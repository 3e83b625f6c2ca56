package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// change is a line that differs from the record's.
type change struct {
	what  string
	files []fileChange
}

// fileChange is a file that differs from what an earlier run kept.
type fileChange struct {
	name          string
	before, after string // texts, "" where there is no such file
	path          string // of the earlier one
}

// report prints what changed. Not everything may have: then it is an error.
func (w *work) report(out io.Writer) error {
	left := w.diffs
	for _, k := range slices.SortedFunc(maps.Keys(w.changes), key.compare) {
		c := w.changes[k]
		fmt.Fprintf(out, "%s %s: %s\n", k.graph, k.chip, c.what)
		for _, f := range c.files {
			f.summary(out)
		}
		for _, f := range c.files {
			if left--; left < 0 {
				break
			}
			if err := f.diff(out, k, w.context); err != nil {
				return err
			}
		}
	}
	if len(w.changes) > 0 {
		return fmt.Errorf("%d of %d lines changed; --update accepts them, --keep and --against show them", len(w.changes), len(w.now))
	}
	fmt.Fprintf(out, "%d lines, none changed\n", len(w.now))
	return nil
}

// against are the files in a folder that differ from those of an earlier run.
func against(before, now string) ([]fileChange, error) {
	if _, err := os.Stat(before); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // that run did not have the graph, or refused it
	}
	names := map[string]bool{}
	for _, folder := range []string{before, now} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names[e.Name()] = true
		}
	}
	var out []fileChange
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := fileChange{name: name, path: filepath.Join(before, name)}
		var err error
		if f.before, err = textOf(f.path); err != nil {
			return nil, err
		}
		if f.after, err = textOf(filepath.Join(now, name)); err != nil {
			return nil, err
		}
		if f.before != f.after {
			out = append(out, f)
		}
	}
	return out, nil
}

// textOf is a file's text, "" where there is none.
func textOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// mostParts is how many parts of a file a summary names.
const mostParts = 8

// summary names the parts of a file that changed: its kernels, where it has some, by the nodes that they compute.
func (f fileChange) summary(out io.Writer) {
	gone, added := missing(f.before, f.after), missing(f.after, f.before)
	fmt.Fprintf(out, "  %s: %d parts gone, %d new\n", f.name, len(gone), len(added))
	if strings.HasSuffix(f.name, ".json") || strings.HasSuffix(f.name, ".txt") {
		return // a part is the whole
	}
	for _, x := range []struct {
		sign  string
		parts []string
	}{{"-", gone}, {"+", added}} {
		for i, p := range x.parts {
			if i == mostParts {
				fmt.Fprintf(out, "    %s and %d more\n", x.sign, len(x.parts)-i)
				break
			}
			title, _, _ := strings.Cut(p, "\n")
			fmt.Fprintf(out, "    %s %.160s\n", x.sign, strings.TrimPrefix(title, "// "))
		}
	}
}

// missing are the parts of a text that the other has not: what stands between empty lines, as functions do.
func missing(from, in string) []string {
	have := map[string]bool{}
	for _, p := range strings.Split(in, "\n\n") {
		have[p] = true
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(from, "\n"), "\n\n"), func(p string) bool { return p == "" || have[p] || have[p+"\n"] })
}

// diff prints the first lines of how the file changed, by the machine's diff.
func (f fileChange) diff(out io.Writer, k key, most int) error {
	name := fmt.Sprintf("%s/%s/%s", k.graph, k.chip, f.name)
	before := f.path
	if f.before == "" {
		before = os.DevNull
	}
	cmd := exec.Command("diff", "-u", "-L", "a/"+name, "-L", "b/"+name, before, "-")
	cmd.Stdin = strings.NewReader(f.after)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if x := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &x) && x.ExitCode() == 1) {
		return fmt.Errorf("diff: %w: %s", err, stderr.String())
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("... (%d more lines)\n", len(lines)-most))
	}
	_, err = io.WriteString(out, strings.Join(lines, ""))
	return err
}

// keepFolder copies the files of a folder to another one, which has no others then.
func keepFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

// keepFile copies a file to a folder.
func keepFile(path, folder string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the graph was refused
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, filepath.Base(path)), text, 0o666)
}
