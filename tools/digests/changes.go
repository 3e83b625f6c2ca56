package main

import (
	"bytes"
	"cmp"
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

// against returns the files in a folder that differ from an earlier run.
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
	slices.SortFunc(out, first)
	return out, nil
}

// textOf returns a file's text, or "" if there is no file.
func textOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// mostParts is how many parts of a file a summary names.
const mostParts = 8

// summary names the file, and the kernels or constants in it that changed.
func (f fileChange) summary(out io.Writer) {
	separator := f.separator()
	if separator == "" {
		fmt.Fprintf(out, "  %s\n", f.name)
		return
	}
	gone, added := missing(f.before, f.after, separator), missing(f.after, f.before, separator)
	fmt.Fprintf(out, "  %s: %d parts gone, %d new\n", f.name, len(gone), len(added))
	titles(out, "-", gone)
	titles(out, "+", added)
}

// separator returns the text that precedes each part of a file with a name: kernels, by the nodes
// that they compute, and constants; "" if the file has no parts.
func (f fileChange) separator() string {
	switch {
	case f.name == constantsFile:
		return "\n"
	case strings.HasPrefix(f.name, "net_kernels") && !strings.HasSuffix(f.name, ".h"):
		return "\n\n"
	}
	return ""
}

// first orders files by how well their differences explain the others': kernels before constants,
// and the rest by name.
func first(a, b fileChange) int {
	rank := func(f fileChange) int { return -len(f.separator()) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.name, b.name))
}

// titles prints the first line of parts.
func titles(out io.Writer, sign string, parts []string) {
	for i, p := range parts {
		if i == mostParts {
			fmt.Fprintf(out, "    %s and %d more\n", sign, len(parts)-i)
			return
		}
		title, _, _ := strings.Cut(p, "\n")
		fmt.Fprintf(out, "    %s %.160s\n", sign, strings.TrimPrefix(title, "// "))
	}
}

// missing returns the parts of a text that the other text does not have.
func missing(from, in, separator string) []string {
	split := func(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), separator) }
	have := map[string]bool{"": true}
	for _, p := range split(in) {
		have[p] = true
	}
	return slices.DeleteFunc(split(from), func(p string) bool { return have[p] })
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
