// Command size_report tells how large the code and the constants of a compiled model are, by section and
// by function, and which nodes of the network a function computes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"rules_dnn/tools/command"
)

const usage = `size_report prints how many bytes of code, constants and weights a compiled model has, for whatever chip it is
compiled: of libraries, objects, shared libraries and programs (ELF), which are added up, and of their functions the
largest. A manifest tells which nodes of the network they compute.

usage: size_report [options] FILE|FOLDER...
  bazel run @rules_dnn//:size_report -- [options] FILE|FOLDER...

examples, after bazel build //app:model_arm64, for [options] FILE|FOLDER...:
  bazel-bin/app/model_arm64                         what is in the folder of a dnn_model with target: runtime, too
  bazel-bin/app/libmodel.a bazel-bin/app/model/model.manifest.json
                                                    files, those named *.manifest.json for the names of nodes
  bazel-bin/its/libapp.so                           what the linker left of a model, and all that it is linked with
  --functions 100 bazel-bin/app/model_arm64         more of the functions; 0: none
  --max-code 300000 bazel-bin/app/model_arm64       fail if the code has more bytes

Exit status: 0, 1 if there is more code than --max-code, 2 for an error.

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
	fs.Int64Var(&o.maxCode, "max-code", 0, "fail if the code has more than so many `BYTES` (default: any number is right)")
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

// filesOf are the path itself, or the libraries and manifests of a folder.
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
