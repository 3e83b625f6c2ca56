// Command add writes dnn_model targets for ONNX models into BUILD files, and keeps them up to date.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"rules_dnn/gen/onnx"
	"rules_dnn/tools/command"
)

const usage = `add writes a dnn_model for an ONNX model into the BUILD file of the model's folder, or updates the
targets that compile it: files of external data, and a dim for each symbol of the inputs' shapes. It keeps
everything else in the file, including edited values of dims.

usage: add MODEL.onnx... [options]
  bazel run @rules_dnn//:add -- MODEL.onnx... [options]

examples, for MODEL.onnx... [options]:
  net.onnx                               a new target net, or updates of the targets that compile the model
  models/*.onnx                          several models
  net.onnx --dims N=1..64 --dims H=224   bounds of symbols (others: 1.., without an upper bound)
  net.onnx --name net_arm64 --target @rules_dnn//platforms:linux_arm64
                                         another target, for another platform
  net.onnx --check                       print the changes, and fail if there are any
  net.onnx --dry-run                     print the changes
  a/b/net.onnx                           a new a/b/BUILD.bazel if a/b has none; but if the package above
                                         names files in a/b, the target goes to that package
  a/b/net.onnx --new-package             make a/b a package even then

Exit status: 0; 1 if --check found changes; 2 for an error.

options:
`

// errStale is what --check ends with if something would change.
var errStale = errors.New("BUILD files are not up to date: run without --check")

// options holds the command line.
type options struct {
	models                    []string
	name, target              string
	dims                      dimList
	check, dryRun, newPackage bool
	workingFolder             string // the user's, where it is not this process's
	workspace                 string // as Bazel says, if it runs this process
}

func main() {
	command.ExitFound("add", run(os.Args[1:], os.Stdout), errStale)
}

func run(args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	s := newSession(o)
	for _, path := range o.models {
		if err := s.add(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return s.finish(out)
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{workingFolder: os.Getenv("BUILD_WORKING_DIRECTORY"), workspace: os.Getenv("BUILD_WORKSPACE_DIRECTORY")}
	fs := command.Options("add")
	fs.StringVar(&o.name, "name", "", "the target's `NAME` (default: the target that compiles the model, or the file's name)")
	fs.StringVar(&o.target, "target", "", "`PLATFORM` to build the model for (default for a new target: the platform of the target that links it)")
	fs.Var(&o.dims, "dims", "`SYMBOL=BOUND`, a number or LOW..HIGH or LOW.. for a symbol of the inputs' shapes; may be repeated")
	fs.BoolVar(&o.check, "check", false, "write nothing: print the changes, and fail if there are any")
	fs.BoolVar(&o.dryRun, "dry-run", false, "write nothing: print the changes")
	fs.BoolVar(&o.newPackage, "new-package", false, "make the model's folder a package, even if the package above names files in it")
	// Models may stand anywhere among the options.
	for {
		err := command.Parse(fs, args, usage, out)
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%w; --help shows examples", err)
		}
		if fs.NArg() == 0 {
			break
		}
		o.models = append(o.models, fs.Arg(0))
		args = fs.Args()[1:]
	}
	return o, o.verify()
}

func (o *options) verify() error {
	switch {
	case len(o.models) == 0:
		return errors.New("no model is given: name an .onnx file; --help shows examples")
	case len(o.models) > 1 && o.name != "":
		return fmt.Errorf("--name=%s: it names one target, and %d models are given", o.name, len(o.models))
	case o.name != "" && !isName(o.name):
		return fmt.Errorf("--name=%s: the header has the same name; use only letters, digits, _ - + . and /", o.name)
	case o.check && o.dryRun:
		return errors.New("--check and --dry-run: leave out one of them")
	}
	return nil
}

// path resolves a user's relative path, because `bazel run` starts programs in another folder.
func (o *options) path(p string) (string, error) {
	if o.workingFolder != "" && !filepath.IsAbs(p) {
		p = filepath.Join(o.workingFolder, p)
	}
	return filepath.Abs(p)
}

// dim is a bound from --dims.
type dim struct{ symbol, bound string }

// dimList is an option that may be given several times.
type dimList []dim

func (l *dimList) String() string { return "" }

func (l *dimList) Set(s string) error {
	symbol, _, err := onnx.ParseDim(s)
	if err != nil {
		return err
	}
	for _, d := range *l {
		if d.symbol == symbol {
			return fmt.Errorf("the symbol %s is given twice", symbol)
		}
	}
	*l = append(*l, dim{symbol, strings.TrimPrefix(s, symbol+"=")})
	return nil
}
