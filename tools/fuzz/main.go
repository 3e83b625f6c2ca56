// Command fuzz runs the repository's fuzz targets sequentially, and prints for each the number of
// runs and its findings.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"rules_dnn/tools/command"
)

const usage = `fuzz runs the fuzz targets of the repository sequentially, with Go's own fuzzing.

usage: fuzz [options]
  ./bazelw run //tools/fuzz -- [options]
  go run ./tools/fuzz [options]             without Bazel, from the repository's root

examples, for [options]:
  --time 30s                       half a minute each, as CI does
  --time 10m --parallel 2          ten minutes each, on two processors
  --time 10m --target Import       one target
  --time 10m --corpus ~/inputs     continue where the last run ended
  --time 10m --keep 40             copy inputs that reached new code into testdata/fuzz

A target starts with the inputs in testdata/fuzz of its package, and writes inputs that fail there:
'go test' then runs them. Inputs that reach new code are kept for this run only, unless --corpus
names a folder for them.

options:
`

type options struct {
	time, parallel string
	target         *regexp.Regexp
	keep           int
	verbose        bool
	corpus         string // folder of inputs of earlier runs
	found          string // folder for copies of inputs that fail, or ""
	root           string
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = o.run(os.Stdout)
	}
	command.Exit("fuzz", err)
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{root: "."}
	if folder := os.Getenv("BUILD_WORKSPACE_DIRECTORY"); folder != "" { // under `bazel run`
		o.root = folder
	}
	fs := command.Options("fuzz")
	each := fs.Duration("time", 30*time.Second, "how long each target runs")
	parallel := fs.Int("parallel", 1, "processes of a target")
	target := fs.String("target", "", "regular expression of the targets' names; all by default")
	fs.StringVar(&o.corpus, "corpus", "", "folder that keeps inputs from one run to the next")
	fs.StringVar(&o.found, "found", "", "folder for copies of the inputs that fail; testdata/fuzz always gets them")
	fs.IntVar(&o.keep, "keep", 0, "number of new inputs of each target to copy into testdata/fuzz")
	fs.BoolVar(&o.verbose, "v", false, "show what go test prints")
	err := command.Parse(fs, args, usage, help)
	if err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; --help shows examples", fs.Arg(0))
	case *each <= 0 || *parallel < 1 || o.keep < 0:
		return nil, fmt.Errorf("--time and --parallel want numbers above 0, --keep one of at least 0")
	}
	o.time, o.parallel = each.String(), fmt.Sprint(*parallel)
	o.target, err = regexp.Compile(*target)
	return o, err
}

// run runs the targets; that one of them fails does not keep the others from running.
func (o *options) run(w io.Writer) error {
	targets, err := find(o.root)
	if err != nil {
		return err
	}
	corpus, err := o.folder()
	if err != nil {
		return err
	}
	if o.found != "" {
		if o.found, err = userPath(o.found); err != nil {
			return err
		}
	}
	if o.corpus == "" {
		defer os.RemoveAll(corpus)
	}
	ran, failed := 0, 0
	for _, t := range targets {
		if !o.target.MatchString(t.name) {
			continue
		}
		ran++
		own := filepath.Join(corpus, filepath.FromSlash(t.folder)) // targets of several packages have one name
		if err := os.MkdirAll(own, 0o777); err != nil {
			return err
		}
		r, err := o.fuzz(w, t, own)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		fmt.Fprintf(w, "%-14s %-16s %9d executions, %d crashes\n", t.name, t.folder, r.executions, r.crashes)
		if r.crashes > 0 {
			failed++
			fmt.Fprintf(w, "%s\n", r.output)
			if err := o.show(w, t, r.output); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			continue
		}
		if o.keep > 0 {
			if err := o.keepInputs(w, t, own); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	switch {
	case ran == 0:
		return fmt.Errorf("no target is called %s", o.target)
	case failed > 0:
		return fmt.Errorf("%d of %d targets failed", failed, ran)
	}
	return nil
}

// folder returns the folder for inputs that reach new code.
func (o *options) folder() (string, error) {
	if o.corpus == "" {
		return os.MkdirTemp("", "fuzz")
	}
	path, err := userPath(o.corpus)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o777)
}

// userPath resolves a user's relative path, because `bazel run` starts programs in another folder.
func userPath(path string) (string, error) {
	if from := os.Getenv("BUILD_WORKING_DIRECTORY"); from != "" && !filepath.IsAbs(path) {
		path = filepath.Join(from, path)
	}
	return filepath.Abs(path)
}
