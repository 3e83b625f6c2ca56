// Command size_report prints the size of the code and the constants of a compiled model, by
// section and by function, and which nodes of the network a function computes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rules_dnn/tools/command"
)

const usage = `size_report prints the bytes of code, constants and weights of a compiled model, for any chip. It adds up
libraries, objects, shared libraries and programs (ELF), and lists their largest functions.
With a manifest, it names the nodes of the network that the functions compute.

usage: size_report [options] FILE|FOLDER...
  bazel run @rules_dnn//:size_report -- [options] FILE|FOLDER...

examples, after bazel build //app:model_arm64, for [options] FILE|FOLDER...:
  bazel-bin/app/model_arm64                         the folder of a dnn_model with a target, including the runtime
  bazel-bin/app/libmodel.a bazel-bin/app/model/model.manifest.json
                                                    files; *.manifest.json has the names of nodes
  bazel-bin/its/libapp.so                           a shared library: the linked parts of a model and everything else
  --functions 100 bazel-bin/app/model_arm64         more functions; 0: none
  --max-code 300000 bazel-bin/app/model_arm64       fail if the code has more bytes

Exit status: 0; 1 if there is more code than --max-code; 2 for an error.

options:
`

// errTooLarge is what --max-code ends with if there is more code.
var errTooLarge = errors.New("too much code")

type options struct {
	functions int
	maxCode   int64 // 0: any
	paths     []string
}

func main() {
	command.ExitFound("size_report", run(os.Args[1:], os.Stdout), errTooLarge)
}

func run(args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	var r report
	for _, path := range o.paths {
		if err := r.addFile(path); err != nil {
			return err
		}
	}
	if len(r.files) == 0 {
		return fmt.Errorf("no library among %v; '--help' has examples", o.paths)
	}
	r.print(out, o.functions)
	if code := r.sections[code]; o.maxCode > 0 && code > o.maxCode {
		return fmt.Errorf("%w: %d bytes; --max-code allows %d", errTooLarge, code, o.maxCode)
	}
	return nil
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	fs := command.Options("size_report")
	fs.IntVar(&o.functions, "functions", 20, "print the `NUMBER` largest functions")
	fs.Int64Var(&o.maxCode, "max-code", 0, "fail if the code has more than this number of `BYTES` (default: no limit)")
	if err := command.Parse(fs, args, usage, help); err != nil {
		return nil, err
	}
	if fs.NArg() == 0 {
		return nil, fmt.Errorf("no file is given; '--help' has examples")
	}
	if o.functions < 0 || o.maxCode < 0 {
		return nil, fmt.Errorf("--functions=%d --max-code=%d: want numbers of at least 0", o.functions, o.maxCode)
	}
	for _, path := range fs.Args() {
		paths, err := filesOf(command.Path(path))
		if err != nil {
			return nil, err
		}
		o.paths = append(o.paths, paths...)
	}
	return o, nil
}

// filesOf returns the path itself, or the libraries and manifests of a folder.
func filesOf(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	var out []string
	for _, e := range entries {
		name := e.Name()
		if isManifest(name) || filepath.Ext(name) == ".a" || filepath.Ext(name) == ".so" || filepath.Ext(name) == ".o" {
			out = append(out, filepath.Join(path, name))
		}
	}
	return out, err
}
