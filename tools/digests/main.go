// Command digests makes digests of all that dnnc generates, for every graph of a corpus and every
// chip, and compares them with those of a file: a change of the compiler that claims to leave the
// generated code alone proves it so.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"rules_dnn/tools/command"
)

const usage = `digests compares the output of dnnc with tests/models/digests.txt, byte for byte. For each graph and each chip or device of
platforms/, the file has a line with digests of the sources (header, kernels, host program), the weights and the manifest, or the first line of
the error if dnnc refuses the graph. It prints the lines that changed, and fails if there are any.

usage: digests [options], from the repository's root
  go run ./tools/digests [options]

examples, for [options]:
  --models FOLDER/graphs.zip               the repository's own graphs, and all of the archive
  --models FOLDER/graphs.zip --update      write the file, for later comparisons
  --only 'resnet|vgg' --chips 'arm64|opencl'
                                           some graphs, on some chips
  --chips 'x86_64_v4' --beside opencl_buffers
                                           for a processor with an OpenCL device beside it
  --keep /tmp/before                       keep all outputs, but only digests of the constants
  --against /tmp/before                    for changed lines, print the changes since an earlier run with --keep: files, kernels, and
                                           a diff of the first few

To see the effect of a change, run with --keep at the commit before it, then with --against.
Lines of graphs that a run does not have are kept and counted. Graphs whose weights were removed are filled by 'dnnc graph --fill-random'.

options:
`

type options struct {
	models         paths
	beside         string
	record         string
	only, chips    *regexp.Regexp
	update         bool
	keep, against  string
	dnnc           string
	parallel       int
	mostMB         int64
	diffs, context int
	root           string
}

// paths is an option that may be given several times.
type paths []string

func (p *paths) String() string     { return fmt.Sprint([]string(*p)) }
func (p *paths) Set(s string) error { *p = append(*p, s); return nil }

// own are the folders of the repository's own graphs.
var own = []string{"tests/models", "app"}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = o.run(os.Stdout, os.Stderr)
	}
	command.Exit("digests", err)
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{root: "."}
	if folder := os.Getenv("BUILD_WORKSPACE_DIRECTORY"); folder != "" { // under `bazel run`
		o.root = folder
	}
	fs := command.Options("digests")
	fs.Var(&o.models, "models", "an ONNX file, or a folder or zip archive of ONNX files, besides the repository's own; may be repeated")
	fs.StringVar(&o.record, "record", "tests/models/digests.txt", "the file of digests")
	only := fs.String("only", "", "regular expression of the graphs' names; all by default")
	chips := fs.String("chips", usual, "regular expression of the chips' and devices' names; the default leaves out single processors; . for all")
	fs.StringVar(&o.beside, "beside", "", "a device's name: compile for each processor with this device; the file has separate lines for these")
	fs.BoolVar(&o.update, "update", false, "write the file instead of comparing with it")
	fs.StringVar(&o.keep, "keep", "", "folder that keeps the generated files")
	fs.StringVar(&o.against, "against", "", "folder that an earlier run kept")
	fs.StringVar(&o.dnnc, "dnnc", "", "the compiler; by default it is built by the machine's Go")
	fs.IntVar(&o.parallel, "parallel", 2, "graphs at a time")
	fs.Int64Var(&o.mostMB, "most-mb", 1000, "leave out graphs with more megabytes of weights; 0: leave out none")
	fs.IntVar(&o.diffs, "diffs", 4, "number of files for which --against prints a diff")
	fs.IntVar(&o.context, "diff-lines", 60, "maximum number of lines of each diff")
	err := command.Parse(fs, args, usage, help)
	if err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; --help shows examples", fs.Arg(0))
	case o.parallel < 1 || o.mostMB < 0 || o.diffs < 0 || o.context < 1:
		return nil, fmt.Errorf("--parallel and --diff-lines want numbers from 1, --most-mb and --diffs from 0")
	case o.update && o.against != "":
		return nil, fmt.Errorf("--update accepts what --against would show: want one of them")
	}
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	if o.chips, err = regexp.Compile(*chips); err != nil {
		return nil, fmt.Errorf("--chips: %w", err)
	}
	return o, o.place()
}

// place makes paths absolute. The user's paths are relative to the working directory, the others
// to the repository's root.
func (o *options) place() (err error) {
	given := []*string{&o.keep, &o.against, &o.dnnc}
	for i := range o.models {
		given = append(given, &o.models[i])
	}
	for _, p := range given {
		if from := os.Getenv("BUILD_WORKING_DIRECTORY"); from != "" && *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(from, *p)
		}
		if *p != "" {
			if *p, err = filepath.Abs(*p); err != nil {
				return err
			}
		}
	}
	if o.keep != "" && o.keep == o.against {
		return fmt.Errorf("--keep and --against name one folder: what is compared would be overwritten")
	}
	if o.root, err = filepath.Abs(o.root); err == nil && !filepath.IsAbs(o.record) {
		o.record = filepath.Join(o.root, o.record)
	}
	return err
}
