package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// target is a fuzz target: a function of a package.
type target struct{ name, folder string }

var (
	declared   = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)
	executions = regexp.MustCompile(`execs: (\d+) `)
	progress   = regexp.MustCompile(`(?m)^fuzz: elapsed: .*\n`)
	crashed    = regexp.MustCompile(`(?m)^\s*--- FAIL: Fuzz\w+ \(|^panic: |^fatal error: `)
)

// find finds the targets below the repository's packages, in the order of their names.
func find(root string) ([]target, error) {
	var out []target
	err := filepath.WalkDir(filepath.Join(root, "gen"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declared.FindAllSubmatch(text, -1) {
			out = append(out, target{string(m[1]), "./" + filepath.ToSlash(folder)})
		}
		return err
	})
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, err
}

// result is what came of a target's run.
type result struct {
	executions int64
	crashes    int
	output     string
}

// fuzz builds and runs one target, with the inputs of its folder in corpus besides those of its
// testdata. The error is that nothing ran.
func (o *options) fuzz(w io.Writer, t target, corpus string) (result, error) {
	bin := filepath.Join(corpus, t.name+".test")
	build := exec.Command("go", "test", "-c", "-fuzz=^"+t.name+"$", "-o", bin, t.folder)
	build.Dir = o.root
	if out, err := build.CombinedOutput(); err != nil {
		return result{}, fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, out)
	}
	defer os.Remove(bin)
	total := result{}
	for range mostAttempts {
		r, err := o.attempt(w, t, bin, corpus)
		total = result{total.executions + r.executions, r.crashes, r.output}
		if err != nil || r.crashes == 0 || !o.stalled(t, bin, r.output) {
			return total, err
		}
		fmt.Fprintf(w, "%-14s a process of it stood still for ten seconds, on no input that fails: once more\n", t.name)
	}
	return total, nil
}

// attempt runs a target until its time is over or something fails.
func (o *options) attempt(w io.Writer, t target, bin, corpus string) (result, error) {
	var out bytes.Buffer
	// Finding comes before making found inputs small: what fails is reproduced by its file anyway.
	cmd := exec.Command(bin, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+o.time, "-test.fuzzminimizetime=0x",
		"-test.parallel="+o.parallel, "-test.fuzzcachedir="+corpus)
	cmd.Dir = filepath.Join(o.root, t.folder)
	cmd.Stdout = &out
	if o.verbose {
		cmd.Stdout = io.MultiWriter(&out, w)
	}
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	r := parseOutput(out.String())
	if err != nil && r.crashes == 0 && !timeOver.MatchString(out.String()) {
		return r, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.String())
	}
	return r, nil
}

// timeOver is how Go's fuzzing now and then ends, on a busy machine, when its time is over
// (golang.org/issue/75804).
var timeOver = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \([^)]*\)\n\s+context deadline exceeded\n`)

// mostAttempts is how often a target may begin anew: a machine that never lets it run for its time
// is a failure, too.
const mostAttempts = 5

var (
	hung    = regexp.MustCompile(`fuzzing process hung or terminated unexpectedly: exit status 2(?s:.*)Failing input written to (testdata\S+)`)
	silence = "communicating with fuzzing process: EOF"
)

// stalled reports whether what ended a run was no fault of the target: Go's fuzzing ends a process
// that takes ten seconds by the clock for an input, which all do on a machine that is stopped or
// very busy for a while. The input passes by itself then, within the time that its own test allows,
// and its file is removed.
func (o *options) stalled(t target, bin, output string) bool {
	m := hung.FindStringSubmatch(output)
	if m == nil {
		return strings.Contains(output, silence)
	}
	input := filepath.Join(o.root, t.folder, m[1])
	cmd := exec.Command(bin, "-test.run=^"+t.name+"$/^"+filepath.Base(input)+"$", "-test.timeout=5m")
	cmd.Dir = filepath.Join(o.root, t.folder)
	return cmd.Run() == nil && os.Remove(input) == nil
}

// written matches Go's message about the file of a failing input.
var written = regexp.MustCompile(`Failing input written to (testdata\S+)`)

// show prints the inputs that a run wrote, which stay where they are: 'go test' runs them from then
// on. With --found it copies them too.
func (o *options) show(w io.Writer, t target, output string) error {
	for _, m := range written.FindAllStringSubmatch(output, -1) {
		path := filepath.Join(o.root, t.folder, m[1])
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s is kept, and fails:\n%s\n", path, data)
		if o.found == "" {
			continue
		}
		copied := filepath.Join(o.found, t.folder, m[1])
		if err := os.MkdirAll(filepath.Dir(copied), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(copied, data, 0o666); err != nil {
			return err
		}
		fmt.Fprintf(w, "a copy is %s\n", copied)
	}
	return nil
}

// parseOutput reads what go test prints.
func parseOutput(text string) result {
	r := result{output: progress.ReplaceAllString(text, "")}
	if m := executions.FindAllStringSubmatch(text, -1); m != nil {
		r.executions, _ = strconv.ParseInt(m[len(m)-1][1], 10, 64)
	}
	if crashed.MatchString(timeOver.ReplaceAllString(text, "")) { // go test stops at the first one
		r.crashes = 1
	}
	return r
}

// keepInputs copies inputs that reached new code to the package's testdata.
func (o *options) keepInputs(w io.Writer, t target, corpus string) error {
	to := filepath.Join(o.root, t.folder, "testdata", "fuzz", t.name)
	kept, err := copySome(filepath.Join(corpus, t.name), to, o.keep)
	if err == nil {
		fmt.Fprintf(w, "%-14s %d inputs copied to %s\n", t.name, kept, to)
	}
	return err
}

// mostBytes of an input that is kept.
const mostBytes = 4 << 10

// copySome copies n files that the other folder lacks, small and less small ones alike.
func copySome(from, to string, n int) (int, error) {
	entries, err := os.ReadDir(from)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	type file struct {
		name string
		data []byte
	}
	var files []file
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(to, e.Name())); err == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return 0, err
		}
		if len(data) <= mostBytes {
			files = append(files, file{e.Name(), data})
		}
	}
	sort.SliceStable(files, func(i, j int) bool { return len(files[i].data) < len(files[j].data) })
	n = min(n, len(files))
	if err := os.MkdirAll(to, 0o777); err != nil {
		return 0, err
	}
	for i := range n {
		f := files[i*len(files)/n]
		if err := os.WriteFile(filepath.Join(to, f.name), f.data, 0o666); err != nil {
			return 0, err
		}
	}
	return n, nil
}
